"""A world: everything of one seed put together, its two phases, and what its checkers may ask of it.

First faults strike and only safety is demanded; then everything is healed and every task must finish. This file
wires; it must not decide.
"""

from __future__ import annotations

from typing import Any

from bridge.journal import TERMINAL, Entry
from bridge.jsontext import parse_stored
from bridge.placement import MEMBERS, chosen
from bridge.voterset import Voters, has_majority
from tests.simulation.agents import AgentHost, Work
from tests.simulation.checkers.all import Watch
from tests.simulation.clients import Client
from tests.simulation.database import Database
from tests.simulation.disk import Stored
from tests.simulation.faults import Faults
from tests.simulation.kernel import MS, Kernel
from tests.simulation.late import LateClient
from tests.simulation.membership import formed, lists_of, named_in
from tests.simulation.network import Network
from tests.simulation.operator import Operator
from tests.simulation.options import NAMES, Options, drawn
from tests.simulation.outage import LASTS_MS, Outage
from tests.simulation.outside import Outside
from tests.simulation.reviewer import Reviewer
from tests.simulation.sidecar import Sidecar

Json = dict[str, Any]
HEALED_MS = 30_000
STEPS_MAX = 60_000


class World:
    """One seed's world.

    Args:
        seed: everything follows from it.
        options: instead of those that the seed would draw.

    Attributes:
        voter_hosts: where each voter is, or was.
        operator: changes voters.
        works: what each task is about.
        faulty: faults may strike.
    """

    def __init__(self, seed: int, options: Options | None = None) -> None:
        self.seed = seed
        self.kernel = Kernel(seed)
        self.options = options or drawn(self.kernel.rng)
        self.network = Network(self.kernel, self.options)
        self.watch = Watch(self)
        self.faulty = True
        self.runs = 0
        self.checkpoints = 0
        self.outside = Outside(self)
        self.reviewer = Reviewer(self)
        peers = self.options.voters > 1 or self.options.pair
        self.names = [*NAMES[: self.options.sidecars]]
        self.database = None if peers else Database(self, "db")
        self.sidecars = [Sidecar(self, name, votes=peers) for name in self.names]
        self.hosts: list[Sidecar | Database] = [*self.sidecars]
        if self.database is not None:
            self.hosts.append(self.database)
        self.voter_hosts: dict[str, Sidecar | Database] = {
            host.voter.disk.identity: host for host in self.hosts if host.voter is not None
        }
        self.operator = Operator(self)
        self._events: dict[str, Json | None] = {}
        tasks = self.options.tasks + self.options.outage  # the last one begins when there is no majority
        self.works = {f"t{number}": Work(self, f"t{number}") for number in range(tasks)}
        self.clients: list[Client] = []
        self.faults = Faults(self)
        self.outage = Outage(self)

    @property
    def wild_clocks(self) -> bool:
        """Clocks do what no lease survives: only journals are still protected."""
        return self.options.has("freeze")

    # --- the two phases ---------------------------------------------------------------------------------------

    def run(self) -> World:
        """Live through both phases.

        Raises:
            Broken: a promise was broken.
        """
        self.begin()
        self._live(self.options.safety_ms)
        self.heal()
        if self.outage.since_us:
            self._live(LASTS_MS)
            self.watch.waited()
            self.outage.one_returns()
        self._live(HEALED_MS)
        self.watch.finished()
        return self

    def begin(self) -> None:
        """Everything lives, clients will begin, faults strike."""
        for host in self.hosts:
            host.begin()
            if host.voter is not None and self.listed:
                host.voter.form(formed(tuple(self.names)))
        if not self.clients:
            self._draw_clients()
        self.faults.begin()
        self.outage.begin()

    def heal(self) -> None:
        """From now on nothing fails."""
        self.faulty = False
        self.faults.heal()

    def _draw_clients(self) -> None:
        rng = self.kernel.rng
        for task in [*self.works][: self.options.tasks]:
            for copy in range(2 if self.options.has("twice") and rng.random() < 0.5 else 1):
                self.begin_client(task, 400, "x" * copy)

    def begin_client(self, task: str, within_ms: int, suffix: str = "") -> None:
        """Somebody sends the message that a task begins with, in a while."""
        rng = self.kernel.rng
        kind = LateClient if self.options.has("late") else Client
        client = kind(self, f"client{task[1:]}{suffix}", task, rng.choice(self.sidecars))
        self.clients.append(client)
        self.kernel.after(rng.randint(0, within_ms) * MS, client, f"{client.name} starts", client.start)

    def _live(self, ms: int) -> None:
        kernel, until = self.kernel, self.kernel.now + ms * MS
        while kernel.now < until and kernel.steps < STEPS_MAX:
            if not kernel.step():
                return
            if not kernel.steps % 16 and self._over():
                return

    def _over(self) -> bool:
        if self.options.outage and not self.kernel.fired["majority lost"]:
            return False
        return all(client.done for client in self.clients) and (self.faulty or self.operator.done)

    # --- what its parts ask -----------------------------------------------------------------------------------

    def eager(self) -> bool:
        """Whether a sidecar tries to claim although it believes that a living session stands in the way."""
        eager = self.faulty and self.options.has("eager") and self.kernel.rng.random() < 0.3
        self.kernel.fired["claimed eagerly"] += eager
        return eager

    def saved(self, state: Json) -> None:
        """A run has made a checkpoint: it gets a number, by which its truth is found again."""
        self.checkpoints += 1
        state["number"] = self.checkpoints
        self.watch.saved(self.checkpoints, state)

    def kind_of(self, key: str) -> str:
        """Which ledger has an effect."""
        effects = self.works[key.partition("/")[0]].errand.effects.values()
        return next(effect.kind for effect in effects if effect.key == key)

    def suspects(self) -> bool:
        """Whether a voter takes a living session for dead: fences must do without what leases promise."""
        suspects = self.faulty and self.kernel.chance(self.options.suspicion)
        self.kernel.fired["a living session taken for dead"] += suspects
        return suspects

    def sidecar_of(self, session: str) -> Sidecar | None:
        """Whose session it is."""
        member = session.rpartition(".")[0]
        return next((car for car in self.sidecars if car.name == member), None)

    def agent_of(self, host: Sidecar | Database) -> AgentHost | None:
        """The agent beside it."""
        return host.agent if isinstance(host, Sidecar) else None

    @property
    def listed(self) -> bool:
        """Whether there is a member list."""
        return self.options.voters > 1

    def sets(self) -> list[Voters]:
        """Every voter set that somebody may ask for a majority."""
        found = [(*self.names,)] if self.listed else []
        for task in (MEMBERS, *self.works):
            for _, stored in self.journals(task):
                lists = lists_of(stored) if task == MEMBERS else []
                found += [each.members for each in lists]
                found += [chosen(name, each.members) for each in lists for name in self.works]
                found += [voters for entry in stored.entries if (voters := named_in(entry))]
        return list(dict.fromkeys(found))

    def can_lose(self, host: Sidecar | Database) -> bool:
        """Whether a disk can be lost with a majority of each voter set's disks left."""
        if host.voter is None or not self.listed:
            return False
        kept = [each.voter.disk.identity for each in self.hosts if each.voter is not None and each is not host]
        return has_majority(self.sets(), kept)

    @property
    def majority_lost(self) -> bool:
        """Whether too few disks are left for anything to be committed."""
        kept = [each.voter.disk.identity for each in self.hosts if each.voter is not None]
        return not has_majority(self.sets(), kept)

    def dispatch_body(self, task: str) -> Json:
        """Body of a ``dispatched`` entry: the same from whoever is sent the message."""
        message = {"messageId": f"u-{task}", "role": "ROLE_USER", "parts": [{"text": "go"}]}
        return {"task": task, "handoff": "f" * 64, "intent": {"inputs": {"message": message}}}

    def seed_task(self, task: str) -> Json:
        """The Task that clients are shown before an agent's first event."""
        message = {"messageId": f"u-{task}", "role": "ROLE_USER", "parts": [{"text": "go"}]}
        return {"id": "T", "contextId": "C", "status": {"state": "TASK_STATE_SUBMITTED"}, "history": [message]}

    def event_of(self, entry: Entry) -> Json | None:
        """The event in an entry's body, parsed once."""
        if entry.hash not in self._events:
            body = parse_stored(entry.body) if entry.body is not None else {}
            self._events[entry.hash] = body.get("event")
        return self._events[entry.hash]

    def journals(self, task: str) -> list[tuple[str, Stored]]:
        """A task's journal as each voter's disk has it."""
        return [(host.name, host.voter.durable(task)) for host in self.hosts if host.voter is not None]

    def terminal_of(self, task: str) -> str | None:
        """Hash of the task's committed end."""
        for _, stored in self.journals(task):
            for entry in stored.entries[: stored.view.committed]:
                if entry.kind in TERMINAL:
                    return entry.hash
        return None
