"""What is committed together: operations gather in the event loop until they are passed on to the writer.

Those of one loop iteration stay together. An operation that may wait (an event in the middle of a stream) does
not get a commit of its own while the last one was a moment ago: with many streams most events share one, and a
lone one is not delayed. This file must not know threads or transactions. The failure it prevents: a disk write
for every event of every stream, paid for with the processor time that the agents need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

PACE_S = 0.005
"""Operations that may wait follow each other to the disk no faster than this."""

WAITING_BYTES_MAX = 64 << 10
"""More than this does not wait: a dense stream is bound by the disk, not by the pace."""


class Sized(Protocol):
    """Something with a size in bytes."""

    size: int


T = TypeVar("T", bound=Sized)


class Gathering(Generic[T]):
    """The operations that were not passed on yet. Belongs to the running event loop.

    Args:
        pass_on: takes them, in order.
    """

    def __init__(self, pass_on: Callable[[list[T]], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._to = pass_on
        self._gathered: list[T] = []
        self._bytes = 0
        self._timer: asyncio.Handle | None = None
        self._soon = False
        self._passed_at = 0.0

    def add(self, operation: T, *, may_wait: bool) -> None:
        """Put an operation behind all that were added before.

        Args:
            operation: to be passed on in this iteration of the loop.
            may_wait: nobody needs it at once; it may go with what comes within ``PACE_S``.
        """
        self._gathered.append(operation)
        self._bytes += operation.size
        if self._soon:
            return
        due_s = self._passed_at + PACE_S - self._loop.time() if may_wait else 0.0
        if due_s <= 0 or self._bytes > WAITING_BYTES_MAX:
            self._forget_timer()
            self._soon = True
            self._timer = self._loop.call_soon(self.pass_on)
        elif self._timer is None:
            self._timer = self._loop.call_later(due_s, self.pass_on)

    def pass_on(self) -> None:
        """Pass everything on now."""
        self._forget_timer()
        self._soon = False
        if self._gathered:
            gathered, self._gathered, self._bytes = self._gathered, [], 0
            self._passed_at = self._loop.time()
            self._to(gathered)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
