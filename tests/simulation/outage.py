"""Two of three hosts die and do not come back when everything else is healed; then one of them does.

In between nothing can be committed: a client that begins a task then must be told nothing at all, and whoever
waits goes on waiting. With the one that comes back there is a majority again, and every task finishes. This file
must not know any rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.kernel import MS, Process

if TYPE_CHECKING:
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World

LASTS_MS = 4_000
ASKS_AFTER_MS = 400


class Outage:
    """The loss of a majority.

    Attributes:
        dead: hosts that stay dead.
        since_us: when the majority was lost; 0 while there is one.
        kept: hashes of all entries on the dead voters' disks, by task; None where one of them has purged it.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.dead: list[Sidecar] = []
        self.since_us = 0
        self.kept: dict[str, frozenset[str] | None] = {}

    def begin(self) -> None:
        """It will strike in the second half of the time in which faults strike."""
        if self.world.options.outage:
            ms = self.world.options.safety_ms
            self.world.kernel.after(self.world.kernel.rng.randint(ms // 2, ms) * MS, None, "outage", self._strike)

    def holds(self, process: Process) -> bool:
        """Whether it must not live."""
        return any(process in (host, host.agent) for host in self.dead)

    def _strike(self) -> None:
        world = self.world
        self.dead = world.kernel.rng.sample(world.sidecars, 2)
        for host in self.dead:
            for process in (host, host.agent):
                if process.alive:
                    process.end()
        self.since_us = world.kernel.now
        for task in world.works:
            copies = [host.voter.durable(task) for host in self.dead if host.voter is not None]
            hashes = frozenset(entry.hash for copy in copies for entry in copy.entries)
            self.kept[task] = None if any(copy.view.purged for copy in copies) else hashes
        world.kernel.fired["majority lost"] += 1
        task = [*world.works][-1]
        if all(client.task != task for client in world.clients):
            world.begin_client(task, ASKS_AFTER_MS)

    def one_returns(self) -> None:
        """There is a majority again."""
        host = self.dead.pop(self.world.kernel.rng.randint(0, 1))
        self.since_us = 0
        self.world.kernel.fired["majority is back"] += 1
        for process in (host, host.agent):
            self.world.faults.restart(process)
