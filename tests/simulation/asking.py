"""Requests of an owner to the agent beside it: recorded first, sent once that is committed, under a living lease.

What comes back counts only for the request that was sent last, and only as long as the handoff is this sidecar's.
This file must not know what an answer means. The failure it must not add: an agent that is asked under a lease
that has lapsed, or before anybody could know that it was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from bridge.journal import Draft, Kind
from bridge.jsontext import write
from tests.simulation.exchange import Heard, Resumed, Told
from tests.simulation.outside import begun, settled

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.lapse import Lapse

Json = dict[str, Any]
AGAIN_MS = 120


class Asking:
    """The agent's side of one owned handoff.

    Attributes:
        hand: what it writes to: while the owner's lease has lapsed, its stand-in.
        shown: what clients were shown, as the rules see it.
        exact: nothing of this run was missed, so the task must end as this run made it.
        run: the run that is followed, as the rules see it.
    """

    def __init__(self, hand: Hand) -> None:
        self.hand: Hand | Lapse = hand
        self.car = hand.car
        self.shown = Shown.fold(hand.log)
        self.exact = True
        self.run: Run | None = None
        self._agent_run = ""
        self._asking = 0  # number of the request whose answers count
        self._busy = False
        self._progress_us = hand.car.kernel.now

    def _request(self, *, fresh: bool, then: Callable[[], None]) -> None:
        """Record that the agent is about to be asked; ask once that is durable, under a living lease."""
        self._busy = True
        self._asking += 1
        self._progress_us = self.car.kernel.now
        asking = self._asking
        name = "" if fresh else self._agent_run

        def ask() -> None:
            if self.hand.lost or asking != self._asking:
                return
            if not self.hand.fresh():
                self.car.later(AGAIN_MS, ask)
                return
            self.car.world.watch.acts(self.hand)
            then()

        body = {"endpoint": self.car.agent.name, "task": name, "context": "C", "fresh": fresh}
        self.hand.write([Draft(Kind.BOUND, write(body))], ask)

    def _begin_run(self) -> None:
        assert self.run is not None
        cut = None if self.shown.cut is None else self.shown.cut.state
        owed = self.run.owed
        work = self.car.world.works[self.hand.task]
        resumed = Resumed(cut, None if owed is None else owed["message"], self._marks())
        self.run.answer_sent()
        unknown = begun(resumed.effects)
        self.car.kernel.fired["effect unknown"] += len(unknown)
        self.car.world.watch.begins(self.hand, self.shown, resumed)
        self.car.agent.begin_run(self.hand, work, resumed, self._heard())

    def _marks(self) -> list[Json]:
        """What the journal says of effects."""
        return settled(self.hand.log, self.shown.receipts)

    def _intended(self, effects: Sequence[Json], at: int) -> None:
        """The run has told what it will do, and waits: it goes on once that is recorded and the lease lives."""
        asking = self._asking

        def go() -> None:
            if self.hand.lost or asking != self._asking or self.hand.handoff.cancel_pending:
                return
            if not self.hand.fresh():
                self.car.later(AGAIN_MS, go)
                return
            self._progress_us = self.car.kernel.now
            for mark in effects:
                self.car.agent.go_ahead(self.hand, self._agent_run, mark["key"])

        self.hand.when_committed(at, go)

    def _attach(self) -> None:
        self.exact = False
        self.car.agent.attach(self.hand, self._agent_run, self._heard())

    def _follow(self, body: Json) -> None:
        def send() -> None:
            if self.run is not None:
                self.run.answer_sent()
            self.car.agent.follow_up(self.hand, self._agent_run, body["message"], self._heard())

        self._request(fresh=False, then=send)

    def _heard(self) -> Heard:
        asking = self._asking

        def current(act: Callable[..., None]) -> Callable[..., None]:
            def guarded(*args: Any) -> None:
                if asking == self._asking and not self.hand.lost and self.hand.handoff.terminal is None:
                    act(*args)

            return guarded

        return Heard(
            current(self._begun), current(self._snapshot), current(self._event), current(self._ended),
            current(self._refused),
        )  # fmt: skip

    def _begun(self, name: str) -> None:
        raise NotImplementedError

    def _snapshot(self, task: Json | None) -> None:
        raise NotImplementedError

    def _event(self, told: Told) -> None:
        raise NotImplementedError

    def _ended(self, ended: bool) -> None:
        raise NotImplementedError

    def _refused(self) -> None:
        raise NotImplementedError
