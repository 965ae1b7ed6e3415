"""What clients have been shown, as reconciliation needs it: a fold of the journal.

``Shown`` is the V and the E of 5-reconcile.md: artifacts with their agents' ids and replace counts, the statuses
that no rewind has cut, questions with their answers, and the last step. It is advanced by journal entries or, to
the same result, by outcomes before they are journalled. It must not know what a run is doing: it only remembers.
The failure it prevents: a sidecar that restarts and believes something else about its clients than the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.a2a.artifact import Artifact
from bridge.a2a.content import Content
from bridge.a2a.cut import Cut, read_cut
from bridge.a2a.dialect import INPUT_REQUIRED, SUBMITTED, WORKING
from bridge.a2a.outcomes import Finish, Receipts, Reply, Show, Step
from bridge.journal import TERMINAL, Entry, Kind
from bridge.jsontext import parse_stored

Json = dict[str, Any]


class ShownArtifact(Artifact):
    """An artifact that clients hold.

    Attributes:
        agents: every id that an agent has had for it, oldest first.
    """

    __slots__ = ("agents",)

    def __init__(self, agent: str, chunk: Json, *, last: bool, count: int) -> None:
        super().__init__(chunk, last=last, count=count)
        self.agents = [agent]


class Question:
    """A shown status that asks the client for input.

    Attributes:
        status: the TaskStatus.
        answer: body of the ``input`` entry that answered it.
    """

    __slots__ = ("answer", "status")

    def __init__(self, status: Json) -> None:
        self.status = status
        self.answer: Json | None = None


class Shown:
    """The fold.

    Attributes:
        begun: clients have been shown a task.
        task_id, context_id: its public ids.
        artifacts: by public id, in the order in which they appeared.
        statuses: TaskStatus objects, cut by status rewinds. The bare SUBMITTED that a Task begins with is none:
            it may have been made up by the sidecar, and a re-run's Task says it again.
        status: the current one.
        questions: in the order in which they were asked.
        open: the last question is the current status and has no answer.
        inputs: bodies of ``input`` entries.
        message_ids: of the messages that the running run has shown.
        cut: the last step.
        base: the step from which the running run began.
        own: the artifacts that the running run has shown something of, by public id, with its own ids. Showing
            makes what is shown equal to what the run has made: these need no other record of where it stands.
        asked: number of questions before the running run began.
        told: the running run has shown a status: it has told all of ``statuses``.
        receipts: of all steps, oldest first.
        finished: the terminal entry's kind.
    """

    __slots__ = (
        "artifacts",
        "asked",
        "base",
        "begun",
        "context_id",
        "cut",
        "finished",
        "inputs",
        "message_ids",
        "open",
        "own",
        "questions",
        "receipts",
        "status",
        "statuses",
        "task_id",
        "told",
    )

    def __init__(self) -> None:
        self.begun = False
        self.task_id = ""
        self.context_id = ""
        self.artifacts: dict[str, ShownArtifact] = {}
        self.statuses: list[Json] = []
        self.status: Json | None = None
        self.questions: list[Question] = []
        self.open = False
        self.inputs: list[Json] = []
        self.message_ids: set[str] = set()
        self.cut: Cut | None = None
        self.base: Cut | None = None
        self.own: dict[str, str] = {}
        self.asked = 0
        self.told = False
        self.receipts: list[Any] = []
        self.finished: Kind | None = None

    @classmethod
    def fold(cls, entries: Iterable[Entry]) -> Shown:
        """What was shown by the end of these entries.

        Args:
            entries: a journal from its start. A step whose body was dropped is superseded by a later one.
        """
        shown = cls()
        for entry in entries:
            if entry.body is not None:
                shown.apply(entry.kind, parse_stored(entry.body))
        return shown

    def apply(self, kind: Kind, body: Json) -> None:
        """Advance by one journal entry; kinds that do not concern what is shown change nothing."""
        if kind is Kind.EVENT:
            self.show(body["event"], body.get("agent"), body.get("replaces"))
        elif kind is Kind.REWOUND:
            self.rewind(body.get("status"))
        elif kind is Kind.INPUT:
            self.inputs.append(body)
            if self.open:
                self.questions[-1].answer = body
                self.open = False
        elif kind is Kind.BOUND:
            if body.get("fresh"):
                self.begin_run()
        elif kind is Kind.STEP:
            self.receipts += body["receipts"]
            if "state" in body:
                self.step(body["state"], body["receipts"], body["position"])
        elif kind in TERMINAL and self.finished is None:
            # Whatever follows the first terminal entry only seals it.
            self.finished = kind
            if "event" in body and kind is not Kind.REPLY:
                self.show(body["event"])

    def take(self, outcome: Show | Step | Receipts | Finish | Reply) -> None:
        """Advance by an outcome that is about to be journalled."""
        if isinstance(outcome, Show):
            self.show(outcome.event, outcome.agent, outcome.replaces)
        elif isinstance(outcome, Step):
            self.receipts += outcome.receipts
            self.step(outcome.state, [*outcome.receipts], outcome.position)
        elif isinstance(outcome, Receipts):
            self.receipts += outcome.receipts
        elif isinstance(outcome, Finish):
            self.apply(outcome.kind, {"event": outcome.event})
        else:
            self.apply(Kind.REPLY, {})

    def show(self, event: Json, agent: str | None = None, replaces: int | None = None) -> None:
        """Clients have been shown a StreamResponse with public ids.

        Args:
            event: kept by reference in parts, never changed.
            agent: the agent's id of the artifact where it is another than the public one.
            replaces: the artifact's replace count afterwards; None leaves it as it was.
        """
        update = event.get("artifactUpdate")
        if update is not None:
            self._show_artifact(update, agent, replaces)
        elif (update := event.get("statusUpdate")) is not None:
            self._show_status(update.get("status") or {})
        elif (task := event.get("task")) is not None:
            self._show_task(task)

    def rewind(self, status: int | None) -> None:
        """What is shown from this status on is superseded; an artifact's rewind changes nothing by itself."""
        if status is not None:
            del self.statuses[status:]

    def step(self, state: Any, receipts: list[Any], position: Json) -> None:
        """A checkpoint was committed."""
        self.cut = read_cut(self, state, receipts, position)

    def owed(self, task: Json) -> Json | None:
        """The recorded answer that the run has not been given, as a Task of its agent shows: it asks on.

        Args:
            task: a Task object of the agent that has the run.

        Returns:
            Body of the ``input`` entry. None where nothing is asked, nothing was answered, or the answer stands in
            the agent's history.
        """
        question = self.questions[-1] if self.questions else None
        if question is None or question.answer is None or question.status is not self.status:
            return None
        asks = same_status(question.status, task.get("status") or {})
        return question.answer if asks and not tells_of(task, question.answer) else None

    def awaits(self, task: Json) -> bool:
        """Whether the run waits at the question that clients look at, as a Task of its agent shows."""
        status = task.get("status") or {}
        if not self.open or status.get("state") != INPUT_REQUIRED:
            return False
        # A run that repeats what was told may stand at an earlier question, and one that was answered stands on as
        # a state without its message: neither is the one that clients look at.
        return same_status(self.questions[-1].status, status)

    def begin_run(self) -> None:
        """Another run begins at the cut; nothing of what is shown is its own yet."""
        self.base = self.cut
        self.own = {}
        self.message_ids = set()
        self.asked = len(self.questions)
        self.told = False

    def _show_artifact(self, update: Json, agent: str | None, replaces: int | None) -> None:
        chunk = update.get("artifact") or {}
        public = chunk.get("artifactId") or ""
        last = bool(update.get("lastChunk"))
        self.own[public] = agent or public
        artifact = self.artifacts.get(public)
        if artifact is None:
            artifact = ShownArtifact(agent or public, chunk, last=last, count=replaces or 0)
            self.artifacts[public] = artifact
            return
        if update.get("append"):
            artifact.append(chunk, last=last)
        else:
            artifact.replace(chunk, last=last)
        if replaces is not None:
            artifact.count = replaces
        if agent is not None and agent not in artifact.agents:
            artifact.agents.append(agent)

    def _show_status(self, status: Json) -> None:
        self.status = status
        self.statuses.append(status)
        self.told = True
        message = status.get("message")
        if message:
            self.message_ids.add(message.get("messageId") or "")
        self.open = status.get("state") == INPUT_REQUIRED
        if self.open:
            self.questions.append(Question(status))

    def _show_task(self, task: Json) -> None:
        self.begun = True
        self.task_id = task.get("id") or ""
        self.context_id = task.get("contextId") or ""
        status = task.get("status") or {}
        # What was said before the Task was first seen has been told with it, and is no news in a re-run.
        said = [each for each in task.get("history") or () if each.get("role") == "ROLE_AGENT"]
        self.statuses += [{"state": WORKING, "message": each} for each in said]
        if not is_bare(status):
            self._show_status(status)
        self.message_ids.update(each.get("messageId") or "" for each in task.get("history") or ())
        for artifact in task.get("artifacts") or ():
            public = artifact.get("artifactId") or ""
            self.own[public] = public
            if public not in self.artifacts:
                self.artifacts[public] = ShownArtifact(public, artifact, last=False, count=0)


def tells_of(task: Json, input_body: Json) -> bool:
    """Whether a Task's history holds a client's later message."""
    wanted = input_body["message"].get("messageId")
    return any(said.get("messageId") == wanted for said in task.get("history") or ())


def is_bare(status: Json) -> bool:
    """Whether a status says no more than that a task exists."""
    return status.get("state") in (None, SUBMITTED) and not status.get("message")


def same_status(one: Json, other: Json) -> bool:
    """Whether two statuses say the same: state and content; ids and timestamps do not count."""
    if one.get("state") != other.get("state"):
        return False
    return same_message(one.get("message"), other.get("message"))


def same_message(one: Json | None, other: Json | None) -> bool:
    """Whether two messages say the same, or there are none."""
    if not one or not other:
        return not one and not other
    if one.get("role") != other.get("role"):
        return False
    return Content(one.get("parts") or ()).same(Content(other.get("parts") or ()))
