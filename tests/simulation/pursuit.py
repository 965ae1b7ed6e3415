"""What an owner does with its handoff: the real recovery and reconciliation rules between a journal and an agent.

``bridge.recovery.decide`` says what to do, ``bridge.a2a.reconcile.Run`` what an agent's event means for clients;
this shell journals what they say, and does nothing before it is committed. It must not know how a journal is
replicated. The failure it must not add: an outcome that is acted upon and not journalled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.a2a.dialect import CANCELED, FAILED, INPUT_REQUIRED
from bridge.a2a.outcomes import Finish, Outcome, Replay, Reply, Rewind, Step, Suspend, drafts
from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from bridge.handoff import State
from bridge.journal import Draft, Kind
from bridge.jsontext import write
from bridge.recovery import (
    BoundRun,
    Cancel,
    DeadLetter,
    Limits,
    Reattach,
    Resume,
    Review,
    Situation,
    Wait,
    decide,
)
from tests.simulation.asking import AGAIN_MS, Asking
from tests.simulation.exchange import Told
from tests.simulation.kernel import MS
from tests.simulation.outside import BLIND, INTENDED, begun

if TYPE_CHECKING:
    from tests.simulation.hand import Hand

Json = dict[str, Any]
HANG_MS = 1_500
GIVEN_UP = (Kind.ORPHANED, Kind.RESOLVED)
LIMITS = Limits()


class Pursuit(Asking):
    """Drives the agent for one owned handoff."""

    def __init__(self, hand: Hand) -> None:
        super().__init__(hand)
        self._gone = False

    # --- what to do -------------------------------------------------------------------------------------------

    def decide(self) -> None:
        """Ask the rules, and do it."""
        hand, car = self.hand, self.car
        if hand.lost or hand.handoff.terminal is not None:
            return
        if self._busy and not hand.handoff.cancel_pending:
            return
        if not hand.fresh():
            car.later(AGAIN_MS, self.decide)
            return
        unknown = [mark for mark in begun(self._marks()) if car.world.kind_of(mark["key"]) == BLIND]
        seen = Situation(
            claimable=True,
            mine=True,
            agent_ready=car.agent.alive,
            bound_run=self._bound_run(),
            unknown_effects=tuple(mark["step"] for mark in unknown),
        )
        decision = decide(hand.handoff, seen, LIMITS)
        match decision:
            case Wait(reason="no_agent"):
                self._orphan("no_agent_here")
            case Wait():
                pass
            case Reattach(bound=bound):
                self._agent_run = bound["task"]
                self._request(fresh=False, then=self._attach)
            case Resume():
                self._begin()
            case Cancel(bound=bound):
                self._end(CANCELED, "canceled", bound)
            case DeadLetter(reason=reason):
                self._end(FAILED, reason, None)
            case Review(reason=reason):
                car.kernel.fired["review"] += 1
                car.kernel.fired["effect unknown"] += len(unknown)
                body = {"reason": reason, "attempt": hand.handoff.attempts, "effects": unknown}
                # An operator looks at journals: who is killed while it writes this may have written it.
                car.world.reviewer.called()
                hand.write([Draft(Kind.REVIEW, write(body))])

    def _bound_run(self) -> BoundRun:
        bound = self.hand.handoff.bound
        return BoundRun.UNKNOWN if not self._gone and self.car.reaches_run(bound) else BoundRun.GONE

    def note_input(self, body: Json) -> None:
        """A later message stands in the journal."""
        self.shown.apply(Kind.INPUT, body)

    def input_committed(self, body: Json) -> None:
        """A later message is durable: the run gets it, if it waits for one here."""
        questions = self.shown.questions
        if self.hand.handoff.state is not State.SUSPENDED or not questions or questions[-1].answer is not body:
            return  # what came before a question was asked is no answer to it
        if self.run is not None and self._agent_run and not self._gone:
            self._follow(body)
        else:
            self._busy = False
            self.decide()

    def tick(self) -> None:
        """Some time has passed."""
        hand = self.hand
        if not self._busy or hand.handoff.terminal is not None or hand.handoff.state is not State.RUNNING:
            return
        if self.car.kernel.now - self._progress_us > HANG_MS * MS and hand.settled and hand.fresh():
            self.car.hung[self._agent_run] = True
            self._orphan("agent_hangs")

    def stop(self) -> None:
        """Another session owns it, or it was given up: nothing that the run still says counts."""
        self._asking += 1
        bound = self.hand.handoff.bound
        if self._agent_run and bound is not None and bound["endpoint"] == self.car.agent.name:
            self.car.agent.cancel(self.hand, self._agent_run)

    def hold_up(self) -> None:
        """There is no room for what the run says: it is not listened to, and waits."""
        self._asking += 1
        self._busy = True

    def go_on(self) -> None:
        """There is room again. What was not taken is asked for."""
        self.shown = Shown.fold(self.hand.log)
        self.run, self._busy = None, False
        self.decide()

    def _begin(self) -> None:
        hand = self.hand
        self._gone, self.exact = False, True
        self.run = Run(self.shown, fresh=hand.handoff.attempts == 0, seed=self.car.world.seed_task(hand.task))
        self._agent_run = ""
        self._request(fresh=True, then=self._begin_run)

    # --- what the agent says ----------------------------------------------------------------------------------

    def _begun(self, name: str) -> None:
        self._agent_run = name
        body = {"endpoint": self.car.agent.name, "task": name, "context": "C", "fresh": False}
        self.hand.write([Draft(Kind.BOUND, write(body))])

    def _snapshot(self, task: Json | None) -> None:
        if task is None:
            self._gone, self._busy = True, False
            self.decide()
            return
        if self.run is None:
            fresh = self.hand.handoff.attempts <= 1
            self.run = Run(self.shown, fresh=fresh, reattached=True, seed=self.car.world.seed_task(self.hand.task))
        self._progress_us = self.car.kernel.now
        self.car.kernel.fired["reattached"] += 1
        before = self._asking
        self._take(self.run.snapshot(task))
        if self.hand.handoff.terminal is not None or self._asking != before:
            return
        answer = self.run.owes(task)
        if answer is not None:
            self._follow(answer)
        elif self.shown.awaits(task) and self.hand.handoff.state is not State.SUSPENDED:
            self._busy = False
            self.hand.write([Draft(Kind.SUSPENDED, write({"state": INPUT_REQUIRED}))])

    def _event(self, told: Told) -> None:
        assert self.run is not None
        self._progress_us = self.car.kernel.now
        self._take(self.run.receive(told.event, told.marks), told)

    def _take(self, outcomes: list[Outcome], told: Told | None = None) -> None:
        if not outcomes:
            self.car.kernel.fired["event swallowed"] += 1
            return
        fired = self.car.kernel.fired
        replay: Json | None = None
        written = drafts(outcomes)
        for outcome in outcomes:
            if isinstance(outcome, Suspend):
                self._busy = False
            elif isinstance(outcome, Replay):
                replay = outcome.message
                fired["answer replayed"] += 1
            elif isinstance(outcome, Rewind):
                fired["rewound"] += 1
            elif isinstance(outcome, Step):
                fired["checkpoint"] += 1
            elif isinstance(outcome, Finish | Reply):
                self._busy = False
        if written:
            before = len(self.hand.log)
            at = self.hand.write(written)
            self.car.world.watch.took(self.hand, told, before)
            intended = [] if told is None else [each for each in told.marks.effects if each["phase"] == INTENDED]
            if at and intended:
                self._intended(intended, at)
        if self.hand.handoff.terminal is not None:
            self._tell_truth()
        if replay is not None:
            self._follow(replay)

    def _tell_truth(self) -> None:
        running = self.car.agent.runs.get(self._agent_run)
        # What was missed of a run is missing in every run from its checkpoints, too.
        if running is not None and running.model.state.ended and self.exact and running.whole:
            self.hand.told(running.model.state)

    def _ended(self, ended: bool) -> None:
        """The stream is over. That is no death: where nothing was settled by it, the agent is asked."""
        if not self._busy:
            return
        if self._agent_run:
            self._request(fresh=False, then=self._attach)
        else:
            self._orphan("agent_gone")

    def _refused(self) -> None:
        self._orphan("agent_gone")

    # --- endings ----------------------------------------------------------------------------------------------

    def _orphan(self, reason: str) -> None:
        hand = self.hand
        if hand.handoff.state not in (State.CLAIMED, State.RUNNING, State.SUSPENDED):
            return
        self._busy = False
        self._asking += 1
        self.car.kernel.fired[f"orphaned: {reason}"] += 1
        hand.write([Draft(Kind.ORPHANED, write({"reason": reason, "by": self.car.name}))], self.given_up)

    def given_up(self) -> None:
        """What gives it up is committed. A claim of this session behind that took it back: it is given up anew."""
        ends = (
            entry.kind for entry in reversed(self.hand.log) if entry.kind in GIVEN_UP or entry.kind is Kind.CLAIMED
        )
        if next(ends) in GIVEN_UP:
            self.drop()
        else:
            self._orphan("given_up")

    def hand_over(self) -> None:
        """This sidecar drains: somebody else shall go on."""
        if self.hand.handoff.state in (State.CLAIMED, State.RUNNING, State.SUSPENDED):
            self._orphan("drain")
        else:
            self.hand.when_committed(self.hand.handoff.tip.seq, self.drop)

    def drop(self) -> None:
        """Nothing more is done for it here."""
        self.hand.drop()

    def _end(self, state: str, reason: str, bound: Json | None) -> None:
        self._asking += 1
        self._busy = False
        if bound is not None and bound["task"] and bound["endpoint"] == self.car.agent.name:
            self.car.agent.cancel(self.hand, bound["task"])
        seed = self.car.world.seed_task(self.hand.task)
        run = self.run or Run(self.shown, fresh=self.hand.handoff.attempts <= 1, reattached=True, seed=seed)
        message = {
            "messageId": f"{self.hand.task}-{self.hand.fence.n}",
            "role": "ROLE_AGENT",
            "parts": [{"text": reason}],
        }
        self.car.kernel.fired[f"ended: {reason}"] += 1
        self.hand.write(drafts(run.finish_by_sidecar(state, message, reason=reason)))
