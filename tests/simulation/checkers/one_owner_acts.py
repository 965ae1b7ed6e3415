"""While an owner begins something at its agent, no other session believes that it may.

It holds as long as clocks drift less than the margin, so it is not demanded of worlds whose clocks stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.hand import Hand


class OneOwnerActs(Checker):
    """Asks every other sidecar at that moment."""

    name = "one owner acts at a time"

    def requests(self, hand: Hand, what: str) -> None:
        if what.startswith("do "):
            self.acts(hand)

    def acts(self, hand: Hand) -> None:
        if self.world.wild_clocks:
            return
        for car in self.world.sidecars:
            other = car.hands.get(hand.task)
            if car is not hand.car and car.alive and other is not None and other.fresh():
                raise self.broken(f"{hand.task}: {hand.fence} acts while {other.fence} may too")
