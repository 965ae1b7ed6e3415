"""What any voter or owner calls committed is the same everywhere, for ever.

A voter speaks of what its disk has: what the only voter of a handoff wrote and lost before that was nothing yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.journal import Entry
    from tests.simulation.disk import Stored
    from tests.simulation.hand import Hand
    from tests.simulation.voter import Voter
    from tests.simulation.world import World


class CommittedPrefixesAgree(Checker):
    """One book of committed entries for each task."""

    name = "committed prefixes agree"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, list[str]] = {}

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        if after.view.purged:
            return
        was, now = before.view.committed, after.view.committed
        if now < was:
            raise self.broken(f"{task}: committed goes back from {was} to {now} at {voter.process.name}")
        if before.entries[:was] != after.entries[:was]:
            raise self.broken(f"{task}: {voter.process.name} changes what is committed")

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        now = stored.view.committed
        since = min(len(self.books.get(task, ())), now)
        # A chain whose last entry is the same is the same.
        self._enter(task, voter.process.name, stored.entries, max(0, since - 1), now)

    def committed(self, hand: Hand, seq: int) -> None:
        since = len(self.books.get(hand.task, ()))
        self._enter(hand.task, hand.car.name, hand.log, 0 if not hand.owner else min(since, seq), seq)

    def _enter(self, task: str, who: str, entries: Sequence[Entry], since: int, upto: int) -> None:
        book = self.books.setdefault(task, [])
        for entry in entries[since:upto]:
            if entry.seq > len(book):
                book.append(entry.hash)
            elif book[entry.seq - 1] != entry.hash:
                raise self.broken(f"{task}: {who} calls another entry {entry.seq} committed")
