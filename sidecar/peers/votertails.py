"""The tails of tasks that are followed here and kept elsewhere: one subscription each, at one voter.

However many clients follow a task, its entries come once. They are taken only while somebody waits for them, so
a client that reads slowly holds the voter back and fills nothing here; what came last is remembered for the
others. Where the connection breaks it goes on at another voter, from the last entry that was taken. A voter that
is reached and hears nothing any more is found out by asking the others how far they are.

This file must not know what an entry means. The failures it prevents: a gap or a repeat where the voter changes,
and a stream that stands still beside a voter that was cut off from the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from itertools import islice
from typing import Any, cast

from bridge.journal import Entry
from sidecar.errors import PeerUnavailable
from sidecar.peers.link import PeerLink
from sidecar.peers.near import Near
from sidecar.peers.stands import BEHIND_MAX

log = logging.getLogger(__name__)

MEMORY_BYTES = 1 << 20
LINGER_S = 2.0
AGAIN_S = 0.05
COMPARE_S = 1.0


class _Tail:
    """One task's. Everything after ``base`` up to ``head`` is in memory."""

    def __init__(self, task: str, after: int) -> None:
        self.task, self.base, self.head = task, after, after
        self.waiting = 0
        self.wanted = asyncio.Event()
        self.at: PeerLink | None = None
        self.behind_at = -1
        self.pump: asyncio.Task[None] | None = None
        self.ends: asyncio.TimerHandle | None = None
        self._entries: deque[Entry] = deque()
        self._size = 0

    def take(self, piece: Sequence[Entry]) -> None:
        """Committed entries have come.

        Raises:
            PeerUnavailable: they do not follow what was taken last.
        """
        for entry in piece:
            if entry.seq <= self.head:
                continue
            if entry.seq != self.head + 1:
                raise PeerUnavailable(f"task {self.task}: entry {entry.seq} came after {self.head}")
            self._entries.append(entry)
            self._size += len(entry.body or b"") + 256
            self.head = entry.seq
        while self._size > MEMORY_BYTES and len(self._entries) > 1:
            dropped = self._entries.popleft()
            self.base = dropped.seq
            self._size -= len(dropped.body or b"") + 256

    def since(self, after: int, limit: int) -> list[Entry] | None:
        """What follows a position; None where memory does not reach there."""
        if not self.base <= after <= self.head:
            return None
        return list(islice(self._entries, after - self.base, after - self.base + limit))


class VoterTails:
    """All tails of this sidecar.

    Args:
        near: which voter is asked.
        news: told of a task that has more.
    """

    def __init__(self, near: Near, news: Callable[[str], None]) -> None:
        self._near, self._news = near, news
        self._tails: dict[str, _Tail] = {}

    def since(self, task: str, after: int, limit: int) -> list[Entry] | None:
        """What has come after a position; None where nobody here knows."""
        tail = self._tails.get(task)
        return None if tail is None else tail.since(after, limit)

    @contextmanager
    def waiting(self, task: str, after: int) -> Iterator[None]:
        """Somebody has taken everything up to a position and waits for more."""
        loop = asyncio.get_running_loop()
        tail = self._tails.get(task)
        if tail is None:
            tail = self._tails[task] = _Tail(task, after)
            tail.pump = loop.create_task(self._pump(tail))
        elif tail.head > after:  # read at a voter that is behind: it is there, and nobody would tell
            loop.call_later(AGAIN_S, self._news, task)
        if tail.ends is not None:
            tail.ends.cancel()
            tail.ends = None
        tail.waiting += 1
        tail.wanted.set()
        try:
            yield
        finally:
            tail.waiting -= 1
            if not tail.waiting:
                tail.wanted.clear()
                tail.ends = loop.call_later(LINGER_S, self._end, tail)

    async def compare_forever(self) -> None:
        """Now and then ask the other voters whether they know more of what is waited for, until cancelled."""
        while True:
            await asyncio.sleep(COMPARE_S)
            waited_for = [tail for tail in self._tails.values() if tail.waiting][:BEHIND_MAX]
            if waited_for:
                stands = [(tail.task, tail.head) for tail in waited_for]
                for link in self._near.reached():
                    try:
                        self._behind(link, await link.behind(stands))
                    except PeerUnavailable as error:
                        log.debug("%s has not said how far it is: %s", link.name, error)

    def close(self) -> None:
        """Follow nothing any more."""
        for tail in list(self._tails.values()):
            self._end(tail)

    def _behind(self, link: PeerLink, tasks: Sequence[str]) -> None:
        for tail in filter(None, map(self._tails.get, tasks)):
            if tail.at in (None, link) or not tail.waiting:
                continue
            # Once may be a matter of milliseconds; if it is the same a second later, what is asked hears nothing.
            if tail.behind_at == tail.head and tail.pump is not None and tail.at is not None:
                log.warning(
                    "%s does not tell what %s has of task %s, which is followed there from now on",
                    tail.at.name, link.name, tail.task, extra={"task": tail.task, "fence": 0},
                )  # fmt: skip
                self._near.leave(tail.at, link)
                tail.pump.cancel()
                tail.pump = asyncio.get_running_loop().create_task(self._pump(tail))
            tail.behind_at = tail.head

    def _end(self, tail: _Tail) -> None:
        if tail.ends is not None:
            tail.ends.cancel()
        if tail.pump is not None:
            tail.pump.cancel()
        if self._tails.get(tail.task) is tail:
            del self._tails[tail.task]

    async def _pump(self, tail: _Tail) -> None:
        while True:
            tail.at = link = self._near.link()
            try:
                if link is not None:
                    await self._follow(tail, link)
            except PeerUnavailable as error:
                log.debug("what follows task %s goes on elsewhere: %s", tail.task, error)
            except Exception:
                log.exception("following task %s failed and goes on", tail.task)
            tail.at = None
            await asyncio.sleep(AGAIN_S)

    async def _follow(self, tail: _Tail, link: PeerLink) -> None:
        async with aclosing(cast("Any", link.tail(tail.task, tail.head))) as pieces:
            async for piece in pieces:
                tail.take(piece)
                self._news(tail.task)
                await tail.wanted.wait()
