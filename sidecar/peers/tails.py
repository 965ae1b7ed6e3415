"""Journals of which this host keeps no copy, followed at a peer for as long as somebody here waits for what comes.

A tail tells that there is more; what there is, is read as always. It outlives its last reader by a moment, because
whoever was told of something reads it and waits again. The failure this prevents: a stream whose client sees
nothing more once its task is owned by a host from which nothing comes here by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, cast

from sidecar.errors import PeerUnavailable
from sidecar.peers.link import PeerLink

LINGER_S = 2.0
AGAIN_S = 0.1


class _Tail:
    def __init__(self) -> None:
        self.watchers = 0
        self.following: asyncio.Task[None] | None = None
        self.stopping: asyncio.TimerHandle | None = None


class Tails:
    """What is followed at a peer. Belongs to the running event loop.

    Args:
        links: to peers, by their voters' ids; it changes as they become known.
        tell: called with a task of which there is more.
    """

    def __init__(self, links: Mapping[str, PeerLink], tell: Callable[[str], None]) -> None:
        self._links, self._tell = links, tell
        self._tails: dict[str, _Tail] = {}

    def __len__(self) -> int:
        return len(self._tails)

    @contextmanager
    def watch(self, task: str, after: int) -> Iterator[None]:
        """Follow a task beyond a position."""
        tail = self._tails.get(task)
        if tail is None:
            tail = self._tails[task] = _Tail()
            tail.following = asyncio.get_running_loop().create_task(self._follow(task, after))
        elif tail.stopping is not None:
            tail.stopping.cancel()
            tail.stopping = None
        tail.watchers += 1
        try:
            yield
        finally:
            tail.watchers -= 1
            if not tail.watchers:
                tail.stopping = asyncio.get_running_loop().call_later(LINGER_S, self._stop, task)

    def close(self) -> None:
        """Follow nothing any more."""
        for task in list(self._tails):
            self._stop(task)

    def _stop(self, task: str) -> None:
        tail = self._tails.pop(task, None)
        if tail is not None and tail.following is not None:
            tail.following.cancel()

    async def _follow(self, task: str, after: int) -> None:
        while True:
            for link in list(self._links.values()):
                try:
                    async with aclosing(cast("Any", link.tail(task, after))) as pieces:
                        async for entries in pieces:
                            after = entries[-1].seq
                            self._tell(task)
                except PeerUnavailable:
                    continue  # dialled again by itself; from here on the reader asks, and is told why not
            await asyncio.sleep(AGAIN_S)
