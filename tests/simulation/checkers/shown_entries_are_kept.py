"""Every entry shown to a client is in every later owner's journal, and was committed when it was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.journal import Entry
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World


class ShownEntriesAreKept(Checker):
    """Books of what was shown, by task and position."""

    name = "shown entries are kept"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, dict[int, str]] = {}
        self.newest: dict[str, int] = {}

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        books = self.books.setdefault(task, {})
        if books.setdefault(entry.seq, entry.hash) != entry.hash:
            raise self.broken(f"{task}: {car.name} shows another entry {entry.seq} than was shown before")

    def owns(self, hand: Hand) -> None:
        if hand.fence.n < self.newest.get(hand.task, 0):
            return  # it hears late that it was the owner: no later one, and those that were have all
        self.newest[hand.task] = hand.fence.n
        for seq, digest in self.books.get(hand.task, {}).items():
            if seq > len(hand.log) or hand.log[seq - 1].hash != digest:
                raise self.broken(f"{hand.task}: entry {seq} was shown, {hand.fence} does not have it")
