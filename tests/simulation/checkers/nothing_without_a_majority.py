"""While a majority of voters is dead nothing is committed or shown that the dead did not have, no read is fresh.

What the dead had when they died may still become known: their answers may be under way. Anything newer provably
waits: it is on the disk of a minority alone. A lease outlives the majority that it was given by for its own time,
and no longer. Of what a dead voter has purged all was committed (``purged_stays_purged``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker
from tests.simulation.kernel import MS
from tests.simulation.options import TTL_MS

if TYPE_CHECKING:
    from bridge.journal import Entry
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar

DRIFT = 1.05


class NothingWithoutAMajority(Checker):
    """Looks only while there is none."""

    name = "nothing without a majority"

    def committed(self, hand: Hand, seq: int) -> None:
        if self.world.outage.since_us:
            self._had(hand.task, hand.log[seq - 1], f"{hand.fence} calls committed")

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        if self.world.outage.since_us:
            self._had(task, entry, f"{car.name} shows")

    def read(self, car: Sidecar, task: str, upto: int, fresh: bool) -> None:
        if fresh and self._leases_are_over():
            raise self.broken(f"{task}: {car.name} calls a read fresh")

    def acts(self, hand: Hand) -> None:
        if self._leases_are_over():
            raise self.broken(f"{hand.task}: {hand.fence} asks its agent")

    def waited(self) -> None:
        waiting = [client for client in self.world.clients if not client.done]
        self.world.kernel.fired["waited for a lost majority"] += bool(waiting)
        for client in waiting:
            if self.world.outage.kept[client.task] == frozenset() and client.state:
                raise self.broken(f"{client.task}: {client.name} knows of it, the dead voters never did")

    def _leases_are_over(self) -> bool:
        since, now = self.world.outage.since_us, self.world.kernel.now
        return bool(since) and not self.world.wild_clocks and now - since > TTL_MS * MS * DRIFT

    def _had(self, task: str, entry: Entry, what: str) -> None:
        kept = self.world.outage.kept[task]
        if kept is not None and entry.hash not in kept:
            raise self.broken(f"{task}: {what} entry {entry.seq}, the dead voters never had it")
