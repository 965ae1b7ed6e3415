"""No two sessions of a handoff ever write under one ``n``, and no session claims one twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import Kind
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

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        for entry in after.entries[-8:] if after.entries is not before.entries else ():
            n, session = entry.fence
            if self.books.setdefault((task, n), session) != session:
                raise self.broken(f"{task}: {session} and {self.books[task, n]} both write under fence {n}")
            if entry.kind is Kind.CLAIMED and self.claims.setdefault((task, n), entry.hash) != entry.hash:
                raise self.broken(f"{task}: fence {n} was opened twice")
