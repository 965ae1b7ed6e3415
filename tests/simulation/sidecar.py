"""A sidecar's process: a session that renews, handoffs that it owns or wants, a sweep, a front, perhaps a voter.

What it may do is decided by ``bridge``: leases say when to try, ``recovery.decide`` says what. This file must not
contain a rule about journals; it is the shell that ``sidecar.runtime`` is in production, without sockets. The
failure it must not add: two proposers of one session under one fence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bridge.handoff import FINAL, Handoff
from bridge.journal import Fence
from bridge.lease import Lease, may_write, renewal_due
from bridge.proposal import Event
from bridge.quorum import VoterView
from bridge.recovery import BoundRun, Situation, Wait, decide, rank
from tests.simulation.agents import AgentHost
from tests.simulation.clocks import HostClock
from tests.simulation.disk import Stored
from tests.simulation.front import Front
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS, Process
from tests.simulation.options import MARGIN_MS, TTL_MS
from tests.simulation.pursuit import LIMITS
from tests.simulation.voter import Asked, Reply, Session, Voter

if TYPE_CHECKING:
    from tests.simulation.database import Database
    from tests.simulation.world import World

TICK_MS = 120
CANDIDACY_MS = 700


class Sidecar(Process):
    """One sidecar.

    Attributes:
        voter: of this host, where the voters are peers.
        hands: what it owns or wants, by task.
        regained_ms: when its lease last began to live after a lapse.
    """

    patience_us = 60 * MS

    def __init__(self, world: World, name: str, *, votes: bool) -> None:
        super().__init__(name, mortal=True)
        self.world, self.kernel = world, world.kernel
        self.clock = HostClock(world.kernel, name, world.options.rates.get(name, 1.0))
        self.agent = AgentHost(world, f"agent-{name}")
        self.voter = Voter(world, self, self.clock, name) if votes else None
        self.hands: dict[str, Hand] = {}
        self.front = Front(self)
        self._boots = 0
        self._ticks = 0
        self._forget()

    def _forget(self) -> None:
        self._acked: dict[str, int] = {}
        self._used: dict[str, int] = {}
        self._claimable_since: dict[str, int] = {}
        self._not_before: dict[str, int] = {}
        self._folds: dict[str, Handoff] = {}
        self._renewal_ms = -TTL_MS
        self.remote: dict[str, Stored] = {}
        self.held: dict[str, bool] = {}
        self.hung: dict[str, bool] = {}
        self.regained_ms = 0

    def end(self) -> None:
        """Killed."""
        super().end()
        for hand in self.hands.values():
            hand.lost = True
        self.hands = {}
        self.front.crash()
        if self.voter is not None:
            self.voter.crash()

    def begin(self) -> None:
        """A new life, under a new session."""
        super().begin()
        self._boots += 1
        self._forget()
        self.session = Session(f"{self.name}.{self._boots}", self.name, self._boots)
        self.regained_ms = self.clock.ms()
        if self.voter is not None:
            self.voter.boot()
        self.later(self.kernel.rng.randint(1, TICK_MS), self._tick)

    def take(self, session: Session, task: str, asked: Asked, reply: Reply) -> None:
        """A request to the voter of this host has arrived."""
        assert self.voter is not None
        self.voter.ask(session, task, asked, reply)

    def later(self, ms: int, run: Callable[[], None]) -> None:
        """Something this life does later."""
        self.kernel.after(ms * MS, self, f"{self.name} {run.__name__}", run)

    # --- its session ------------------------------------------------------------------------------------------

    def majority(self, times: Mapping[str, int]) -> int:
        """The latest time that a majority of the voters has reached; -1 where none has."""
        ids = self.world.voter_ids
        return sorted((times.get(voter, -1) for voter in ids), reverse=True)[len(ids) // 2]

    def _lease(self) -> Lease:
        return Lease(self.session.name, self.majority(self._acked), TTL_MS, MARGIN_MS)

    def may_write(self) -> bool:
        """Whether its lease lives, as its owner counts."""
        since = self.majority(self._acked)
        return since >= 0 and may_write(Lease(self.session.name, since, TTL_MS, MARGIN_MS), self.clock.ms())

    def renewed(self, voter: str, sent_ms: int) -> None:
        """A voter has heard what was sent at that time."""
        lapsed = not self.may_write()
        self._acked[voter] = max(self._acked.get(voter, -1), sent_ms)
        if lapsed and self.may_write():
            self.regained_ms = self.clock.ms() if self._boots else 0
            self.kernel.fired["lease lapsed"] += any(hand.owner for hand in self.hands.values())
            for hand in list(self.hands.values()):
                if hand.owner:
                    hand.prove()

    def _renew(self) -> None:
        self._renewal_ms = now = self.clock.ms()
        for voter_id in self.world.voter_ids:
            host = self.world.voter_hosts[voter_id]
            self.world.network.send(self, host, 0, f"{self.name}>{host.name} renew", self._renewal_arrives,
                                    host, voter_id, self.session, self.life, now)  # fmt: skip

    def _renewal_arrives(
        self, host: Sidecar | Database, voter_id: str, session: Session, life: int, sent: int
    ) -> None:
        voter = host.voter
        if voter is None or voter.disk.identity != voter_id:
            return
        voter.hear(session)
        label = f"{host.name}>{self.name} renewed"
        self.world.network.send(host, self, life, label, self.renewed, voter_id, sent)

    # --- claims -----------------------------------------------------------------------------------------------

    def stand(self, task: str, reason: str) -> Hand | None:
        """Want a handoff; None where it is wanted already, or was in vain a moment ago."""
        if task in self.hands or self.kernel.now < self._not_before.get(task, 0):
            return None
        stored = self.nearest(task)
        known = max(stored.view.promised.n, self._used.get(task, 0))
        fence = Fence(known + 1, self.session.name)
        self._used[task] = fence.n
        hand = self.hands[task] = Hand(self, task, fence, reason)
        hand.begin()
        return hand

    def promised(self, task: str, n: int) -> None:
        """Somebody was promised this fence."""
        self._used[task] = max(self._used.get(task, 0), n)

    def dropped(self, hand: Hand) -> None:
        """A hand is over; losers back off for a while."""
        if self.hands.get(hand.task) is hand:
            del self.hands[hand.task]
        pause = 20 + int(self.kernel.rng.random() * 250)
        self._not_before[hand.task] = self.kernel.now + pause * MS
        self._claimable_since.pop(hand.task, None)

    def ask(self, hand: Hand, asked: Asked) -> None:
        """Send a request to a voter; its answer comes back to this hand in this life."""
        world, host = self.world, self.world.voter_hosts[asked.voter]
        life, sent_ms, session = self.life, self.clock.ms(), self.session
        name = type(asked).__name__

        def reply(answer: Event) -> None:
            label = f"{host.name}>{self.name} {name}"
            world.network.send(host, self, life, label, hand.heard, sent_ms, asked.voter, answer)

        label = f"{self.name}>{host.name} {name}"
        world.network.send(self, host, 0, label, host.take, session, hand.task, asked, reply)

    # --- the sweep --------------------------------------------------------------------------------------------

    def nearest(self, task: str) -> Stored:
        """A journal as the nearest voter is known to have it."""
        if self.voter is not None:
            return self.voter.durable(task)
        return self.remote.get(task) or Stored(VoterView.empty(task))

    def _tick(self) -> None:
        self._ticks += 1
        now = self.clock.ms()
        if self.hands and renewal_due(Lease(self.session.name, self._renewal_ms, TTL_MS), now):
            self._renew()
        for hand in list(self.hands.values()):
            hand.tick()
            if hand.pursuit is not None and not hand.lost:
                hand.pursuit.tick()
            if not hand.owner and self.kernel.now - hand.began_us > CANDIDACY_MS * MS and not hand.lost:
                hand.drop()
        self.front.tick()
        if self._ticks % 2 == 0:
            self._sweep()
        self.later(TICK_MS, self._tick)

    def _sweep(self) -> None:
        if self.voter is None:
            self._look()
            tasks = list(self.remote)
        else:
            tasks = list(self.voter.disk.synced)
        for task in tasks:
            if task not in self.hands:
                self._consider(task, self.nearest(task))

    def ended(self, task: str, committed: int) -> bool:
        """Whether the journal here has an end that is known to be committed."""
        fold = self._fold(task, self.nearest(task))
        return fold.state in FINAL and fold.tip.seq == committed

    def reaches_run(self, bound: dict[str, Any] | None) -> bool:
        """Whether a run may be at the agent beside this sidecar, and is not known to hang."""
        if bound is None or bound["endpoint"] != self.agent.name or not self.agent.alive:
            return False
        return bool(bound["task"]) and not self.hung.get(bound["task"])

    def _look(self) -> None:
        database = self.world.database
        assert database is not None
        label = f"{self.name}>{database.name} look"
        self.world.network.send(self, database, 0, label, database.show, self, self.life, self.session.name)

    def looked(self, journals: dict[str, tuple[Stored, bool]]) -> None:
        """What the database has, and whether somebody living holds it."""
        for task, (stored, held) in journals.items():
            known = self.remote.get(task)
            if known is None or known.view.committed <= stored.view.committed:
                self.remote[task] = stored
                self.held[task] = held
                self.front.moved(task)

    def _consider(self, task: str, stored: Stored) -> None:
        if not stored.entries:
            return
        if self.blocked(task, stored) and not self.world.eager():
            self._claimable_since.pop(task, None)
            return
        now = self.clock.ms()
        since = self._claimable_since.setdefault(task, now)
        handoff = self._fold(task, stored)
        mine = stored.view.tip.fence.session.startswith(self.name + ".")
        place = rank(self.world.names, task).index(self.name)
        seen = Situation(
            claimable=True,
            mine=mine,
            agent_ready=self.agent.alive,
            bound_run=BoundRun.UNKNOWN if self.reaches_run(handoff.bound) else BoundRun.GONE,
            rank=place,
            orphaned_ms=now - since,
        )
        decision = decide(handoff, seen, LIMITS)
        if not isinstance(decision, Wait):
            self.stand(task, type(decision).__name__.lower())
        elif now - since > 300 + place * 200 and self._must_learn(task, stored, handoff):
            # Nobody living tells it what of its journal is committed: whoever claims learns it, and so do all.
            self.stand(task, "learn")

    def blocked(self, task: str, stored: Stored | None = None) -> bool:
        """Whether somebody living seems to hold a handoff."""
        if self.voter is None:
            return self.held.get(task, False)
        return self.voter.blocks(stored or self.nearest(task), self.session.name)

    def _must_learn(self, task: str, stored: Stored, handoff: Handoff) -> bool:
        if stored.view.committed < stored.view.tip.seq:
            return True
        return self.voter is not None and handoff.state not in FINAL and not self.voter.heard.get(task)

    def _fold(self, task: str, stored: Stored) -> Handoff:
        fold = self._folds.get(task)
        tip = stored.view.tip
        if fold is None or fold.tip.seq > tip.seq or stored.hash_at(fold.tip.seq) not in (None, fold.tip.hash):
            fold = self._folds[task] = Handoff.absent(task)
        for entry in stored.entries[fold.tip.seq :]:
            fold.apply(entry, trusted=True)
        return fold
