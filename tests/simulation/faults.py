"""What goes wrong by the clock: kills, power losses, pauses, partitions, disks, clocks, agents, clients that move.

The kinds that a seed switches on strike at random moments of the safety phase; then everything is healed, and
stays so. What happens with each message or each effect is the network's and the kernel's. Every strike is counted,
so that a fault that never fires is seen. This file must not know any rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.handoff import State
from tests.simulation.kernel import MS, Process

if TYPE_CHECKING:
    from tests.simulation.agents import AgentHost
    from tests.simulation.database import Database
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World

STRIKES = (
    "partition", "kill", "power", "pause", "disk_dead", "disk_lost", "jump", "freeze", "agent_kill",
    "agent_breaks", "client_moves", "cancel", "cut_off", "drain", "move", "purge",
)  # fmt: skip


def running(hand: Hand) -> bool:
    """Whether a run of an owner goes on."""
    return hand.owner and hand.handoff.state is State.RUNNING


class Faults:
    """The hand of fate."""

    def __init__(self, world: World) -> None:
        self.world, self.kernel, self.rng = world, world.kernel, world.kernel.rng
        self.striking = True
        self._kinds = [kind for kind in STRIKES if world.options.has(kind)]
        self._minted = 0
        world.kernel.on_killed = self.killed
        if world.options.has("disk_lost"):
            for host in world.hosts:
                if host.voter is not None:
                    self.kernel.after(self._soon(), None, f"{host.name} is copied", host.voter.disk.keep_copy)

    def begin(self) -> None:
        """Faults strike from now on."""
        self._fuse()
        if self._kinds:
            self._next()

    def _soon(self) -> int:
        return int(self.rng.expovariate(1 / self.world.options.every_ms) * MS) + 1

    def _next(self) -> None:
        kind = self.rng.choice(self._kinds)
        self.kernel.after(self._soon(), None, kind, self._strike, kind)

    def _fuse(self) -> None:
        mean = self.world.options.fuse
        self.kernel.fuse = int(self.rng.expovariate(1 / mean)) + 1 if mean and self.striking else 0

    def _strike(self, kind: str) -> None:
        if not self.striking:
            return
        getattr(self, f"_{kind}")()
        self._next()

    def _host(self) -> Sidecar | Database | None:
        alive = [host for host in self.world.hosts if host.alive]
        return self.rng.choice(alive) if alive else None

    # --- processes --------------------------------------------------------------------------------------------

    def killed(self, process: Process) -> None:
        """A process was killed at an effect; it is restarted after a while."""
        process.end()
        self._fuse()
        self._restart_later(process)

    def _restart_later(self, process: Process) -> None:
        down = self.rng.choice((10, 100, 1_500))
        self.kernel.after(
            int(down * self.rng.random()) * MS + 1, None, f"{process.name} begins", self.restart, process
        )

    def restart(self, process: Process) -> None:
        """A new life, unless it has one."""
        if not process.alive and not self.world.outage.holds(process):
            process.begin()

    def _kill(self) -> None:
        host = self._host()
        if host is not None:
            self.kernel.fired["killed"] += 1
            host.end()
            self._restart_later(host)

    def _drain(self) -> None:
        host = self._host()
        if host is not None and host in self.world.sidecars:
            car = self.world.sidecars[self.world.sidecars.index(host)]
            self.kernel.after(1, car, f"{car.name} drains", car.drain)

    def _power(self) -> None:
        host = self._host()
        if host is not None:
            self.kernel.fired["power lost"] += 1
            host.end()
            host.clock.reboot()
            agent = self.world.agent_of(host)
            if agent is not None and agent.alive:
                agent.end()
                self._restart_later(agent)
            self._restart_later(host)

    def _pause(self) -> None:
        host = self._host()
        if host is not None:
            self.kernel.fired["paused"] += 1
            host.pause(self.kernel.now + self.rng.choice((50, 800, 1_000, 1_200, 2_500)) * MS)

    # --- network ----------------------------------------------------------------------------------------------

    def _partition(self) -> None:
        network, names = self.world.network, [host.name for host in self.world.hosts]
        cut = self.rng.sample(names, self.rng.randint(1, len(names) - 1))
        rest = [name for name in names if name not in cut]
        one_way = self.rng.random() < 0.5
        pairs = [(a, b) for a in cut for b in rest]
        if not one_way:
            pairs += [(b, a) for a, b in pairs]
        self.kernel.fired["one-way partition" if one_way else "partition"] += 1
        for one, other in pairs:
            network.separate(one, other, count=1)
        self.kernel.after(self.rng.choice((100, 1_000, 3_000)) * MS, None, "partition ends", self._join, pairs)

    def _cut_off(self) -> None:
        """An owner and its voters, for about as long as its lease lives: others may claim meanwhile, or not."""
        owners = [car for car in self.world.sidecars if any(map(running, car.hands.values()))]
        if not owners:
            return
        name = self.rng.choice(owners).name
        others = [host.name for host in self.world.hosts if host.name != name]
        deaf, mute, late_ms = self.rng.choice(((1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 1, 700), (0, 1, 850)))
        pairs = [(other, name) for other in others if deaf] + [(name, other) for other in others if mute]
        self.kernel.fired["answers to an owner late" if late_ms else "owner cut off"] += 1
        if late_ms:
            # What it is told is of long ago when it comes, and it can say nothing itself.
            self.world.network.lag_us[name] = late_ms * MS
            self.kernel.after(2_500 * MS, None, "answers in time", self._in_time, name)
        ms = 2_500 if late_ms else self.rng.choice((950, 1_100, 1_300, 2_500))
        self.kernel.after(late_ms // 3 * MS, None, "owner cut off", self._cut, pairs, ms)

    def _in_time(self, name: str) -> None:
        self.world.network.lag_us.pop(name, None)

    def _cut(self, pairs: list[tuple[str, str]], ms: int) -> None:
        if not self.striking:
            return
        for one, other in pairs:
            self.world.network.separate(one, other, count=1)
        self.kernel.after(ms * MS, None, "owner is back", self._join, pairs)

    def _join(self, pairs: list[tuple[str, str]]) -> None:
        for one, other in pairs:
            self.world.network.separate(one, other, count=-1)

    # --- disks and clocks -------------------------------------------------------------------------------------

    def _disk_dead(self) -> None:
        host = self._host()
        if host is not None and host.voter is not None and not host.voter.disk.dead:
            self.kernel.fired["disk stood still"] += 1
            disk = host.voter.disk
            disk.dead = True
            self.kernel.after(self.rng.choice((200, 2_000)) * MS, None, f"{host.name} disk goes on", disk.go_on)

    def _disk_lost(self) -> None:
        host = self._host()
        if host is None or host.voter is None or not self.world.can_lose(host):
            return
        empty = self.rng.random() < 0.5
        self.kernel.fired["disk came back empty" if empty else "disk came back old"] += 1
        host.end()
        self._minted += 1
        disk = host.voter.disk
        purged = any(stored.view.purged for stored in disk.synced.values())
        self.kernel.fired["old copy after a purge"] += purged and not empty
        lost = disk.identity
        disk.replace(f"{host.name}!{self._minted}", empty=empty)
        self.world.voter_hosts[disk.identity] = host
        self.world.operator.lost(lost, disk.identity)
        self._restart_later(host)

    def _purge(self) -> None:
        host = self._host()
        if host is not None and host.voter is not None:
            for task in list(host.voter.disk.written):
                host.voter.purge(task)

    def _jump(self) -> None:
        host = self._host()
        if host is not None:
            self.kernel.fired["wall clock jumped"] += 1
            host.clock.jump(self.rng.choice((-3_600_000, -900, 900, 3_600_000)))

    def _freeze(self) -> None:
        host = self._host()
        if host is not None:
            ms = self.rng.choice((300, 1_200))
            self.kernel.fired["clock stopped"] += 1
            host.pause(self.kernel.now + ms * MS)
            host.clock.stop(ms)

    # --- agents and clients -----------------------------------------------------------------------------------

    def _agent_kill(self) -> None:
        agent = self.rng.choice(self.world.sidecars).agent
        if agent.alive:
            self.kernel.fired["agent killed"] += 1
            self.kill_agent(agent)

    def kill_agent(self, agent: AgentHost) -> None:
        """An agent's process ends; it is restarted after a while."""
        agent.end()
        self._restart_later(agent)

    def _agent_breaks(self) -> None:
        if self.rng.choice(self.world.sidecars).agent.break_connections():
            self.kernel.fired["agent's stream broke"] += 1

    def _client_moves(self) -> None:
        client = self.rng.choice(self.world.clients)
        if not client.ended:
            self.kernel.fired["client moved"] += 1
            client.move()

    def _cancel(self) -> None:
        self.rng.choice(self.world.clients).cancel()

    def _move(self) -> None:
        ids = [host.voter.disk.identity for host in self.world.hosts if host.voter is not None]
        if len(ids) > self.world.options.voters > 1:
            self.kernel.fired["handoff to be moved"] += 1
            task = self.rng.choice([*self.world.works])
            self.world.operator.move(task, tuple(self.rng.sample(ids, self.world.options.voters)))

    # --- the end ----------------------------------------------------------------------------------------------

    def heal(self) -> None:
        """Nothing strikes any more, and what was broken works; who stands still goes on when its pause is over."""
        self.striking = False
        self.kernel.fuse = 0
        self.world.network.faulty = False
        self.world.network.apart, self.world.network.lag_us = {}, {}
        for host in self.world.hosts:
            if host.voter is not None:
                host.voter.disk.go_on()
            self.restart(host)
        for car in self.world.sidecars:
            self.restart(car.agent)
