"""Once everything is healed every task finishes, or provably waits for a majority that is lost."""

from __future__ import annotations

from tests.simulation.checkers.promise import Checker


class EveryTaskFinishes(Checker):
    """Looks at the end of the world."""

    name = "every task finishes"

    def finished(self) -> None:
        if self.world.majority_lost:
            return
        for client in self.world.clients:
            if not client.done:
                owners = [car.name for car in self.world.sidecars if client.task in car.hands]
                at = {car.name: car.nearest(client.task).view.tip[:2] for car in self.world.sidecars}
                raise self.broken(f"{client.task} of {client.name}: {client.state or 'nothing'}, {owners}, {at}")
