"""What a run says while its owner cannot reach its voters: a stand-in for the hand, until the session claims anew.

``bridge.lapse.HeldOutput`` keeps it and says what of it may still be said. The run's pursuit writes here as it
would write to its hand; once the new claim is committed, what is left goes into the journal of the new hand, with
what was to happen at each commit. This file must not decide who owns a handoff. The failure it must not add:
something that was to happen once an entry is durable, and happens although that entry was never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.handoff import Handoff, State
from bridge.journal import Draft, Entry, Kind, chain, tip_of
from bridge.jsontext import write
from bridge.lapse import HeldOutput

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.pursuit import Pursuit
    from tests.simulation.waits import Then
    from tests.unit.a2a.model_scripts import State as Made


class Lapse:
    """One hand's lapse, and its attempts to come back.

    Args:
        hand: the owner whose lease has lapsed; from now on nothing is written to it.
        pursuit: of the run that goes on.

    Attributes:
        handoff, log: as the run sees them: what is held stands there as an entry that it may never become.
        lost: somebody else has gone on.
        full: there was no room: the run is not listened to.
        settled: never: so nothing is concluded from silence.
    """

    settled = False

    def __init__(self, hand: Hand, pursuit: Pursuit) -> None:
        self.car, self.task, self.fence, self.sets = hand.car, hand.task, hand.fence, hand.sets
        self.handoff, self.pursuit = hand.handoff, pursuit
        self.log = list(hand.log)
        self.lost = self.full = False
        base = tip_of(hand.task, hand.log[: hand.committed])
        proposed = [Draft(entry.kind, entry.body or b"") for entry in hand.log[hand.committed :]]
        self._held = HeldOutput(base, self.car.world.options.held_bytes, proposed)
        self._base, self._proposed = base.seq, len(self._held.drafts)
        self._unsaid = [entry.seq for entry in hand.log[hand.committed :] if entry.kind is Kind.VOTERS]
        self._thens = hand.waits.taken()
        self._found = self._sent = self._at = 0
        self._made: Made | None = None
        self.pursuit.hand = self
        self.car.lapses[self.task] = self

    # --- what its pursuit asks of a hand ----------------------------------------------------------------------

    def fresh(self) -> bool:
        """No new effects, no fresh reads."""
        return False

    def write(self, drafts: Sequence[Draft], then: Then | None = None) -> int:
        """Hold; ``then`` happens once that is committed after all. Returns the position, 0 without room."""
        fired = self.car.kernel.fired
        if self.full or not self._held.hold(*drafts):
            fired["buffer full"] += not self.full
            self.full = True
            self.pursuit.hold_up()
            return 0
        fired["lapsed output held"] += 1
        for entry in chain(self.handoff.tip, self.fence, 0, drafts):
            self.handoff.apply(entry, trusted=True)
            self.log.append(entry)
        at = self.handoff.tip.seq
        if then is not None:
            self._thens.append((at, then))
        return at

    def when_committed(self, seq: int, then: Then) -> None:
        """Do something once a position is committed."""
        self._thens.append((seq, then))

    def told(self, made: Made) -> None:
        """A run of which nothing was missed has ended."""
        self._made = made

    def drop(self) -> None:
        """Somebody else has gone on: nothing of it is shown, and the run is stopped."""
        self.lost = True
        self.pursuit.stop()
        del self.car.lapses[self.task]

    # --- its way back -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Claim anew, as long as nobody is known to have gone on."""
        car = self.car
        if self.task in car.hands or not car.session.may_write(self.sets):
            return
        stored = car.nearest(self.task)
        if stored.view.purged:
            self._parted()
            return
        last = stored.entries[stored.view.committed - 1] if stored.view.committed else None
        if last is not None and last.fence > self.fence and last.fence.session != car.session.name:
            self._parted()
        else:
            car.stand(self.task, "contact")

    def reopen(self, adopted: Sequence[Entry], handoff: Handoff) -> list[Draft] | None:
        """What a new fence opens with behind its ``claimed``; None where somebody else has gone on."""
        rest = self._held.flushable(self.car.session.name, adopted)
        if rest is None:
            self._parted()
            return None
        drafts = self._held.drafts
        self._found, self._sent = len(drafts) - len(rest), len(drafts)
        opening = [self._bound(adopted, handoff)] if self._binds(adopted, handoff, rest) else []
        self._at = len(adopted) + 1 + len(opening)
        return [*opening, *drafts[self._found :]]

    def _binds(self, adopted: Sequence[Entry], handoff: Handoff, rest: Sequence[Draft]) -> bool:
        # A claim ends every binding. The run was bound by this session, if it was, and by nobody else.
        if handoff.state not in (State.RUNNING, State.CLAIMED) or (rest and rest[0].kind is Kind.BOUND):
            return False
        bound = next((entry for entry in reversed(adopted) if entry.kind is Kind.BOUND), None)
        return bound is not None and bound.fence.session == self.car.session.name

    def _bound(self, adopted: Sequence[Entry], handoff: Handoff) -> Draft:
        body: dict[str, Any] = {**(handoff.bound or {}), "fresh": False}
        return Draft(Kind.BOUND, write(body))

    def _parted(self) -> None:
        self.car.kernel.fired["held output dropped: another went on"] += len(self._held.drafts) > self._proposed
        self.drop()

    def written(self, hand: Hand) -> None:
        """What was left stands in the journal of a candidate."""
        if self._made is not None and hand.handoff.terminal is not None:
            hand.told(self._made)

    def land(self, hand: Hand) -> None:
        """The claim is committed: what has been said since follows, and the run's words go there from now on."""
        self.car.kernel.fired["held output flushed"] += len(self._held.drafts) > self._proposed
        self.pursuit.hand = hand
        del self.car.lapses[self.task]
        count, end = len(self._held.drafts), 0
        if count > self._sent:
            end = hand.write(self._held.drafts[self._sent :])
            if self._made is not None and hand.handoff.terminal is not None:
                hand.told(self._made)
        for at, then in self._thens:
            index = at - self._base - sum(seq <= at for seq in self._unsaid)
            if index <= self._sent:
                hand.when_committed(self._at + max(0, index - self._found), then)
            elif end:
                hand.when_committed(end - count + index, then)
        if self.full and hand.lapse is not None:
            hand.lapse.full = True  # it has lapsed again already
        elif self.full:
            self.pursuit.go_on()
