"""Peers that are dead, slow, silent, or do not take what they asked for: others and memory do not suffer."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest

from bridge.quorum import Appended
from bridge.session import Renewal
from sidecar.errors import PeerUnavailable, StoreFull
from sidecar.peers import calls, kinds, line, serving
from sidecar.peers.frames import PIECES_AHEAD
from sidecar.peers.link import PeerLink
from sidecar.records import Riders, SessionCard
from tests.hosts.peer_lines import BadLine
from tests.hosts.peer_side import TASK, append, entries, link, port, until

LIFE, CARD = Renewal("north", 1, "b" * 32), SessionCard("north", "b" * 32, 1)


async def outcomes(*asked: asyncio.Future[Any]) -> tuple[int, list[str]]:
    """How many were answered, and why the others were not."""
    got = await asyncio.gather(*asked, return_exceptions=True)
    failed = [each for each in got if isinstance(each, BaseException)]
    assert all(isinstance(each, PeerUnavailable) for each in failed)
    return len(got) - len(failed), [str(each) for each in failed]


def append_within(to: PeerLink, at: int, timeout_s: float) -> asyncio.Future[Any]:
    some = entries(1)
    return to.ask(kinds.APPEND, kinds.AppendAsk("v-south", append(some, at), Riders()), timeout_s)


async def test_a_peer_that_is_not_there_costs_nobody_time() -> None:
    async with port() as end:
        url = end.url
    async with link(url, up=False) as to:
        await until(lambda: "cannot be reached" in to.problem)
        begin = time.monotonic()
        answered, failed = await outcomes(*(to.append_soon(append([each])) for each in entries(1000)))
        assert (answered, len(failed)) == (0, 1000)
        assert time.monotonic() - begin < 10  # of the minute that an answer may take
        assert "cannot be reached" in failed[0]


async def test_a_peer_that_is_heard_of_is_dialled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with port() as end:
        at, url = end.listener.getsockname()[1], end.url
    monkeypatch.setattr(line, "DIAL_AGAIN_S", (60.0, 60.0))
    async with link(url, up=False) as to:
        await until(lambda: "cannot be reached" in to.problem)
        async with port(at=at):
            to.hurry()
            await until(lambda: to.connected)


async def test_a_peer_that_comes_back_is_found() -> None:
    async with port() as end:
        at = end.listener.getsockname()[1]
        async with link(end.url) as to:
            end.handler.answers = False
            waiting = [to.append_soon(append([each])) for each in entries(10)]
            await until(lambda: len(end.handler.appends) == 10)
            changes: list[bool] = []
            to._on_change = lambda link: changes.append(link.connected)
            for task in asyncio.all_tasks():
                if task.get_coro().__qualname__ == "PeerPort.run_forever":  # type: ignore[union-attr]
                    task.cancel()
            answered, failed = await outcomes(*waiting)
            assert (answered, len(failed)) == (0, 10)  # nobody knows what became of them
            assert changes == [False]
            await until(lambda: "cannot be reached" in to.problem)
            async with port("south", at=at) as again:
                to.hurry()
                await until(lambda: to.connected)
                assert changes == [False, False, True]  # lost, nobody there, back
                assert isinstance(await to.append_soon(append(entries(1))), Appended)
                assert len(again.handler.appends) == 1  # nothing is sent twice by itself


async def test_a_slow_peer_slows_no_other_and_its_renewals_go_on() -> None:
    async with port("south") as slow, port("east") as fast, link(slow.url) as to_slow, link(fast.url) as to_fast:
        slow.handler.answers = False
        waiting = [to_slow.append_soon(append([each])) for each in entries(500)]
        answered, failed = await outcomes(*(to_fast.append_soon(append([each])) for each in entries(500)))
        assert (answered, failed) == (500, [])
        assert not any(each.done() for each in waiting)
        answered, failed = await outcomes(*(append_within(to_slow, at, 0.5) for at in range(500)))
        assert (answered, set(failed)) == (0, {f"{to_slow.name} does not answer append within 0.5 s"})
        slow.handler.let_go()
        assert (await outcomes(*waiting))[0] == 500
        assert await to_slow.renew(LIFE, CARD)  # on the same connection
        assert to_slow.connected


async def test_renewals_are_answered_while_appends_wait_for_a_disk() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.answers = False
        waiting = [to.append_soon(append([each])) for each in entries(100)]
        await until(lambda: len(end.handler.appends) == 100)
        end.handler.answers = True  # of what is asked from now on
        assert await to.renew(LIFE, CARD)
        assert not any(each.done() for each in waiting)
        end.handler.let_go()
        assert (await outcomes(*waiting))[0] == 100


async def test_what_a_slow_peer_leaves_unanswered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "UNANSWERED_BYTES_MAX", 1 << 20)
    async with port() as end, link(end.url) as to:
        end.handler.answers = False
        some = entries(300, size=10_000)
        asked = [to.append_soon(append([each])) for each in some]
        sent = sum(not each.done() for each in asked)
        assert 95 < sent < 110  # the rest failed at once
        await until(lambda: len(end.handler.appends) == sent)
        end.handler.let_go()
        answered, failed = await outcomes(*asked)
        assert answered == sent
        assert set(failed) == {f"{to.name} leaves too much unanswered"}
        assert isinstance(await to.append_soon(append(some[:1])), Appended)


@pytest.mark.parametrize("bound", ["UNANSWERED_MAX", "UNANSWERED_BYTES_MAX"])
async def test_what_is_asked_beyond_a_bound_is_put_off(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, bound, {"UNANSWERED_MAX": 10, "UNANSWERED_BYTES_MAX": 5000}[bound])
    async with port() as end, link(end.url) as to:
        end.handler.answers = False
        asked = [to.append_soon(append([each])) for each in entries(50, size=250)]
        await until(lambda: sum(each.done() for each in asked) == 40)
        assert end.metrics.value("dhp_sidecar_peers_busy_total") == 40
        end.handler.let_go()
        answered, failed = await outcomes(*asked)
        assert answered == 10
        assert all("busy" in each for each in failed)
        assert await to.renew(LIFE, CARD)


async def test_tasks_of_a_connection_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TASKS_MAX", 5)
    async with port() as end, link(end.url) as to:
        end.handler.answers = False
        asked = [asyncio.ensure_future(to.gossip(b"x")) for _ in range(20)]
        await until(lambda: sum(each.done() for each in asked) == 15)
        end.handler.let_go()
        assert (await outcomes(*asked))[0] == 5


async def test_long_answers_are_made_a_few_at_a_time() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.journal = entries(4, size=100_000)
        end.handler.answers = False
        asked = [asyncio.ensure_future(to.entries(TASK, at % 4, 1)) for at in range(100)]
        await until(lambda: len(end.handler.asked) == serving.BULKY_MAX)
        end.handler.answers = True  # of what is asked from now on
        assert await asyncio.wait_for(to.append_soon(append(entries(1))), 20) is not None
        assert len(end.handler.asked) == serving.BULKY_MAX + 1
        end.handler.let_go()
        assert [each[0].seq for each in await asyncio.gather(*asked)] == [at % 4 + 1 for at in range(100)]


async def test_time_runs_from_the_last_byte_that_was_sent() -> None:
    async with port() as end, BadLine(end.url, bytes_per_s=4e6) as line, link(line.url) as to:
        begin = time.monotonic()
        long = kinds.AppendAsk("v-south", append(entries(1, size=8 << 20)), Riders())
        answer = await to.ask(kinds.APPEND, long, 1.5)
        assert isinstance(answer, Appended)
        assert time.monotonic() - begin > 1.8


async def test_a_tail_is_sent_as_fast_as_it_is_taken() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.journal = entries(20_000, size=400)
        async with aclosing(to.tail(TASK, 100)) as tail:  # type: ignore[type-var]
            first = await anext(tail)
            assert first == end.handler.journal[100:164]
            assert await to.gossip(b"ab") == b"ba"  # whatever is on its way has arrived
            assert await to.gossip(b"ab") == b"ba"
            taken = end.handler.pieces_taken
            assert taken <= PIECES_AHEAD + 2
            got = list(first)
            async for piece in tail:
                got += piece
                if len(got) == 19_900:
                    break
            assert got == end.handler.journal[100:]
            end.handler.grow(entries(1, after=None))
            assert [each.seq for each in await anext(tail)] == [1]
            assert end.handler.tails_open == 1
        await until(lambda: end.handler.tails_open == 0)
        assert to.connected


async def test_hundreds_of_tails_share_a_connection() -> None:
    async with port() as end, link(end.url) as to:

        async def follow() -> int:
            seen = 0
            async with aclosing(to.tail(TASK, 0)) as tail:  # type: ignore[type-var]
                async for piece in tail:
                    seen += len(piece)
                    if seen == 300:
                        return seen
            return seen

        following = [asyncio.create_task(follow()) for _ in range(300)]
        await until(lambda: end.handler.tails_open == 300)
        for at in range(0, 300, 100):
            end.handler.grow(entries(300)[at : at + 100])
            assert await to.renew(LIFE, CARD)
        assert await asyncio.gather(*following) == [300] * 300
        await until(lambda: end.handler.tails_open == 0)


async def test_a_tail_says_so_when_its_peer_is_lost() -> None:
    async with port() as end, BadLine(end.url) as line, link(line.url) as to:
        end.handler.journal = entries(3)
        tail = to.tail(TASK, 0)
        assert len(await anext(tail)) == 3
        line.cut()
        with pytest.raises(PeerUnavailable, match="lost"):
            await anext(tail)
        await until(lambda: end.handler.tails_open == 0)


async def test_a_tail_that_cannot_be_given_says_so() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.fault = StoreFull("no space left")
        with pytest.raises(PeerUnavailable, match="store_full"):
            await anext(to.tail(TASK, 0))


async def test_a_tail_where_nobody_is_fails_at_once() -> None:
    async with port() as end:
        url = end.url
    async with link(url, up=False) as to:
        with pytest.raises(PeerUnavailable):
            await anext(to.tail(TASK, 0))
