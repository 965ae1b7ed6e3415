"""Marking what this file has the beginning of and another host keeps: a sweep passes it by.

Of a pair each host's file takes the first entries of what its own sidecar dispatches, so that no message is
dispatched twice, and none of the later ones: the other host is the only voter. The failure this prevents: sweeps
that cost ever more, because what was ended elsewhere looks for ever as if it had just begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sidecar.store.rows import Rows
from sidecar.store.writer import OPERATION_BYTES, Writer


class _Mark:
    """The writer's operation."""

    __slots__ = ("_tasks", "future", "size")

    def __init__(self, future: asyncio.Future[None], tasks: Sequence[str]) -> None:
        self.future = future
        self.size = OPERATION_BYTES
        self._tasks = tasks

    def run(self, rows: Rows) -> None:
        """Mark the rows."""
        for task in self._tasks:
            held = rows.held(task)
            if held.id and not held.elsewhere:
                held.elsewhere = True
                rows.put(held, held.view)


async def mark(writer: Writer, tasks: Sequence[str]) -> None:
    """Have sweeps pass these handoffs by.

    Raises:
        StoreError: nothing is known to have been written.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer.submit(_Mark(future, tasks))
    await future
