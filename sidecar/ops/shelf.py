"""A store as a ``Shelf``: its journals, opened for reading only, for commands that are not servers.

Blocking calls over the store's asynchronous reads. The failure it prevents: a command that looks at a store
creating, migrating or locking it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridge.errors import BrokenChain
from bridge.journal import NO_FENCE, Entry, Tip, tip_of
from sidecar.errors import StoreCorrupt
from sidecar.records import Caller, ListQuery, TaskView
from sidecar.store import Reads, open_readonly

_PAGE = 1000


class StoreShelf:
    """Journals of one store.

    Args:
        reads: the store's reads.
        runner: where its coroutines run.
    """

    def __init__(self, reads: Reads, runner: asyncio.Runner) -> None:
        self._reads, self._runner = reads, runner

    def views(self) -> Iterator[TaskView]:
        """Dispatches that no client has seen an event of, then listed tasks, newest status first."""
        for row in self._runner.run(self._reads.open_handoffs()):
            view = self._runner.run(self._reads.view(row.task))
            if view is not None and not view.listed:
                yield view
        query: ListQuery | None = ListQuery(page_size=100)
        while query is not None:
            views, _, after = self._runner.run(self._reads.list_tasks(query, Caller()))
            yield from views
            query = ListQuery(page_size=100, page_after=after) if after is not None else None

    def find(self, prefix: str) -> Sequence[str]:
        """Ids that begin so, in their order."""
        found: list[str] = []
        if not prefix.isascii() or not prefix.isprintable():
            return found
        # Ids are sorted: everything that begins with the prefix follows the largest string before it.
        after = prefix[:-1] + chr(ord(prefix[-1]) - 1) + chr(0x10FFFF) if prefix else ""
        while True:
            page = self._runner.run(self._reads.task_ids(after, _PAGE))
            found.extend(task for task in page if task.startswith(prefix))
            if len(page) < _PAGE or page[-1] > prefix + chr(0x10FFFF):
                return found
            after = page[-1]

    def view(self, task: str) -> TaskView | None:
        """The row of one task."""
        return self._runner.run(self._reads.view(task))

    def tip(self, task: str) -> Tip | None:
        """Where the store remembers what is committed of the journal to end."""
        row = self._runner.run(self._reads.handoff_row(task))
        if row is None or row.voter.committed >= row.voter.tip.seq:
            return None if row is None else row.voter.tip
        committed = row.voter.committed
        last = self._runner.run(self._reads.entries(task, committed - 1, 1)) if committed else []
        return tip_of(task, last) if last or not committed else Tip(NO_FENCE, committed, "")

    def shown_seq(self, task: str) -> int:
        """The position that the row of one task was made at, 0 where that is not known."""
        row = self._runner.run(self._reads.handoff_row(task))
        return row.shown_seq if row is not None else 0

    def entries(self, task: str) -> Sequence[Entry]:
        """The whole committed journal of one task.

        Raises:
            BrokenChain: a stored row is no entry.
        """
        entries: list[Entry] = []
        while True:
            after = entries[-1].seq if entries else 0
            try:
                page = self._runner.run(self._reads.entries(task, after, _PAGE))
            except StoreCorrupt as error:
                raise BrokenChain(after + 1, f"it or a later one cannot be read: {error.message}") from error
            entries.extend(page)
            if len(page) < _PAGE:
                return entries


@contextmanager
def open_shelf(path: Path) -> Iterator[StoreShelf]:
    """A store's journals, for the duration of the block.

    Raises:
        StoreError: there is no store, or it cannot be read.
    """
    with asyncio.Runner() as runner:
        reads = open_readonly(path)
        try:
            yield StoreShelf(reads, runner)
        finally:
            runner.run(reads.close())
