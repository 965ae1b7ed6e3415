"""A sidecar's process: a session that renews, handoffs that it owns or wants, a sweep, a front, perhaps a voter.

What it may do is decided by ``bridge``: leases say when to try, ``recovery.decide`` says what. This file must not
contain a rule about journals; it is the shell that ``sidecar.runtime`` is in production, without sockets. The
failure it must not add: two proposers of one session under one fence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridge.journal import Fence
from bridge.placement import MEMBERS
from bridge.proposal import Event
from bridge.session import Renewal
from bridge.tombstone import Tombstone
from tests.simulation.agents import AgentHost
from tests.simulation.clocks import HostClock
from tests.simulation.disk import Stored
from tests.simulation.drain import Drain
from tests.simulation.front import Front
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS, Process
from tests.simulation.lapse import Lapse
from tests.simulation.looks import Looks, Shown
from tests.simulation.membership import Place, known_sets, place
from tests.simulation.operator import Wanted
from tests.simulation.session import Session
from tests.simulation.sweep import Sweep
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
        looks: what it has seen of journals that its voter does not keep.
        lists_held: which version of the member list each voter has said that it holds.
        session: of this life.
        draining: it claims nothing any more, and is about to end.
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
        self.draining: Drain | None = None
        self.front = Front(self)
        self._boots = 0
        self._ticks = 0
        self._forget()

    def _forget(self) -> None:
        self._used: dict[str, int] = {}
        self._not_before: dict[str, int] = {}
        self.sweep = Sweep(self)
        self.looks = Looks(self)
        self.lists_held: dict[str, int] = {}
        self.hung: dict[str, bool] = {}

    def end(self) -> None:
        """Killed."""
        super().end()
        for hand in self.hands.values():
            hand.lost = True
        for lapse in self.lapses.values():
            lapse.lost = True
        self.hands, self.lapses, self.draining = {}, {}, None
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
        if task in self.hands or self.draining or self.kernel.now < self._not_before.get(task, 0):
            return None
        if self._behind_list() and task != MEMBERS and not self.nearest(task).entries:
            # By its list nothing can be dispatched any more; to try would keep others from it.
            return self.stand(MEMBERS, "learn") if not self.blocked(MEMBERS) else None
        stored = self.nearest(task)
        if stored.view.purged:
            return None
        known = max(stored.view.promised.n, self._used.get(task, 0))
        fence = Fence(known + 1, self.session.name)
        self._hold_own_list()
        spot = place(self.world, self.name, task, self.voter, self.lists_held)
        if stored.entries:
            spot = Place(known_sets(((),) if spot is None else spot.sets, stored), {})
        if spot is None:
            return None  # without a member list nothing can be dispatched here
        self._used[task] = fence.n
        hand = self.hands[task] = Hand(self, task, fence, reason, spot, self.lapses.get(task))
        hand.begin()
        return hand

    def come_back(self, hand: Hand) -> None:
        """Claim anew what this session owned when its lease lapsed, once the lease lives again."""
        if self.session.may_write(hand.sets):
            hand.lost = True
            del self.hands[hand.task]
            self._not_before.pop(hand.task, None)
            self.stand(hand.task, "contact")

    def _hold_own_list(self) -> None:
        # A sidecar whose voter has no part in what it dispatches would never hear of its own list.
        voter = self.voter
        if voter is not None and self.world.listed and voter.stored(MEMBERS) is voter.durable(MEMBERS):
            self.lists_held[voter.disk.identity] = voter.held_list().version

    def _behind_list(self) -> bool:
        """Whether somebody holds a newer member list than the voter here."""
        if self.voter is None or not self.world.listed:
            return False
        held = self.voter.held_list().version
        return 0 < held < max(self.lists_held.values(), default=0)

    def change(self, task: str, wanted: Wanted) -> None:
        """The operator's command: a handoff's voters are to be these."""
        hand = self.hands.get(task)
        if hand is None:
            holder = self.world.sidecar_of(self.nearest(task).view.tip.fence.session)
            if not self.blocked(task):
                hand = self.stand(task, "voters")
            elif holder is not None and holder is not self:
                label = f"{self.name}>{holder.name} voters"
                self.world.network.send(self, holder, 0, label, holder.command, task, wanted)
        if hand is not None:
            hand.standing.wanted = wanted

    def command(self, task: str, wanted: Wanted) -> None:
        """The operator's command, passed on by another sidecar."""
        if task in self.hands:
            self.hands[task].standing.wanted = wanted

    def drain(self) -> None:
        """Hand over what it has, and end."""
        if self.draining is None:
            self.draining = Drain(self)
            self.draining.begin()

    def promised(self, task: str, n: int) -> None:
        """Somebody was promised this fence."""
        self._used[task] = max(self._used.get(task, 0), n)

    def bury(self, stone: Tombstone) -> None:
        """A voter has answered with a tombstone."""
        if self.voter is not None:
            self.voter.bury(stone)
        else:
            self.looks.bury(stone)

    def dropped(self, hand: Hand) -> None:
        """A hand is over; losers back off for a while."""
        if self.hands.get(hand.task) is hand:
            del self.hands[hand.task]
        pause = 20 + int(self.kernel.rng.random() * 250)
        self._not_before[hand.task] = self.kernel.now + pause * MS
        self.sweep.dropped(hand.task)

    def ask(self, hand: Hand, asked: Asked) -> None:
        """Send a request to a voter; its answer comes back to this hand in this life."""
        world, host = self.world, self.world.voter_hosts[asked.voter]
        life, sent_ms, session = self.life, self.clock.ms(), self.session
        name = type(asked).__name__

        def heard(answer: Event, stands: bool, version: int) -> None:
            self.lists_held[asked.voter] = max(version, self.lists_held.get(asked.voter, 0))
            hand.heard(sent_ms, asked.voter, answer, stands)

        def reply(answer: Event, stands: bool) -> None:
            label = f"{host.name}>{self.name} {name}"
            voter = host.voter
            # Whose list it is is the asked voter's word only where it is that voter.
            version = voter.held_list().version if stands and voter is not None and world.listed else 0
            world.network.send(host, self, life, label, heard, answer, stands, version)

        label = f"{self.name}>{host.name} {name}"
        world.network.send(self, host, 0, label, host.take, session.renewal, hand.task, asked, reply)

    # --- the sweep --------------------------------------------------------------------------------------------

    def nearest(self, task: str) -> Stored:
        """A journal as the nearest voter is known to have it."""
        remote = self.looks.nearest(task)
        if self.voter is None:
            return remote
        own = self.voter.durable(task)
        if own.view.purged or remote.view.purged:
            return own if own.view.purged else remote
        # A host that is not, or no more, a voter of it has an old copy or none.
        return remote if remote.view.committed > own.view.committed else own

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
        if self.draining is not None:
            self.draining.tick()
        if self._ticks % 2 == 0:
            self.sweep.run()
        self.later(TICK_MS, self._tick)

    def reaches_run(self, bound: dict[str, Any] | None) -> bool:
        """Whether a run may be at the agent beside this sidecar, and is not known to hang."""
        if bound is None or bound["endpoint"] != self.agent.name or not self.agent.alive:
            return False
        return bool(bound["task"]) and not self.hung.get(bound["task"])

    def show(self, car: Sidecar, life: int, session: str) -> None:
        """Another sidecar looks."""
        assert self.voter is not None
        label, shown = f"{self.name}>{car.name} look", self.looks.shown(session)
        version = self.voter.held_list().version if self.world.listed else 0
        self.world.network.send(self, car, life, label, car.looked, self.voter.disk.identity, version, shown)

    def looked(self, voter: str, version: int, journals: Shown) -> None:
        """Another host has answered a look."""
        self.lists_held[voter] = max(version, self.lists_held.get(voter, 0))
        self.looks.looked(journals)

    def blocked(self, task: str, stored: Stored | None = None) -> bool:
        """Whether somebody living seems to hold a handoff."""
        if self.voter is None:
            return self.looks.held.get(task, False)
        near = stored or self.nearest(task)
        if near is self.looks.remote.get(task):
            return self.looks.held[task]
        if near.view.promised.session == self.session.name and task not in self.lapses:
            # Its claim may stand at voters that this one is not, and keeps everybody else off while it lives.
            return False
        return self.voter.blocks(near, self.session.name)
