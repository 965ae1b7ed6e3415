"""Two sidecars over a real connection: everything travels, in order, together, and past what is long or slow."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Draft, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.quorum import Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.errors import PeerUnavailable, StoreFull
from sidecar.listen import bind
from sidecar.peers import kinds
from sidecar.peers.handshake import Side
from sidecar.peers.packing import NAME, Codec, as_it_is
from sidecar.peers.sealing import Sealer
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from tests.hosts.peer_lines import BadLine
from tests.hosts.peer_side import (
    AT_WORK,
    FENCE,
    TASK,
    WHO,
    End,
    append,
    entries,
    identity,
    link,
    port,
    process,
    side,
)

CARD = SessionCard("north", "b" * 32, 4, "census", "voter", "http://n:8470", "http://n:8473", True, False, 9)
LIFE = Renewal("north", 4, "b" * 32)


async def test_everything_that_may_be_asked_is_answered() -> None:
    async with port() as end, link(end.url) as to:
        assert to.voter == "v-south"
        assert await to.pre_vote(Claim(TASK, FENCE, FENCE.session)) == Granted(genesis(TASK), 0)
        assert await to.claim(Claim(TASK, FENCE, FENCE.session)) == Granted(Tip(FENCE, 9, "ab" * 32), 7)
        some = entries(2)
        view = TaskView(TASK, "t", "p", "c", "running", "W", 3, True)
        key = KeyRow("k" * 64, 0, TASK, "i" * 64, False)
        answer = await to.append_soon(append(some, 1), Riders(view, 2, (key,), (7,)))
        assert isinstance(answer, Appended)
        assert (answer, answer.committed) == (Appended(FENCE, 2, some[1].hash), 1)
        assert end.handler.appends == [append(some, 1)]
        assert end.handler.riders == [Riders(view, 2, (key,))]
        assert await to.renew(LIFE, CARD) is True
        await to.release(LIFE)
        assert await to.deliver(TASK, "cancel", b"{}") == b"taken:{}"
        assert await to.row(TASK) is None
        assert (await to.view(TASK)) == TaskView(
            TASK, "", "anonymous", "c1", "running", "TASK_STATE_WORKING", 5, True
        )
        assert [each.task_id for each in await to.keys("ab")] == [TASK]
        query = ListQuery(page_size=7)
        assert (await to.list_tasks(query, Caller("t", "p"), 5))[1:] == (1, (5, TASK))
        assert await to.behind([("t1", 2), ("t2", 3)]) == ["t1"]
        assert await to.begun(7) == [(8, "t1", 5)]
        assert await to.sessions() == [WHO]
        assert await to.at_work(["s", "t"], "p", "t0") == [AT_WORK]
        assert await to.gossip(b"abc") == b"cba"
        assert await to.call("anything", b"\x00\xff") == b"\x00\xff"
        assert await to.read_prefix(TASK, Tip(FENCE, 9, "ab" * 32), 4) is None
        end.handler.journal = entries(12)
        assert await to.read_prefix(TASK, tip_of(TASK, entries(9)), 4) == tuple(entries(12)[4:9])
        assert await to.entries(TASK, 3, 5, 100) == entries(12)[3:8]
        assert [name for name, _ in end.handler.asked] == [
            "pre_vote", "claim", "append", "renew", "release", "deliver", "row", "view", "keys", "list", "behind",
            "begun", "sessions", "at_work", "gossip", "anything", "read_prefix", "read_prefix", "entries",
        ]  # fmt: skip
        assert dict(end.handler.asked)["renew"] == (LIFE, CARD)
        assert dict(end.handler.asked)["at_work"] == (["s", "t"], "p", "t0")
        assert dict(end.handler.asked)["list"] == (query, Caller("t", "p"), 5)
        assert {peer.identity for peer in end.handler.peers} == {identity("north")}


async def test_what_is_asked_of_another_voter_names_it() -> None:
    async with port() as end, link(end.url) as to:
        to.voter = "v-that-was-here-before"
        assert isinstance(await to.claim(Claim(TASK, FENCE, FENCE.session)), Refused)


async def test_asks_of_one_tick_begin_in_their_order_and_appends_together() -> None:
    async with port() as end, link(end.url) as to:
        some = entries(50)
        appends = [to.append_soon(append([each])) for each in some[:20]]
        claim = asyncio.ensure_future(to.claim(Claim(TASK, Fence(8, "s"), "s")))
        await asyncio.sleep(0)  # the claim is asked
        appends += [to.append_soon(append([each])) for each in some[20:]]
        await asyncio.gather(claim, *appends)
        order = [*range(20), "claim", *range(20, 50)]
        assert [what if name == "append" else name for name, what in end.handler.asked] == order
        assert len(end.handler.turns) <= 3  # of the event loop: two runs of appends, and no more than one between


async def test_what_is_asked_in_one_tick_leaves_together_and_so_do_its_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with port() as end, link(end.url) as to:
        sealed: list[int] = []
        seal = Sealer.seal

        def counted(sealer: Sealer, payload: bytes) -> bytes:
            sealed.append(len(payload))
            return seal(sealer, payload)

        monkeypatch.setattr(Sealer, "seal", counted)
        some = entries(100)
        appends = [to.append_soon(append([each])) for each in some]
        gossip = [asyncio.ensure_future(to.gossip(b"x")) for _ in range(100)]
        await asyncio.gather(*appends, *gossip)
        assert len(end.handler.asked) == 200
        assert len(sealed) <= 6  # of four hundred messages


async def test_ten_thousand_appends_arrive_in_order() -> None:
    async with port() as end, link(end.url) as to:
        some = entries(10_000)
        answers = await asyncio.gather(*(to.append_soon(append([each])) for each in some))
        assert [each.seq for each in answers if isinstance(each, Appended)] == list(range(1, 10_001))
        assert [each.after_seq for each in end.handler.appends] == list(range(10_000))


async def test_a_long_entry_does_not_keep_renewals_waiting() -> None:
    async with port() as end, BadLine(end.url, bytes_per_s=8e6) as line, link(line.url) as to:
        long = to.append_soon(append(entries(1, size=6 << 20)))
        behind = to.append_soon(append(entries(2)[1:]))
        await asyncio.sleep(0)
        renewed = 0
        while not long.done():
            async with asyncio.timeout(4):
                assert await to.renew(LIFE, CARD)
            renewed += not long.done()
        assert renewed >= 3
        assert isinstance(await long, Appended)
        assert isinstance(await behind, Appended)
        appended = [what for name, what in end.handler.asked if name == "append"]
        assert appended == [0, 1]  # what comes after it has not overtaken it


async def test_an_entry_of_the_largest_request_travels() -> None:
    async with port() as end, link(end.url) as to:
        (huge,) = entries(1, size=64 << 20)
        view = TaskView(TASK, "t", "p", "c", "completed", "W", 3, True, huge.body)
        answer = await to.append_soon(append([huge]), Riders(view, 1))
        assert isinstance(answer, Appended)
        assert end.handler.appends[0].entries[0].body == huge.body
        end.handler.journal = [huge]
        assert await to.entries(TASK, 0, 1) == [huge]


async def test_what_cannot_be_written_is_not_sent() -> None:
    async with port() as end, link(end.url) as to:
        half = TaskView(TASK, "\ud800", "p", "c", "running", "W", 3, True)
        for ask in (
            to.append_soon(append(entries(1)), Riders(half, 1)),
            to.claim(Claim(TASK, Fence(2**70, "s"), "s")),
            to.append_soon(append([entries(1)[0]._replace(hash="no digits")])),
        ):
            with pytest.raises(PeerUnavailable, match="cannot be sent"):
                await ask
        assert end.handler.asked == []
        assert await to.gossip(b"ab") == b"ba"


async def test_what_the_peer_cannot_do_is_an_unknown_outcome_with_its_code() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.fault = StoreFull("no space left")
        for asking in (to.claim(Claim(TASK, FENCE, "s")), to.append_soon(append(entries(1))), to.gossip(b"")):
            with pytest.raises(PeerUnavailable, match="store_full: no space left"):
                await asking
        end.handler.fault = None
        assert await to.gossip(b"ab") == b"ba"


async def test_a_fault_of_the_program_is_told_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    async with port() as end, link(end.url) as to:
        end.handler.fault = LookupError("a secret detail")
        with pytest.raises(PeerUnavailable, match="internal: LookupError") as told:
            await to.view(TASK)
        assert "secret detail" not in str(told.value)
        assert "failed" in caplog.text


async def test_a_broken_invariant_stops_the_process() -> None:
    end = End("south", side("south"), bind("127.0.0.1", 0, "the peer port"))
    serving = asyncio.create_task(end.port.run_forever(end.listener))
    async with link(end.url) as to:
        end.handler.fault = InvariantViolation("a difference below committed")
        lost = to.append_soon(append(entries(1)))
        with pytest.raises(InvariantViolation):
            await serving
        with pytest.raises(PeerUnavailable):
            await lost


async def test_a_kind_that_is_not_known_changes_nothing() -> None:
    later: kinds.Kind[str, str] = kinds.Kind("of_a_later_version", NAME, NAME)
    async with port() as end, link(end.url) as to:
        with pytest.raises(PeerUnavailable, match="unsupported"):
            await to.ask(later, "x")
        assert await to.gossip(b"ab") == b"ba"
        assert end.metrics.value("dhp_sidecar_peers_malformed_total") == 0


async def test_an_ask_that_is_not_what_it_should_be_is_refused_alone(caplog: pytest.LogCaptureFixture) -> None:
    anything: Codec[object] = Codec(object, as_it_is, as_it_is)
    strange: kinds.Kind[object, object] = kinds.Kind("claim", anything, anything)
    some = entries(3)
    async with port() as end, link(end.url) as to:
        with pytest.raises(PeerUnavailable, match="malformed"):
            await to.ask(strange, ["v-south", ["not a claim"]])
        assert end.handler.asked == []
        end.handler.fault = BrokenChain(3, "an entry is missing")  # as the voter finds it
        for _ in range(3):
            with pytest.raises(PeerUnavailable, match="broken_chain: entry 3: an entry is missing"):
                await to.append_soon(append([some[0], some[2]]))
        end.handler.fault = None
        assert await to.gossip(b"ab") == b"ba"
        for code, times in (("malformed", 1), ("broken_chain", 3)):
            assert end.metrics.value("dhp_sidecar_peers_malformed_total", code=code) == times
            assert caplog.text.count(code) == 1


async def test_an_answer_that_is_none_is_an_unknown_outcome() -> None:
    strange: kinds.Kind[bytes, str] = kinds.Kind("gossip", kinds.GOSSIP.asked, NAME)
    async with port() as end, link(end.url) as to:
        with pytest.raises(PeerUnavailable, match="malformed"):
            await to.ask(strange, b"ab")
        assert await to.gossip(b"ab") == b"ba"


async def test_the_next_version_talks_to_this_one() -> None:
    async with port("south", side("south", versions=(1, 2))) as end, link(end.url) as to:
        assert to.peer is not None
        assert to.peer.version == 1
        assert await to.gossip(b"ab") == b"ba"


async def test_a_peer_in_another_process_that_stands_still_and_dies() -> None:
    async with process() as (there, url), link(url, timeout_s=2) as to:
        assert isinstance(await to.claim(Claim(TASK, FENCE, FENCE.session)), Granted)
        seen = 0
        async with aclosing(to.tail(TASK, 0)) as tail:  # type: ignore[type-var]
            async for piece in tail:
                seen += len(piece)
                if seen == 20_000:
                    break
        os.kill(there.pid, signal.SIGSTOP)
        with pytest.raises(PeerUnavailable, match="does not answer renew within"):
            await to.renew(LIFE, CARD)
        os.kill(there.pid, signal.SIGCONT)
        async with asyncio.timeout(30):
            while True:  # the connection may be dialled anew meanwhile
                try:
                    assert await to.renew(LIFE, CARD)
                    break
                except PeerUnavailable:
                    await asyncio.sleep(0.05)
        waiting = to.append_soon(append(entries(1, size=2 << 20)))
        there.kill()
        await there.wait()
        answers = await asyncio.gather(waiting, to.renew(LIFE, CARD), return_exceptions=True)
        assert isinstance(answers[1], PeerUnavailable)
        assert isinstance(answers[0], PeerUnavailable | Appended)  # it may have been in time


async def test_without_a_secret_sidecars_of_one_host_talk() -> None:
    north, south = Side(identity("north"), b""), Side(identity("south"), b"")
    async with port("south", south) as end, link(end.url, north) as to:
        assert await to.gossip(b"ab") == b"ba"


async def test_a_finished_tail_ends() -> None:
    async with port() as end, link(end.url) as to:
        end.handler.journal = entries(3)
        got = []
        async for piece in to.tail(TASK, 1):
            got += piece
            if len(got) == 2:
                end.handler.grow(chain(tip_of(TASK, entries(3)), FENCE, 1, [Draft(Kind.COMPLETED, b"{}")]))
        assert [each.seq for each in got] == [2, 3, 4]
        assert end.handler.tails_open == 0
