"""Acknowledged appends survive any minority of lost disks.

When an owner's rules call a position committed, a majority of the voters' *disks* has it: so whatever minority is
lost afterwards, every later owner has it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.disks import missing
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.world import World


class AcknowledgedEntriesSurvive(Checker):
    """The last committed entry of each task, which has all others before it in its chain."""

    name = "acknowledged entries survive"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, tuple[int, str]] = {}
        self.newest: dict[str, int] = {}

    def committed(self, hand: Hand, seq: int) -> None:
        known, digest = self.books.get(hand.task, (0, ""))
        lacking = missing(self.world, hand.task, hand.log, known, seq)
        if lacking:
            raise self.broken(f"{hand.task}: entry {seq} is called committed, {lacking}")
        self.books[hand.task] = max((known, digest), (seq, hand.log[seq - 1].hash))

    def owns(self, hand: Hand) -> None:
        if hand.fence.n < self.newest.get(hand.task, 0):
            return  # it hears late that it was the owner: no later one, and those that were have all
        self.newest[hand.task] = hand.fence.n
        seq, digest = self.books.get(hand.task, (0, ""))
        if seq and (seq > len(hand.log) or hand.log[seq - 1].hash != digest):
            raise self.broken(f"{hand.task}: entry {seq} was acknowledged, {hand.fence} does not have it")
