"""No two sessions of a handoff ever write under one ``n``, and no session claims one twice.

What the only voter of a handoff had not synced was never written: its ``n`` is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.journal import Entry, Kind
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.disk import Stored
    from tests.simulation.voter import Voter
    from tests.simulation.world import World


class OneSessionPerFence(Checker):
    """Books of who wrote under each ``n``, and of the claim that opened it."""

    name = "one session per fence"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[tuple[str, int], str] = {}
        self.claims: dict[tuple[str, int], str] = {}
        self.looked: dict[tuple[str, str], int] = {}

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        if self.world.options.voters > 1 and after.entries is not before.entries:
            self._look(task, after.entries[-8:])

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if self.world.options.voters == 1:
            at = voter.process.name, task
            self._look(task, stored.entries[self.looked.get(at, 0) :])
            self.looked[at] = len(stored.entries)

    def _look(self, task: str, entries: Sequence[Entry]) -> None:
        for entry in entries:
            n, session = entry.fence
            if self.books.setdefault((task, n), session) != session:
                raise self.broken(f"{task}: {session} and {self.books[task, n]} both write under fence {n}")
            if entry.kind is Kind.CLAIMED and self.claims.setdefault((task, n), entry.hash) != entry.hash:
                raise self.broken(f"{task}: fence {n} was opened twice")
