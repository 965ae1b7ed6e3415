"""One handoff at one sidecar: the real proposer as candidate and owner, and the fold of what it holds.

A shell around ``bridge.proposer``: effects go out as messages, answers come back as news, drafts become entries,
and only what is committed is acted upon. This file must not contain a rule about journals. The failure that a
shell can add, and that this one must not: to act, or to show, before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bridge.handoff import Handoff, State
from bridge.journal import Draft, Entry, Fence, Kind
from bridge.jsontext import write
from bridge.placement import MEMBERS
from bridge.proposal import (
    Began,
    Committed,
    Effect,
    Elapsed,
    Event,
    Lost,
    Opened,
    OpenJournal,
    PrefixRead,
)
from bridge.proposer import Proposer
from bridge.quorum import Appended, Refusal, Refused
from bridge.tombstone import tombstone_in
from bridge.voterset import Voters
from tests.simulation.lapse import Lapse
from tests.simulation.membership import Place
from tests.simulation.pursuit import GIVEN_UP, Pursuit
from tests.simulation.sending import dispatch, dispatches, send
from tests.simulation.standing import Standing
from tests.simulation.waits import Waits

if TYPE_CHECKING:
    from tests.simulation.sidecar import Sidecar
    from tests.unit.a2a.model_scripts import State as Made

Json = dict[str, Any]


class Hand:
    """A candidacy, and the ownership that may come of it.

    Args:
        car: the sidecar that wants it.
        task: which handoff.
        fence: that it claims.
        reason: why it is claimed.
        place: where it claims, and what a ``dispatched`` of its own says of that.
        lapse: what is to be said once it is owned again.

    Attributes:
        proposer: the rules.
        handoff: fold of the proposer's journal.
        owner: its claim is committed: it may act.
        lost: this fence is over for this sidecar.
        moved_us: when it stood, or as a candidate came a step further.
        standing: with its voters.
        lapse: stands in for it while its run's output is held back.
    """

    def __init__(
        self, car: Sidecar, task: str, fence: Fence, reason: str, place: Place, lapse: Lapse | None = None
    ) -> None:
        self.car, self.task, self.fence, self.reason, self.lapse = car, task, fence, reason, lapse
        self._names = place.names
        self.proposer = Proposer(task, fence, place.sets, car.world.options.bounds)
        self.handoff = Handoff.absent(task)
        self.owner = self.lost = self._released = False
        self.moved_us = car.kernel.now
        self.standing = Standing(self)
        self.pursuit: Pursuit | None = None
        self.recorded: dict[str, int] = {}
        self.waits: Waits = Waits()

    @property
    def log(self) -> list[Entry]:
        """The journal as this sidecar holds it, committed or not."""
        return self.proposer.log

    @property
    def committed(self) -> int:
        """Up to where it may be shown."""
        return self.proposer.committed

    @property
    def settled(self) -> bool:
        """All that it wrote is committed."""
        return self.owner and self.lapse is None and self.committed == len(self.log)

    def begin(self) -> None:
        """Stand for it."""
        self.tell(Began(self.car.nearest(self.task).view.tip.fence))
        if dispatches(self):
            dispatch(self)

    def tell(self, news: Event) -> None:
        """News for the rules; what they want is carried out in order."""
        for effect in self.proposer.handle(news):
            if self.lost:
                return
            self._carry_out(effect)

    @property
    def sets(self) -> tuple[Voters, ...]:
        """The voter sets whose majorities count for it now."""
        return self.proposer.sets

    def heard(self, sent_ms: int, voter: str, news: Event, stands: bool) -> None:
        """A voter has answered what was sent at ``sent_ms``; whether it stands by this session."""
        answer = getattr(news, "answer", None)
        if not self.lost:
            self.standing.answered(sent_ms, voter, answer)
        if isinstance(answer, Refused) and (stone := tombstone_in(self.task, answer)) is not None:
            self.car.bury(stone)
        if stands:
            self.car.session.answered(voter, sent_ms)
        if not self.lost:
            if isinstance(answer, Appended) or (isinstance(news, PrefixRead) and news.entries):
                self.moved_us = self.car.kernel.now
            self.tell(news)

    def contact(self, voter: str) -> None:
        """A voter stands by the session again, that did not for a while."""
        if self.owner and self.lapse is not None:
            self.car.come_back(self)
        elif self.owner:
            self.standing.prove((voter,))

    def tick(self) -> None:
        """Some time has passed."""
        if self.owner and self.lapse is None and self.standing.hopeless():
            self.car.kernel.fired["fenced owner claimed anew"] += 1
            if self.pursuit is None:
                self.car.come_back(self)
                return
            self.lapse = Lapse(self, self.pursuit)
        if self.standing.silent():
            self.tell(Elapsed())
        if self.owner and not self.lost:
            self.standing.look()
            if self.lapse is not None:
                self.car.come_back(self)
            elif self.standing.change_due():
                self._append([Draft(Kind.VOTERS, write(self.standing.taken_over()))])

    def fresh(self) -> bool:
        """Whether it may begin effects and call its reads fresh."""
        # What it gave up may be another's before it hears that this is committed.
        if not self.owner or self.lost or self.lapse is not None or self._released:
            return False
        return self.standing.fresh()

    def tells(self) -> bool:
        """Whether it knows all of the handoff that anybody has been shown."""
        # A voter that knows alone what is committed may have told somebody before its owner has heard of it.
        return self.fresh() and all(len(voters) > 1 for voters in self.sets)

    def write(self, drafts: Sequence[Draft], then: Callable[[], None] | None = None) -> int:
        """Append, or hold back while the lease has lapsed.

        Args:
            drafts: in order.
            then: happens once all of that is committed.

        Returns:
            The position, 0 where there was no room.
        """
        if self.pursuit is not None and self.lapse is None and not self.car.session.may_write(self.sets):
            self.lapse = Lapse(self, self.pursuit)
        if self.owner and self.lapse is not None:
            return self.lapse.write(drafts, then)
        return self._append(drafts, then)

    def _append(self, drafts: Sequence[Draft], then: Callable[[], None] | None = None) -> int:
        before = len(self.log)
        effects = self.proposer.handle(Opened(self.car.clock.wall_ms(), drafts))
        for entry in self.log[before:]:
            self.handoff.apply(entry, trusted=True)
            self._released = entry.kind in GIVEN_UP or (self._released and entry.kind is not Kind.CLAIMED)
        at = len(self.log)
        self.waits.add(at, then)
        for effect in effects:
            self._carry_out(effect)
        return at

    def when_committed(self, seq: int, then: Callable[[], None]) -> None:
        """Do something once a position is committed."""
        if self.committed >= seq:
            then()
        elif self.owner and self.lapse is not None:
            self.lapse.when_committed(seq, then)
        else:
            self.waits.add(seq, then)

    def told(self, made: Made) -> None:
        """A run of which nothing was missed has ended in what was written last."""
        if self.owner and self.lapse is not None:
            self.lapse.told(made)
        else:
            self.car.world.watch.told(self.task, self.log[-1].hash, made)

    def drop(self) -> None:
        """It is over here: nothing more is written, shown or followed under this fence."""
        self.lost = True
        self.waits.taken()
        if self.pursuit is not None and self.lapse is None:
            self.pursuit.stop()
        self.car.dropped(self)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case OpenJournal():
                self._open(effect.entries)
            case Committed():
                self._moved(effect.seq)
            case Lost():
                self.car.promised(self.task, effect.promised.n)
                if self.pursuit is not None and effect.reason == Refusal.FENCED:
                    self._fenced(self.pursuit)
                self.drop()
            case _:
                send(self, effect)

    def _fenced(self, pursuit: Pursuit) -> None:
        # Whoever was promised more may never commit a claim: until one is known to be, the run goes on unheard.
        over = self.handoff.state is State.ORPHANED or (self.handoff.terminal is not None and self.settled)
        if self.lapse is None and not over:
            self.car.kernel.fired["fenced owner held on"] += 1
            self.lapse = Lapse(self, pursuit)

    def _open(self, entries: Sequence[Entry]) -> None:
        drafts = [Draft(Kind.CLAIMED, write({"owner": self.car.name, "reason": self.reason}))]
        if entries:
            self.handoff = Handoff.fold(self.task, entries)
        else:
            body = self.car.front.wanted.get(self.task)
            if body is None:
                self.drop()  # nobody has it, and nobody here knows what it was
                return
            drafts.insert(0, Draft(Kind.DISPATCHED, write({**body, **self._names})))
        self.standing.opened = len(entries) + len(drafts)
        if self.lapse is not None:
            said = self.lapse.reopen(entries, self.handoff)
            if said is None:
                self.drop()
                return
            drafts += said
        self._append(drafts)
        if self.lapse is not None:
            self.lapse.written(self)

    def _moved(self, seq: int) -> None:
        watch = self.car.world.watch
        watch.committed(self, seq)
        if not self.owner:
            self.owner = True
            self.car.kernel.note(f"{self.car.name} owns {self.task} under {self.fence.n} ({self.reason})")
            watch.owns(self)
            self.recorded = {body["id"]: len(self.log) for body in self.handoff.inputs}
            if self.lapse is None and self.task != MEMBERS:  # the agents have no part in the list
                self.pursuit = Pursuit(self)
                self.car.front.owned(self)
                self.pursuit.decide()
            elif self.lapse is not None:
                lapse, self.lapse = self.lapse, None
                self.pursuit = lapse.pursuit
                lapse.land(self)
                if not self.lost:
                    self.car.front.owned(self)
        for then in self.waits.ready(seq):
            if not self.lost:
                then()
        if not self.lost:
            self.car.front.moved(self.task)
