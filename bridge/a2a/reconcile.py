"""Reconciling a run's output with what clients were shown before it (5-reconcile.md).

After a takeover the agent runs again from the cut. What it repeats is swallowed, whatever its chunks and ids;
where it says something else, the difference is recorded and replaced once. ``Run`` takes an agent's events one
after the other and returns what to journal and show; by then ``Shown`` has advanced. This file says in which
order the rules act and holds those for beginnings, steps and endings; artifacts are ``remaking``'s, statuses
``retelling``'s, snapshots ``snapshot``'s. It must not know who runs the agent or why it runs again. The failures
it prevents: a client that sees the same twice, a gap, or a task that ends with something other than what its last
run said.

The first run of a task takes none of these turns: what it makes is what is shown, and its events pass untouched.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.dialect import COMPLETED, ENDS_STREAM, INPUT_REQUIRED, SUBMITTED, TERMINAL_KIND
from bridge.a2a.extension import NO_MARKS, Marks
from bridge.a2a.outcomes import Finish, Outcome, Receipts, Replay, Reply, Rewind, Show, Step, Suspend, drafts
from bridge.a2a.remaking import Remaking
from bridge.a2a.retelling import Retelling
from bridge.a2a.shown import Shown, is_bare, same_status, tells_of
from bridge.a2a.snapshot import Made, artifact_differences

__all__ = [
    "Finish", "Outcome", "Receipts", "Replay", "Reply", "Rewind", "Run", "Show", "Step", "Suspend", "drafts",
]  # fmt: skip

Json = dict[str, Any]


class Run:
    """One run of the agent, from the cut (or from the start) to its end.

    All that must survive is in the journal: a sidecar that restarts makes ``Run(Shown.fold(entries), …)`` again.

    Args:
        shown: what clients were shown; advanced with every call, before its outcomes are journalled.
        fresh: the first run of the task, also when a restarted sidecar goes on reading it.
        reattached: the run is one that a sidecar has read before, and lives on. Absent: a run that begins.
        seed: the Task to show before an agent's first event where that is no Task itself. Absent: a bare one.

    Attributes:
        shown: as given.
    """

    __slots__ = ("_made", "_seed", "_told", "fresh", "shown")

    def __init__(self, shown: Shown, *, fresh: bool, reattached: bool = False, seed: Json | None = None) -> None:
        self.shown = shown
        # Where nothing was shown there is nothing to repeat.
        self.fresh = fresh or not shown.begun
        self._seed = seed
        if not fresh and not reattached:
            shown.begin_run()
        self._made = None if self.fresh else Remaking(shown)
        self._told = Retelling(shown, fresh=self.fresh)

    @property
    def owed(self) -> Json | None:
        """The ``input`` body that answers the question at which the cut was made: the run resumes with it."""
        return self._told.owed

    def owes(self, task: Json) -> Json | None:
        """The recorded answer that the running agent was not given, as its Task shows: it asks on.

        It is the answer to the last question, or one that was to be replayed when the owner before fell, or when
        the request with it was lost.

        Args:
            task: a Task object of the agent.

        Returns:
            Body of the ``input`` entry; None where it waits for nothing that anybody has answered.
        """
        number, status = self._told.stands_at, task.get("status") or {}
        if number is not None and same_status(self.shown.questions[number].status, status):
            # The last question may be the same once more, and its answer another one.
            answer = self.shown.questions[number].answer
            return None if answer is None or tells_of(task, answer) else answer
        return self.shown.owed(task)

    def answer_sent(self) -> None:
        """The run has been sent the message that it may have waited for: a step from here on waits for nothing.

        An agent that checkpoints before it says anything more shows no sign of that itself.
        """
        self._told.pending = None

    def receive(self, event: Json, marks: Marks = NO_MARKS) -> list[Outcome]:
        """An event of the running agent.

        Args:
            event: StreamResponse with public task and context ids; artifact ids are the agent's. Never changed.
            marks: what the durability extension said with it.

        Returns:
            What to journal in one append, and to show, in order.
        """
        update = event.get("artifactUpdate")
        if self.fresh and update is not None and update.get("append") and marks is NO_MARKS:
            chunk = update.get("artifact") or {}
            known = self.shown.artifacts.get(chunk.get("artifactId") or "")
            if known is not None:
                self._told.went_on()
                known.append(chunk, last=bool(update.get("lastChunk")))
                return [Show(event)]
        if marks.bare and self._told.pending is None:
            self._told.went_on()  # it says nothing, but it has its answer: what carries marks is news
        outcomes = [] if marks.bare else self._dispatch(event)
        if marks.checkpoint is not None:
            return self._with_step(outcomes, marks)
        return self._behind(outcomes, Receipts(marks.effects)) if marks.effects else outcomes

    def snapshot(self, task: Json) -> list[Outcome]:
        """A Task object of the running agent (after reattaching, from a poll): its differences become events.

        A snapshot may be older than the stream: where it has less than this run, it shows nothing.
        """
        if not self.shown.begun:
            return self._begin(task)
        outcomes: list[Outcome] = []
        for missed in self._told.missed(task):
            outcomes += self._status(self._status_event(missed))
        for event in artifact_differences(task, self._made_of):
            outcomes += self._artifact(event)
        status = task.get("status") or {}
        if not is_bare(status) and not self._is_answered(task) and not self._told.overtake(status):
            outcomes += self._status(self._status_event(status))
        return outcomes

    def finish_by_sidecar(
        self, state: str, message: Json | None = None, *, reason: str | None = None
    ) -> list[Outcome]:
        """The sidecar ends the task (a cancel, an exhausted budget): what is shown stays as it is.

        Args:
            state: a terminal task state.
            message: of the status, for people.
            reason: journalled beside the event.
        """
        status: Json = {"state": state} if message is None else {"state": state, "message": message}
        outcomes = self._seeded()
        finish = Finish(TERMINAL_KIND[state], self._status_event(status), reason)
        return [*outcomes, *self._emit(finish)]

    def _dispatch(self, event: Json) -> list[Outcome]:
        task = event.get("task")
        if task is not None:
            return self.snapshot(task)
        if event.get("artifactUpdate") is not None:
            return [*self._seeded(event), *self._artifact(event)]
        if event.get("statusUpdate") is not None:
            return [*self._seeded(event), *self._status(event)]
        message = event.get("message")
        if message is None:
            return []
        if not self.shown.begun:
            return self._emit(Reply(event))
        # Clients follow a task by now: for them the answer is how it ends.
        return self._status(self._status_event({"state": COMPLETED, "message": message}))

    def _begin(self, task: Json) -> list[Outcome]:
        # A Task that is over, or waits, at once: shown as begun, and then what became of it, because the terminal
        # entry of a task holds a status.
        status = task.get("status") or {}
        if status.get("state") not in ENDS_STREAM:
            return self._emit(Show({"task": task}))
        begun = self._emit(Show({"task": {**task, "status": {"state": SUBMITTED}}}))
        return [*begun, *self._status(self._status_event(status))]

    def _seeded(self, event: Json | None = None) -> list[Outcome]:
        if self.shown.begun:
            return []
        update = (event or {}).get("artifactUpdate") or (event or {}).get("statusUpdate") or {}
        context = update.get("contextId") or ""
        seed = self._seed or {"id": update.get("taskId") or "", "status": {"state": SUBMITTED}}
        if not seed.get("contextId"):
            # Its client named none: it is in the one that its agent has opened.
            said = [{**each, "contextId": context} for each in seed.get("history") or ()]
            seed = {**seed, "contextId": context, "history": said}
        return self._emit(Show({"task": seed}))

    def _artifact(self, event: Json) -> list[Outcome]:
        self._told.went_on()
        if self._made is not None:
            return self._made.update(event)
        update = event["artifactUpdate"]
        known = self.shown.artifacts.get((update.get("artifact") or {}).get("artifactId") or "")
        if known is None and update.get("append"):
            # Clients' SDKs refuse to append to an artifact that they do not know.
            update = {name: value for name, value in update.items() if name != "append"}
            return self._emit(Show({**event, "artifactUpdate": update}))
        replaced = known is not None and not update.get("append")
        return self._emit(Show(event, None, known.count + 1 if known is not None and replaced else None))

    def _status(self, event: Json) -> list[Outcome]:
        status = event["statusUpdate"].get("status") or {}
        if self._told.asks_again(status):
            return [Suspend(INPUT_REQUIRED)]
        self._told.went_on()
        state = status.get("state") or ""
        self._told.hear(status)
        if state in TERMINAL_KIND:
            made = [] if self._made is None else self._made.finish()
            return [*made, *self._told.rewind(), *self._emit(Finish(TERMINAL_KIND[state], event))]
        if state == INPUT_REQUIRED:
            return self._question(event, status)
        return [] if self._told.repeat(status) else self._told.tell(event)

    def _question(self, event: Json, status: Json) -> list[Outcome]:
        answer = self._told.answered(status)
        if answer is not None:
            return [Replay(answer)]
        still_open = self._told.still_open(status)
        if still_open is False:
            return []
        # Whoever answers may take long: what the run has made so far is what they should look at meanwhile.
        outcomes = [] if self._made is None else self._made.settle()
        if still_open is None:
            outcomes += self._told.ask(event)
        return [*outcomes, Suspend(INPUT_REQUIRED)]

    def _with_step(self, outcomes: list[Outcome], marks: Marks) -> list[Outcome]:
        position = self._told.position()
        if self._made is not None:
            position["artifacts"] = self._made.items()
        return self._behind(outcomes, Step(marks.checkpoint, marks.effects, position))

    def _behind(self, outcomes: list[Outcome], record: Step | Receipts) -> list[Outcome]:
        # With or after its carrier, never before, and never after its end. Where the run waits, behind the record
        # that it does: a journal may be adopted up to any entry, and a checkpoint of a run that waits must not be
        # resumed for nothing.
        at = len(outcomes)
        if outcomes and isinstance(outcomes[-1], Finish | Reply):
            return outcomes
        if outcomes and isinstance(outcomes[-1], Replay):
            at -= 1
        return [*outcomes[:at], *self._emit(record), *outcomes[at:]]

    def _is_answered(self, task: Json) -> bool:
        # An agent that has its answer may go on for long before it says so in a status: until then its question
        # stands there, but the answer stands in the history after it.
        history = task.get("history")
        status = task.get("status") or {}
        if not history or status.get("state") != INPUT_REQUIRED or status.get("message"):
            return False
        last = history[-1].get("messageId") or ""
        return any(each["message"].get("messageId") == last for each in self.shown.inputs)

    def _made_of(self, artifact: Json) -> Made:
        agent = artifact.get("artifactId") or ""
        if self._made is None:
            return Made(self.shown.artifacts.get(agent), None)
        public = self._made.public_id(agent, artifact.get("name") or "")
        base = self.shown.base.artifacts if self.shown.base else ()
        return Made(self._made.made.get(public), next((each for each in base if each.public == public), None))

    def _status_event(self, status: Json) -> Json:
        ids = {"taskId": self.shown.task_id, "contextId": self.shown.context_id}
        return {"statusUpdate": {**ids, "status": status}}

    def _emit(self, outcome: Show | Step | Receipts | Finish | Reply) -> list[Outcome]:
        self.shown.take(outcome)
        return [outcome]
