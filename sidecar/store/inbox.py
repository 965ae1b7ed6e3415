"""The inbox: what a sidecar receives for a handoff that another one owns.

Inputs and cancels wait here until the owner's next append takes them into the journal, in one transaction with
their deletion, or until their receiver claims the handoff and does so itself. The failure it prevents: a client's
message that was acknowledged by one sidecar and never reached the one that runs its task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from sidecar.store.rows import Rows
from sidecar.store.writer import OPERATION_BYTES, Writer


class Put:
    """The writer's operation that puts one thing into the inbox."""

    __slots__ = ("_body", "_kind", "_task", "future", "size")

    def __init__(self, future: asyncio.Future[None], task: str, kind: str, body: bytes) -> None:
        self.future = future
        self.size = OPERATION_BYTES + len(body)
        self._task, self._kind, self._body = task, kind, body

    def run(self, rows: Rows) -> None:
        """Queue the row."""
        rows.inbox_put(self._task, self._kind, self._body)


class Done:
    """The writer's operation that takes rows out of the inbox."""

    __slots__ = ("_ids", "future", "size")

    def __init__(self, future: asyncio.Future[None], ids: Sequence[int]) -> None:
        self.future = future
        self.size = OPERATION_BYTES
        self._ids = ids

    def run(self, rows: Rows) -> None:
        """Queue the deletions."""
        rows.inbox_done(self._ids)


def put(writer: Writer, task: str, kind: str, body: bytes) -> Coroutine[Any, Any, int]:
    """Put something into a handoff's inbox; durable once the answer is there.

    Raises:
        StoreError: nothing is known to have been written.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer.submit(Put(future, task, kind, body))
    return _waits(future)


def done(writer: Writer, ids: Sequence[int]) -> Coroutine[Any, Any, int]:
    """Take rows out of the inbox that somebody else has taken in.

    Raises:
        StoreError: nothing is known to have been written.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer.submit(Done(future, ids))
    return _waits(future)


async def _waits(future: asyncio.Future[None]) -> int:
    await future
    return 0
