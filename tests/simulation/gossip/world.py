"""Members of a gossiping cluster in virtual time: the real rules of ``bridge.gossip`` over a network that loses.

One seed drives everything. A member is a process that can be killed, paused and begun again; all that survives is
the number of its life. Messages are JSON values; each is written to be counted, and what arrives is what was sent.
This file must not know what a good outcome is. The failure it prevents: a rule that converges on paper, or only
while nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from bridge.gossip.draws import Draws
from bridge.gossip.effect import Effect, NameTaken, OwnerHeard, Send, StoreLife
from bridge.gossip.member import Incarnation, Role, State, Told
from bridge.gossip.pace import Pace
from bridge.gossip.roster import Moved
from bridge.gossip.swim import Gossip
from bridge.jsontext import write
from tests.simulation.kernel import MS, Kernel, Process

SECOND = 1_000 * MS


class Node(Process):
    """One member.

    Attributes:
        number: of it.
        gossip: its machine in this life.
        lives: what its disk says.
        tick_us: when it is to be called next.
    """

    def __init__(self, world: World, number: int) -> None:
        super().__init__(f"n{number:04}")
        self.number = number
        self.url = f"http://10.0.{number // 250}.{number % 250 + 1}:8473"
        self.lives = 0
        self.tick_us = 0
        self._world = world
        self.gossip: Gossip
        self.start()

    def start(self) -> None:
        """Begin a life."""
        self.lives += 1
        world = self._world
        me = Told(
            self.name, Incarnation(self.lives, 0), f"{self.name}-{self.lives}", Role.STANDBY, "writers", self.url,
            self.url, ready=True, capacity=8,
        )  # fmt: skip
        seeds = [f"http://10.0.0.{seed + 1}:8473" for seed in range(world.seeds)]
        self.gossip = Gossip(me, seeds, self.clock_ms(), world.draw(), pace=world.pace)

    def clock_ms(self) -> int:
        """Its own monotonic clock: it means nothing to others."""
        return self._world.kernel.now // MS + 1_000_003 * (self.number + 1)


class World:
    """A cluster.

    Args:
        seed: of all chance.
        count: of members.
        loss: of each message.
        pace: of every member.
        seeds: how many of the first members everybody greets.

    Attributes:
        kernel: virtual time.
        nodes: every member, living or not.
        held: by observer's name, whom it does not hold for living.
        holders: how many living members hold each (state, name).
        verdicts: how many such verdicts there are, by state.
        heard: how many times the owner of each task was news to somebody.
        first: when each (state, name) was first held by anybody, in microseconds.
        cost: messages and bytes that were sent, by kind.
        side: members' sides of a partition; who is on none is on side 0.
        deaf: names that hear nothing.
        lag_us: by how much everything is late that is sent to a name.
    """

    def __init__(
        self, seed: int, count: int, *, loss: float = 0.0, pace: Pace | None = None, seeds: int = 3
    ) -> None:
        self.kernel = Kernel(seed)
        self.pace, self.loss, self.seeds = pace or Pace(), loss, seeds
        self.held: dict[str, dict[str, State]] = {}
        self.holders: Counter[tuple[State, str]] = Counter()
        self.verdicts: Counter[State] = Counter()
        self.heard: Counter[str] = Counter()
        self.first: dict[tuple[State | None, str], int] = {}
        self.cost: Counter[str] = Counter()
        self.side: dict[str, int] = {}
        self.deaf: dict[str, None] = {}
        self.lag_us: dict[str, int] = {}
        self.nodes = [Node(self, number) for number in range(count)]
        self._by_url = {node.url: node for node in self.nodes}
        for node in self.nodes:
            self._schedule(node)

    def draw(self) -> int:
        """64 random bits."""
        return self.kernel.rng.getrandbits(64)

    # What happens to members.

    def acquaint(self) -> None:
        """Everybody knows everybody, as after a long time: joining a large cluster is measured for itself."""
        words = [node.gossip.me for node in self.nodes]
        for node in self.nodes:
            draws = Draws(self.draw())
            for word in words:
                if word.name != node.name:
                    node.gossip.roster.hear_told(word, node.clock_ms(), draws)

    def kill(self, node: Node) -> None:
        """It is gone, without a word."""
        self.kernel.fired["kill"] += 1
        node.end()
        for name, state in self.held.pop(node.name, {}).items():
            self._holds(state, name, -1)

    def restart(self, node: Node) -> None:
        """It begins again, with what its disk says."""
        self.kernel.fired["restart"] += 1
        if node.alive:
            self.kill(node)
        node.begin()
        node.start()
        self._schedule(node)

    def pause(self, node: Node, us: int) -> None:
        """It stands still; what comes waits."""
        self.kernel.fired["pause"] += 1
        node.pause(self.kernel.now + us)

    def part(self, names: Iterable[str]) -> None:
        """Nothing passes between these and the others."""
        self.kernel.fired["partition"] += 1
        self.side = dict.fromkeys(names, 1)

    def heal(self) -> None:
        """Everything passes again, and in time."""
        self.side, self.deaf, self.lag_us, self.loss = {}, {}, {}, 0.0

    # What goes on.

    def run(self, us: int, until: Callable[[], bool] | None = None) -> bool:
        """Let so much time pass, or less if something has come about; whether it has."""
        end = self.kernel.now + us
        while self.kernel.now < end and (until is None or not until()):
            assert self.kernel.step()
            self.kernel.trace.clear()  # large worlds have long ones, and nobody looks at them
        return until is not None and until()

    def living(self) -> list[Node]:
        """Members that are there."""
        return [node for node in self.nodes if node.alive]

    def wrong(self) -> list[tuple[str, str, State]]:
        """Who holds a living member for anything but alive."""
        there = {node.name for node in self.living()}
        return [
            (observer, name, state)
            for observer in sorted(self.held)
            for name, state in sorted(self.held[observer].items())
            if name in there
        ]

    def agreed(self) -> bool:
        """Whether all living members have equal tables of who lives."""
        return len({node.gossip.roster.buckets.root for node in self.living()}) == 1

    def carry_out(self, node: Node, effects: list[Effect]) -> None:
        """Do what a member's rules want done."""
        for effect in effects:
            match effect:
                case Send():
                    self._send(node, effect)
                case Moved(name, _, after):
                    held = self.held.setdefault(node.name, {})
                    before = held.pop(name, None)
                    if before is not None:
                        self._holds(before, name, -1)
                    if after is not None and after is not State.ALIVE:
                        held[name] = after
                        self._holds(after, name, 1)
                    self.first.setdefault((after, name), self.kernel.now)
                case OwnerHeard(record):
                    self.heard[record.task] += 1
                case StoreLife(life):
                    node.lives = max(node.lives, life)
                case NameTaken():
                    self.kernel.fired["name taken"] += 1
        self._schedule(node)

    def _holds(self, state: State, name: str, count: int) -> None:
        self.holders[state, name] += count
        self.verdicts[state] += count

    def _send(self, node: Node, send: Send) -> None:
        size = len(write(send.message))
        self.cost["messages"] += 1
        self.cost["bytes"] += size
        self.cost[f"{send.message['kind']} messages"] += 1
        self.cost["largest"] = max(self.cost["largest"], size)
        to = self._by_url.get(send.url)
        rng = self.kernel.rng
        if to is None or self.side.get(node.name, 0) != self.side.get(to.name, 0) or to.name in self.deaf:
            self.kernel.fired["message kept"] += 1
        elif self.loss and rng.random() < self.loss:
            self.kernel.fired["message lost"] += 1
        else:
            delay = 200 + int(rng.random() * 1_800) + self.lag_us.get(to.name, 0)
            self.kernel.arrive(delay, to, 0, "message", self._arrive, (to, send.message))

    def _arrive(self, node: Node, message: object) -> None:
        self.carry_out(node, node.gossip.receive(message, node.clock_ms(), self.draw()))

    def _schedule(self, node: Node) -> None:
        due = self.kernel.now + max(0, node.gossip.due_ms - node.clock_ms()) * MS
        if not self.kernel.now < node.tick_us <= due:
            node.tick_us = due
            self.kernel.after(due - self.kernel.now, node, "tick", self._tick, node, due)

    def _tick(self, node: Node, due: int) -> None:
        if node.tick_us == due:
            node.tick_us = 0
            self.carry_out(node, node.gossip.tick(node.clock_ms(), self.draw()))
