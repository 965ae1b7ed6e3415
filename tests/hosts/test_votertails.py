"""What is followed at a voter: whole, once, in order, whichever voter breaks, stops or is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import pytest

from bridge.journal import Entry
from sidecar.errors import StoreUnavailable
from sidecar.peers import votertails as module
from sidecar.peers.handshake import Peer
from sidecar.peers.link import PeerLink
from sidecar.peers.near import Near
from sidecar.peers.stands import Stand
from sidecar.peers.votertails import VoterTails
from tests.hosts.peer_side import TASK, End, Remembers, entries, link, port, until

ALL = entries(60)


class Knows(Remembers):
    """A voter that says truly how far it is."""

    async def behind(self, peer: Peer, stands: Sequence[Stand]) -> list[str]:
        return [task for task, committed in stands if committed < len(self.journal)]


async def _read(after: int, peer: PeerLink) -> list[Entry]:
    return await peer.entries(TASK, after, 7, 1 << 20)


class Follower:
    """Follows a task as the hub does."""

    def __init__(self, near: Near) -> None:
        self.tails = VoterTails(near, self._news)
        self.seen: list[Entry] = []
        self.near, self._told = near, asyncio.Event()
        self.holds = False

    def _news(self, task: str) -> None:
        assert task == TASK
        self._told.set()

    async def run_forever(self) -> None:
        while True:
            self._told.clear()
            after = self.seen[-1].seq if self.seen else 0
            more = self.tails.since(TASK, after, 7)
            if more is None:
                more = await self.near.ask("the task", partial(_read, after))
            self.seen += more
            if not more:
                with self.tails.waiting(TASK, after):
                    await self._told.wait()
            while self.holds:
                await asyncio.sleep(0.01)


@asynccontextmanager
async def running(*parts: object) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in parts]  # type: ignore[call-overload]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each


@asynccontextmanager
async def voter_at(name: str = "south") -> AsyncIterator[tuple[End, Knows, PeerLink]]:
    async with port(name) as end:
        handler = Knows()
        end.port._handler = end.handler = handler
        async with link(end.url) as to:
            yield end, handler, to


def choosing(first: PeerLink, second: PeerLink) -> Near:
    """Which of two is asked, the first one now."""
    near = Near([first, second], lambda: ("v-south", "v-east"))
    near._chosen = first
    return near


async def test_it_goes_on_at_another_voter_without_a_gap_or_a_repeat() -> None:
    async with voter_at("east") as (_, other, second), AsyncExitStack() as there:
        _, voter, first = await there.enter_async_context(voter_at())
        follower = Follower(choosing(first, second))
        voter.grow(ALL[:20])
        other.grow(ALL[:15])  # it hears a moment later
        async with running(follower.run_forever()):
            await until(lambda: len(follower.seen) == 20 and voter.tails_open == 1)
            voter.grow(ALL[20:30])
            await until(lambda: len(follower.seen) == 30)
            await there.aclose()
            await until(lambda: other.tails_open == 1)
            other.grow(ALL[15:40])
            await until(lambda: len(follower.seen) == 40)
            other.grow(ALL[40:])
            await until(lambda: len(follower.seen) == 60)
            assert follower.seen == ALL
            follower.tails.close()


async def test_a_voter_that_hears_nothing_any_more_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "COMPARE_S", 0.05)
    async with voter_at("east") as (_, other, second), voter_at() as (_, cut_off, first):
        follower = Follower(choosing(first, second))
        cut_off.grow(ALL[:10])
        other.grow(ALL[:10])
        async with running(follower.run_forever(), follower.tails.compare_forever()):
            await until(lambda: len(follower.seen) == 10 and cut_off.tails_open == 1)
            other.grow(ALL[10:])
            await until(lambda: len(follower.seen) == 60)
            assert follower.seen == ALL
            assert follower.near.link() is second, "everything else is read there, too"
            await until(lambda: cut_off.tails_open == 0)
            assert [each for each in caplog.messages if "does not tell" in each]
            follower.tails.close()


async def test_who_reads_slowly_holds_the_voter_back() -> None:
    big = entries(400, size=32_000)
    async with voter_at() as (_, voter, first):
        follower = Follower(choosing(first, first))
        voter.grow(big[:1])
        async with running(follower.run_forever()):
            await until(lambda: voter.tails_open == 1)
            follower.holds = True
            voter.grow(big[1:])
            await until(lambda: bool(follower.tails.since(TASK, 1, 1)))
            with pytest.raises(TimeoutError):  # of seven
                await until(lambda: voter.pieces_taken > 2, 0.5)
            follower.holds = False
            await until(lambda: len(follower.seen) == 400)
            assert follower.seen == big
            follower.tails.close()


async def test_nothing_is_followed_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER_S", 0.05)
    async with voter_at() as (_, voter, first):
        follower = Follower(choosing(first, first))
        voter.grow(ALL[:3])
        async with running(follower.run_forever()):
            await until(lambda: voter.tails_open == 1)
        await until(lambda: voter.tails_open == 0)
        assert follower.tails.since(TASK, 3, 1) is None


async def test_where_no_voter_is_reached_nothing_can_be_read() -> None:
    async with port() as south, link(south.url) as first:
        stranger = Near([first], lambda: ("v-another",))
        assert stranger.link() is None
        with pytest.raises(StoreUnavailable, match="no voter is reached"):
            await stranger.ask("the task", lambda peer: peer.entries(TASK))
