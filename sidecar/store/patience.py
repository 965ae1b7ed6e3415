"""Noticing that the writer's thread has stopped, and telling those who wait for it.

A write that fails is told at once. One that never comes back (a disk that hangs, a frozen file system) would leave
everybody waiting: a sidecar that says it is ready, takes messages and leaves them. So whoever has waited
for ``STUCK_S`` in which nothing at all came back is told that the outcome is unknown, as after any other failure,
and what comes next is refused until the thread moves again. What it then does for callers who were told so counts:
an unknown outcome may be either.

This file must not know what is written. The failure it prevents: a hang where an error would do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import Any

from sidecar.errors import StoreUnavailable

STUCK_S = 2.5
"""Longer than the longest wait that ends by itself: a turn (0.4 s) and SQLite's busy handler (2 s)."""

LOOK_S = 0.25


class Patience:
    """What was given to the writer's thread and has not come back. Belongs to the loop.

    Args:
        path: of the store.

    Attributes:
        stuck: nothing has come back for too long.
    """

    def __init__(self, path: Path) -> None:
        self.stuck = False
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._moved_at = self._due_at = 0.0
        self._looking = False

    def wait_for(self, future: asyncio.Future[Any]) -> None:
        """An operation was given to the thread, behind the others."""
        self._waiting.append(future)
        if not self._looking:
            self._moved_at = self._loop.time()
            self._look_later()

    def came_back(self, count: int) -> None:
        """The first ``count`` of those that wait have been answered."""
        if count:
            self.stuck, self._moved_at = False, self._loop.time()
        for _ in range(count):
            self._waiting.popleft()

    def refusal(self) -> StoreUnavailable:
        """What is told to those who wait and to those who come."""
        told = f"{self._path}: a write has not come back for {STUCK_S:g} s"
        return StoreUnavailable(told, "the disk may hang; the outcome is unknown, ask the same again later")

    def _look_later(self) -> None:
        self._looking = True
        self._due_at = self._loop.time() + LOOK_S
        self._loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = False
        if not self._waiting:
            return
        now = self._loop.time()
        if now - self._due_at > LOOK_S:
            self._moved_at = now  # this process did not run itself: answers may be on their way to this loop
        if now - self._moved_at > STUCK_S:
            self.stuck = True
            for future in self._waiting:
                if not future.done():
                    future.set_exception(self.refusal())
        self._look_later()
