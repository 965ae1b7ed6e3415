"""Once a voter has purged a handoff nothing of it is new: no run, no entry but seals of its end, nothing shown.

Only what has a committed end is purged, and a voter that has purged it stores nothing of it ever again. Other
voters may still have it, and what was written before its end may still reach one of them late: it counts for
nothing there, so only what is *committed* is judged. Nobody is told that a task is gone of which no voter says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.journal import TERMINAL, Entry, Kind
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.disk import Stored
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.voter import Voter
    from tests.simulation.world import World

SEALS = (Kind.CLAIMED, Kind.VOTERS, Kind.ANSWERED)


class PurgedStaysPurged(Checker):
    """Hashes of each purged journal, as the first voter whose disk has forgotten it had it committed."""

    name = "purged stays purged"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, list[str]] = {}
        self.ends: dict[str, Entry] = {}
        self.leaving: dict[tuple[str, str], list[Entry]] = {}

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        if before.view.purged:
            raise self.broken(f"{task}: {voter.process.name} has purged it, and writes again")
        if not after.view.purged:
            return
        if after.entries:
            raise self.broken(f"{task}: {voter.process.name} purges it, and keeps entries")
        if task in self.books:
            return
        kept = list(before.entries[: before.view.committed])
        if not any(entry.kind in TERMINAL for entry in kept):
            raise self.broken(f"{task}: {voter.process.name} purges it without a committed end")
        self.leaving[voter.process.name, task] = kept

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        # Until then a crash takes it back, and with an only voter what it had not synced of the journal too.
        if stored.view.purged and task not in self.books:
            kept = self.leaving[voter.process.name, task]
            self.books[task] = [entry.hash for entry in kept]
            self.ends[task] = next(entry for entry in kept if entry.kind in TERMINAL)
        if task in self.books:
            self._look(task, voter.process.name, stored.entries[: stored.view.committed])

    def committed(self, hand: Hand, seq: int) -> None:
        if hand.task in self.books:
            self._look(hand.task, f"{hand.fence}", hand.log[:seq])

    def owns(self, hand: Hand) -> None:
        end = self.ends.get(hand.task)
        # Who claimed before the end was written may hear late that its claim is committed, and of the end later.
        if end is not None and hand.fence >= end.fence and end not in hand.log:
            raise self.broken(f"{hand.task}: {hand.fence} owns it without its end, and it is purged")

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        if task in self.books:
            self._look(task, car.name, (entry,))

    def acts(self, hand: Hand) -> None:
        if hand.task in self.books and not self.world.wild_clocks:
            raise self.broken(f"{hand.task}: {hand.fence} asks its agent, and it is purged")

    def not_found(self, car: Sidecar, task: str) -> None:
        if task not in self.books:
            raise self.broken(f"{task}: {car.name} says that it is gone, nobody has purged it")

    def _look(self, task: str, who: str, entries: Sequence[Entry]) -> None:
        kept = self.books[task]
        for entry in entries:
            known = entry.seq <= len(kept) and entry.hash == kept[entry.seq - 1]
            if not known and (entry.seq <= len(kept) or entry.kind not in SEALS):
                raise self.broken(f"{task}: {entry.kind} at {entry.seq} by {who}, and it is purged")
