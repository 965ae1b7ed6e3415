"""What a sidecar looks through now and then: every journal that it sees and does not own, and what to do about it.

Level-triggered: it is looked at as it is, as often as there is time. ``bridge.recovery.decide`` says what to do;
beyond that somebody claims only to learn what is committed, and asks for a tombstone of what has been quiet for
long. This file must not know how a claim is made. The failure it must not add: a copy that waits for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.handoff import FINAL, Handoff
from bridge.placement import MEMBERS
from bridge.recovery import BoundRun, Situation, Wait, decide, rank
from tests.simulation.disk import Stored
from tests.simulation.kernel import MS
from tests.simulation.pursuit import LIMITS
from tests.simulation.sending import TOMBSTONE

if TYPE_CHECKING:
    from tests.simulation.sidecar import Sidecar


class Sweep:
    """One sidecar's, in one life."""

    def __init__(self, car: Sidecar) -> None:
        self._car = car
        self._claimable_since: dict[str, int] = {}
        self._asked_us: dict[str, int] = {}
        self._folds: dict[str, Handoff] = {}

    def run(self) -> None:
        """Look at everything."""
        car = self._car
        car.looks.look()
        for task in dict.fromkeys((*car.looks.remote, *(car.voter.disk.synced if car.voter is not None else ()))):
            if task not in car.hands:
                self._consider(task, car.nearest(task))

    def ended(self, task: str, committed: int) -> bool:
        """Whether the journal here has an end that is known to be committed."""
        fold = self._fold(task, self._car.nearest(task))
        return fold.state in FINAL and fold.tip.seq == committed

    def dropped(self, task: str) -> None:
        """A candidacy, or an ownership, is over: whoever waits for it begins to count anew."""
        self._claimable_since.pop(task, None)

    def _consider(self, task: str, stored: Stored) -> None:
        car = self._car
        if not stored.entries or task == MEMBERS:
            return
        if car.blocked(task, stored):
            self._claimable_since.pop(task, None)
            if car.world.eager() and self._fold(task, stored).state not in FINAL:
                car.stand(task, "eager")
            else:
                self._ask_for_tombstone(task)
            return
        now = car.clock.ms()
        since = self._claimable_since.setdefault(task, now)
        handoff = self._fold(task, stored)
        mine = stored.view.tip.fence.session.startswith(car.name + ".")
        place = rank(car.world.names, task).index(car.name)
        seen = Situation(
            claimable=True,
            mine=mine,
            agent_ready=car.agent.alive,
            draining=car.draining is not None,
            bound_run=BoundRun.UNKNOWN if car.reaches_run(handoff.bound) else BoundRun.GONE,
            rank=place,
            orphaned_ms=now - since,
        )
        decision = decide(handoff, seen, LIMITS)
        if not isinstance(decision, Wait):
            car.stand(task, type(decision).__name__.lower())
        elif now - since > 300 + place * 200 and self._must_learn(task, stored, handoff):
            # Nobody living tells it what of its journal is committed: whoever claims learns it, and so do all.
            car.stand(task, "learn")

    def _ask_for_tombstone(self, task: str) -> None:
        car = self._car
        # Its owner lives and says nothing of it any more: perhaps it has ended, and whoever knew has purged it.
        keep_us = car.world.options.tombstones_ms * MS
        if car.voter is None or not keep_us:
            return
        own = car.voter.durable(task)
        if not own.entries or 0 < own.end <= own.view.committed:
            return
        since = max(car.voter.touched_us.get(task, 0), self._asked_us.get(task, 0))
        if car.kernel.now - since > keep_us:
            self._asked_us[task] = car.kernel.now
            car.kernel.fired["asked for a tombstone"] += 1
            car.stand(task, TOMBSTONE)

    def _must_learn(self, task: str, stored: Stored, handoff: Handoff) -> bool:
        if stored.view.committed < stored.view.tip.seq:
            return True
        return handoff.state not in FINAL and not self._car.front.knows_all(task)

    def _fold(self, task: str, stored: Stored) -> Handoff:
        fold = self._folds.get(task)
        tip = stored.view.tip
        if fold is None or fold.tip.seq > tip.seq or stored.hash_at(fold.tip.seq) not in (None, fold.tip.hash):
            fold = self._folds[task] = Handoff.absent(task)
        for entry in stored.entries[fold.tip.seq :]:
            fold.apply(entry, trusted=True)
        return fold
