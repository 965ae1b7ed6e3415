"""A sidecar's process: a session that renews, handoffs that it owns or wants, a sweep, a front, perhaps a voter.

What it may do is decided by ``bridge``: leases say when to try, ``recovery.decide`` says what. This file must not
contain a rule about journals; it is the shell that ``sidecar.runtime`` is in production, without sockets. The
failure it must not add: two proposers of one session under one fence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridge.handoff import FINAL, Handoff
from bridge.journal import Fence
from bridge.proposal import Event
from bridge.quorum import VoterView
from bridge.recovery import BoundRun, Situation, Wait, decide, rank
from bridge.session import Renewal
from tests.simulation.agents import AgentHost
from tests.simulation.clocks import HostClock
from tests.simulation.disk import Stored
from tests.simulation.front import Front
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS, Process
from tests.simulation.lapse import Lapse
from tests.simulation.pursuit import LIMITS
from tests.simulation.session import Session
from tests.simulation.voter import Asked, Reply, Voter

if TYPE_CHECKING:
    from tests.simulation.world import World

TICK_MS = 120
CANDIDACY_MS = 700


class Sidecar(Process):
    """One sidecar.

    Attributes:
        voter: of this host, where the voters are peers.
        hands: what it owns or wants, by task.
        session: of this life.
        lapses: what is held back since its lease lapsed, by task.
    """

    patience_us = 60 * MS

    def __init__(self, world: World, name: str, *, votes: bool) -> None:
        super().__init__(name, mortal=True)
        self.world, self.kernel = world, world.kernel
        self.clock = HostClock(world.kernel, name, world.options.rates.get(name, 1.0))
        self.agent = AgentHost(world, f"agent-{name}")
        self.voter = Voter(world, self, self.clock, name) if votes else None
        self.hands: dict[str, Hand] = {}
        self.lapses: dict[str, Lapse] = {}
        self.front = Front(self)
        self._boots = 0
        self._ticks = 0
        self._forget()

    def _forget(self) -> None:
        self._used: dict[str, int] = {}
        self._claimable_since: dict[str, int] = {}
        self._not_before: dict[str, int] = {}
        self._folds: dict[str, Handoff] = {}
        self.remote: dict[str, Stored] = {}
        self.held: dict[str, bool] = {}
        self.hung: dict[str, bool] = {}

    def end(self) -> None:
        """Killed."""
        super().end()
        for hand in self.hands.values():
            hand.lost = True
        for lapse in self.lapses.values():
            lapse.lost = True
        self.hands, self.lapses = {}, {}
        self.front.crash()
        if self.voter is not None:
            self.voter.crash()

    def begin(self) -> None:
        """A new life, under a new session."""
        super().begin()
        self._boots += 1
        self._forget()
        self.session = Session(self, self._boots)
        if self.voter is not None:
            self.voter.boot()
        self.later(self.kernel.rng.randint(1, TICK_MS), self._tick)

    def take(self, renewal: Renewal, task: str, asked: Asked, reply: Reply) -> None:
        """A request to the voter of this host has arrived."""
        assert self.voter is not None
        self.voter.ask(renewal, task, asked, reply)

    def later(self, ms: int, run: Callable[[], None]) -> None:
        """Something this life does later."""
        self.kernel.after(ms * MS, self, f"{self.name} {run.__name__}", run)

    # --- claims -----------------------------------------------------------------------------------------------

    def stand(self, task: str, reason: str) -> Hand | None:
        """Want a handoff; None where it is wanted already, or was in vain a moment ago."""
        if task in self.hands or self.kernel.now < self._not_before.get(task, 0):
            return None
        stored = self.nearest(task)
        known = max(stored.view.promised.n, self._used.get(task, 0))
        fence = Fence(known + 1, self.session.name)
        self._used[task] = fence.n
        hand = self.hands[task] = Hand(self, task, fence, reason, self.lapses.get(task))
        hand.begin()
        return hand

    def come_back(self, hand: Hand) -> None:
        """Claim anew what this session owned when its lease lapsed, once the lease lives again."""
        if self.session.may_write(hand.sets):
            hand.lost = True
            del self.hands[hand.task]
            self._not_before.pop(hand.task, None)
            self.stand(hand.task, "contact")

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

        def reply(answer: Event, stands: bool) -> None:
            label = f"{host.name}>{self.name} {name}"
            world.network.send(host, self, life, label, hand.heard, sent_ms, asked.voter, answer, stands)

        label = f"{self.name}>{host.name} {name}"
        world.network.send(self, host, 0, label, host.take, session.renewal, hand.task, asked, reply)

    # --- the sweep --------------------------------------------------------------------------------------------

    def nearest(self, task: str) -> Stored:
        """A journal as the nearest voter is known to have it."""
        if self.voter is not None:
            return self.voter.durable(task)
        return self.remote.get(task) or Stored(VoterView.empty(task))

    def _tick(self) -> None:
        self._ticks += 1
        self.session.tick()
        for hand in list(self.hands.values()):
            hand.tick()
            if hand.pursuit is not None and not hand.lost:
                hand.pursuit.tick()
            if not hand.owner and self.kernel.now - hand.moved_us > CANDIDACY_MS * MS and not hand.lost:
                hand.drop()
        for lapse in list(self.lapses.values()):
            lapse.tick()
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
