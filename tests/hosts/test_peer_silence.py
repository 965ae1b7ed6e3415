"""Lines that are cut, silent, or only quiet: the first two are dialled anew, the last is kept."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from aiohttp import web

from bridge.quorum import Appended
from bridge.session import Renewal
from sidecar.errors import PeerUnavailable
from sidecar.peers import kinds
from sidecar.peers.link import PeerLink
from sidecar.records import Riders, SessionCard
from tests.hosts.peer_lines import BadLine
from tests.hosts.peer_side import append, entries, link, port, process, until

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


async def test_a_silent_line_is_noticed_and_dialled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.peers.channel.TICK_S", 0.1)
    async with port() as end, BadLine(end.url) as line, link(line.url) as to:
        assert await to.renew(LIFE, CARD)
        line.silent = True
        waiting = append_within(to, 0, 60)
        answered, (why,) = await asyncio.wait_for(outcomes(waiting), 20)
        assert (answered, "lost" in why) == (0, True)
        line.silent = False
        line.cut()  # whoever dialled while it was silent has learnt nothing
        await until(lambda: to.connected)
        assert await to.renew(LIFE, CARD)
        assert line.made >= 2


async def test_who_is_gone_before_the_answer_is_no_fault_of_the_program(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepare, gone = web.WebSocketResponse.prepare, [1, 2, 3]

    async def cut_off(ws: web.WebSocketResponse, request: web.BaseRequest) -> Any:
        if gone:
            gone.pop()
            assert request.transport is not None
            request.transport.abort()
        return await prepare(ws, request)

    monkeypatch.setattr(web.WebSocketResponse, "prepare", cut_off)
    async with port() as end, link(end.url) as to:
        assert not gone
        assert await to.gossip(b"ab") == b"ba"
    assert not [each for each in caplog.records if each.exc_info]


async def test_a_quiet_line_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.peers.channel.TICK_S", 0.05)
    async with port() as end, BadLine(end.url) as line, link(line.url) as to:
        before = line.carried
        await asyncio.sleep(1)  # twenty ticks, in which nobody asks anything
        assert to.connected
        assert line.made == 1
        assert line.carried > before  # but for pings


async def test_a_process_that_stood_still_does_not_take_its_peer_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.peers.channel.TICK_S", 0.05)
    async with process() as (_, url), link(url) as to:
        for _ in range(5):
            asked = to.ask(kinds.GOSSIP, b"ab")
            await asyncio.sleep(0.01)
            time.sleep(0.6)  # more than it gives a silent line
            assert await asked == b"ba"
        assert to.connected
        assert to._observer.value("dhp_sidecar_peers_connected_total") == 1  # type: ignore[attr-defined]


async def test_a_line_that_is_cut_again_and_again_is_dialled_again() -> None:
    async with port() as end, BadLine(end.url) as line, link(line.url) as to:
        done = 0
        for _ in range(5):
            await until(lambda: to.connected)
            asked = [to.append_soon(append([each])) for each in entries(20)]
            await asyncio.sleep(0)
            line.cut()
            done += (await outcomes(*asked))[0]
        await until(lambda: to.connected)
        assert isinstance(await to.append_soon(append(entries(1))), Appended)
        assert line.made == 6
        assert len(end.handler.appends) >= done + 1
