"""A sidecar that drains: it claims nothing, hands over what it has, lets its session go, ends and begins again.

What it cannot hand over in time it leaves as it is. This file must not know who takes it over. The failure it must
not add: a session that is released while something still acts under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.session import Renewal
from tests.simulation.kernel import MS

if TYPE_CHECKING:
    from tests.simulation.database import Database
    from tests.simulation.sidecar import Sidecar

PATIENCE_MS = 600
LAST_MS = 20


class Drain:
    """One life's drain, from the operator's wish on."""

    def __init__(self, car: Sidecar) -> None:
        self._car = car
        self._until_us = car.kernel.now + PATIENCE_MS * MS

    def begin(self) -> None:
        """Let candidacies go, and give up what is owned."""
        for hand in list(self._car.hands.values()):
            if hand.owner and hand.pursuit is not None:
                hand.pursuit.hand_over()
            else:
                hand.drop()

    def tick(self) -> None:
        """Go on once nothing is left, or it has taken too long."""
        car = self._car
        if car.session.released or (car.hands and car.kernel.now < self._until_us):
            return
        car.kernel.fired["drained in time"] += not car.hands
        car.session.released = True  # from here on nothing is begun or called fresh
        for hand in list(car.hands.values()):
            hand.drop()
        for host in car.world.hosts:
            if host.voter is not None:
                label = f"{car.name}>{host.name} release"
                car.world.network.send(car, host, 0, label, self._arrives, host, car.session.renewal)
        car.later(LAST_MS, self._end)

    def _arrives(self, host: Sidecar | Database, renewal: Renewal) -> None:
        # A late one names the session that sent it, and not the one that this sidecar has by then.
        if host.voter is not None:
            host.voter.release(renewal)

    def _end(self) -> None:
        self._car.kernel.fired["drained"] += 1
        self._car.world.faults.killed(self._car)
