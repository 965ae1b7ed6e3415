"""What is followed at a peer: once for all readers, from where it broke, and no longer than somebody reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis
from sidecar.errors import PeerUnavailable
from sidecar.peers import tails
from sidecar.peers.tails import Tails

LOG = chain(genesis("t"), Fence(1, "a"), 1, [Draft(Kind.EVENT, b"{}")] * 5)


class Link:
    """Pushes what it is told to; None breaks it."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.pieces: asyncio.Queue[list[Entry] | None] = asyncio.Queue()
        self.open = 0

    async def tail(self, task: str, after: int) -> AsyncIterator[list[Entry]]:
        assert task == "t"
        self.asked.append(after)
        self.open += 1
        try:
            while (piece := await self.pieces.get()) is not None:
                yield piece
            raise PeerUnavailable("the connection was lost")
        finally:
            self.open -= 1


def following(link: Link) -> tuple[Tails, asyncio.Queue[str]]:
    told: asyncio.Queue[str] = asyncio.Queue()
    return Tails(cast("Any", {"voter": link}), told.put_nowait), told


async def until_open(link: Link, count: int) -> None:
    async with asyncio.timeout(5):
        while link.open != count:
            await asyncio.sleep(0.001)


async def test_all_readers_share_one_and_it_goes_on_from_where_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "AGAIN_S", 0.001)
    link = Link()
    follows, told = following(link)
    with follows.watch("t", 1), follows.watch("t", 3):
        link.pieces.put_nowait(LOG[1:3])
        assert await told.get() == "t"
        link.pieces.put_nowait(None)
        link.pieces.put_nowait(LOG[3:4])
        assert await told.get() == "t"
    assert link.asked == [1, 3]
    follows.close()
    await until_open(link, 0)


async def test_it_outlives_its_last_reader_by_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "LINGER_S", 0.02)
    link = Link()
    follows, _ = following(link)
    with follows.watch("t", 0):
        await until_open(link, 1)
    with follows.watch("t", 0):
        await asyncio.sleep(0.05)  # longer than it lingers: whoever came back in time keeps it
        assert link.asked == [0]
        assert link.open == 1
    await until_open(link, 0)
    assert len(follows) == 0
