"""Along a journal positions have no gap, each entry names its predecessor, and fences never fall.

A voter's journal is also what its view says: the tip is the last entry, and ``committed`` is inside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import genesis
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.disk import Stored
    from tests.simulation.voter import Voter


class FencesGrow(Checker):
    """Looks at what each write changes."""

    name = "fences grow along a journal"

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        view, entries = after.view, after.entries
        if view.promised < before.view.promised:
            raise self.broken(f"{task}: {voter.process.name} promises less than before")
        if view.promised < view.tip.fence:
            raise self.broken(f"{task}: {voter.process.name} has an entry above what it promised")
        if view.purged:
            return
        if view.committed > len(entries):
            raise self.broken(f"{task}: {voter.process.name} calls entry {view.committed} committed, it has none")
        if entries is before.entries:
            return
        last = genesis(task) if not entries else entries[-1]
        if (last.fence, last.seq, last.hash) != view.tip:
            raise self.broken(f"{task}: the tip of {voter.process.name} is not its last entry")
        same = min(len(before.entries), len(entries))
        while same and entries[same - 1] is not before.entries[same - 1]:
            same -= 1
        prev = entries[same - 1] if same else genesis(task)
        for entry in entries[same:]:
            if entry.seq != prev.seq + 1 or entry.prev != prev.hash:
                raise self.broken(f"{task}: entry {entry.seq} does not follow entry {prev.seq}")
            if entry.fence < prev.fence:
                raise self.broken(f"{task}: fence {entry.fence.n} after fence {prev.fence.n}")
            prev = entry
