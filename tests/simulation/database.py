"""The one voter of all sidecars, on a host of its own: what a shared SQL database is to them.

Sidecars that have no voter beside them look at it now and then. This file must not decide anything about handoffs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.session import Renewal
from tests.simulation.clocks import HostClock
from tests.simulation.kernel import Process
from tests.simulation.voter import Asked, Reply, Voter

if TYPE_CHECKING:
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World


class Database(Process):
    """The one voter of all sidecars, on a host of its own."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name, mortal=True)
        self.network = world.network
        self.clock = HostClock(world.kernel, name, world.options.rates.get("d", 1.0))
        self.voter: Voter | None = Voter(world, self, self.clock, name)

    def end(self) -> None:
        """Killed."""
        super().end()
        assert self.voter is not None
        self.voter.crash()

    def take(self, renewal: Renewal, task: str, asked: Asked, reply: Reply) -> None:
        """A request has arrived."""
        assert self.voter is not None
        self.voter.ask(renewal, task, asked, reply)

    def begin(self) -> None:
        """A new life."""
        super().begin()
        assert self.voter is not None
        self.voter.boot()

    def show(self, car: Sidecar, life: int, session: str) -> None:
        """A sidecar looks at everything."""
        voter = self.voter
        assert voter is not None
        journals = {task: (each, voter.blocks(each, session), False) for task, each in voter.disk.synced.items()}
        self.network.send(self, car, life, f"{self.name}>{car.name} look", car.looks.looked, journals)
