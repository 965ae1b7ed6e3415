"""Reads through one front never go backwards, in any of its lives; a fresh one has all that anybody was shown.

Where clocks stop, an owner that was replaced may believe that its reads are fresh, and a front that has just begun
may believe it: there the promise holds in each life alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.journal import Entry
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World


class ReadsNeverGoBack(Checker):
    """How far each front, and anybody, has shown each task."""

    name = "reads never go back"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[tuple[str, int, str], int] = {}
        self.anybody: dict[str, int] = {}

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        key = self._of(car, task)
        self.books[key] = max(self.books.get(key, 0), entry.seq)
        self.anybody[task] = max(self.anybody.get(task, 0), entry.seq)

    def read(self, car: Sidecar, task: str, upto: int, fresh: bool) -> None:
        before = self.books.get(self._of(car, task), 0)
        if upto < before:
            raise self.broken(f"{task}: {car.name} has shown {before}, and now answers with {upto}")
        self.books[self._of(car, task)] = upto
        if fresh and upto < self.anybody.get(task, 0) and not self.world.wild_clocks:
            raise self.broken(f"{task}: {car.name} calls {upto} fresh, {self.anybody[task]} was shown")

    def _of(self, car: Sidecar, task: str) -> tuple[str, int, str]:
        return car.name, car.life if self.world.wild_clocks else 0, task
