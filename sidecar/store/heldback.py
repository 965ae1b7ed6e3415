"""What came with an append and waits until its entries are committed: rows for reads, and what leaves the inbox.

A voter among several stores entries before it knows that they are committed. The row that reads use must not run
ahead of that, and a message must not leave the inbox for an entry that may still be cut. So both are held here, in
memory, until an append brings the word. What is held belongs to one fence: a later owner sends rows of its own and
takes the inbox in itself. A process that ends forgets it all: rows for reads are made again by whoever needs them,
and the inbox still has what was taken in, which its owner then recognises. The failure this prevents: a read that
shows what a majority never had.

Belongs to the writer's thread. A transaction that fails may have added to this: what it held back is true all the
same, once the position is committed under that fence.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.journal import Fence
from sidecar.records import TaskView

TASKS_MAX = 4_000
BYTES_MAX = 64 << 20
EACH_MAX = 8


class Later(NamedTuple):
    """What waits for a position.

    Attributes:
        seq: once this is committed.
        view: the row for reads, made at that position; None where only the inbox waits.
        inbox: ids of inbox rows to be deleted.
    """

    seq: int
    view: TaskView | None
    inbox: tuple[int, ...] = ()


class HeldBack:
    """All that waits, by task."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Fence, list[Later]]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, task: str, fence: Fence, later: Later) -> None:
        """Hold something back that came under a fence.

        A stream whose row changes faster than it commits keeps the oldest rows, which are shown next, and the
        newest.
        """
        self.under(task, fence)
        _, waiting = self._waiting.setdefault(task, (fence, []))
        if len(waiting) >= EACH_MAX:
            self._bytes -= _size(last := waiting.pop())
            later = later._replace(inbox=last.inbox + later.inbox)
        waiting.append(later)
        self._bytes += _size(later)
        while self._bytes > BYTES_MAX or len(self._waiting) > TASKS_MAX:
            self._drop(next(iter(self._waiting)))

    def under(self, task: str, fence: Fence) -> None:
        """An append came under a fence: what an earlier one left is nobody's any more."""
        held = self._waiting.get(task)
        if held is not None and held[0] != fence:
            self._drop(task)

    def due(self, task: str, committed: int) -> list[Later]:
        """What waits no longer, oldest first; it stays until ``forget``."""
        held = self._waiting.get(task)
        return [later for later in held[1] if later.seq <= committed] if held else []

    def forget(self, task: str, committed: int) -> None:
        """What was due is on disk."""
        held = self._waiting.get(task)
        if held is None:
            return
        fence, waiting = held
        left = [later for later in waiting if later.seq > committed]
        self._bytes -= sum(_size(later) for later in waiting if later.seq <= committed)
        if left:
            self._waiting[task] = (fence, left)
        else:
            del self._waiting[task]

    def _drop(self, task: str) -> None:
        _, waiting = self._waiting.pop(task)
        self._bytes -= sum(_size(later) for later in waiting)


def _size(later: Later) -> int:
    view = later.view
    return 512 + (len(view.finished or b"") if view is not None else 0)
