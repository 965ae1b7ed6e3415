"""Events -> Task: what a client that reads GetTask sees is a fold of what a client that streams was sent.

The same result as the SDK's task manager (a differential test holds them together), one event at a time and at a
cost that does not grow with the task: an append extends the part list, it copies nothing. This file must not know
journals, ids or re-runs. The failure it prevents: a late reader and a streaming client ending with different
tasks.

Two deliberate differences from the SDK 1.3.0. An ``append`` to an artifact that was never created creates it (the
SDK raises, and a whole run fails for one flag). Members that the SDK does not know survive: those of a status or
an artifact with it, those of an appended chunk by overwriting.

A fold keeps references to what an event holds (parts, messages, statuses) but never changes it, and changes only
containers of its own: an event may be journalled before or after it was applied, as long as nobody edits it.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.dialect import SUBMITTED, UNSPECIFIED
from bridge.jsontext import write

Json = dict[str, Any]

_TASK_MEMBERS = frozenset({"id", "contextId", "status", "artifacts", "history", "metadata"})
_CHUNK_MEMBERS = frozenset({"artifactId", "parts", "metadata", "name", "description", "extensions"})


class TaskFold:
    """A Task that grows by events.

    Args:
        initial_message: the client's message that began the task. Becomes its history where the agent streams no
            Task object of its own first.

    Attributes:
        exists: an event has created the task.
    """

    __slots__ = ("_artifacts", "_by_id", "_head", "_history", "_metadata", "_rest", "_status", "exists")

    def __init__(self, initial_message: Json | None = None) -> None:
        self.exists = False
        self._head: Json = {}
        self._rest: Json = {}
        self._status: Json = {"state": SUBMITTED}
        self._history: list[Json] = [initial_message] if initial_message else []
        self._artifacts: list[Json] = []
        self._by_id: dict[str, Json] = {}
        self._metadata: Json | None = None

    @classmethod
    def from_task(cls, task: Json) -> TaskFold:
        """A fold that stands where this Task object does; the object is not changed later."""
        fold = cls()
        fold._replace_task(task)
        return fold

    @property
    def state(self) -> str:
        """The task state, UNSPECIFIED where the status names none."""
        return self._status.get("state") or UNSPECIFIED

    @property
    def status(self) -> Json:
        """The current TaskStatus. Not to be changed."""
        return self._status

    def artifact(self, artifact_id: str) -> Json | None:
        """The artifact of that id as it stands. Not to be changed, and later appends show in it."""
        return self._by_id.get(artifact_id)

    def apply(self, event: Json) -> None:
        """Advance by one StreamResponse object; a Message changes nothing.

        Args:
            event: with public ids. Kept by reference in parts; must not be edited afterwards.
        """
        update = event.get("artifactUpdate")
        if update is not None:
            self._create(update)
            self._apply_artifact(update.get("artifact") or {}, bool(update.get("append")))
            return
        update = event.get("statusUpdate")
        if update is not None:
            self._create(update)
            self._apply_status(update)
            return
        task = event.get("task")
        if task is not None:
            self._replace_task(task)

    def add_message(self, message: Json) -> None:
        """Take a later client message into the history, once, as the SDK does when a follow-up begins to run.

        The message of the current status, the question, moves to the history before it.
        """
        message_id = message.get("messageId")
        if any(each.get("messageId") == message_id for each in self._history):
            return
        self._retire_status_message()
        self._status = {name: value for name, value in self._status.items() if name != "message"}
        self._history.append(message)

    def task(self) -> Json:
        """The Task object now: its containers are copies, later events do not show in it.

        Costs a copy of every part list; ``task_json`` needs none.
        """
        task = self._view()
        if self._artifacts:
            task["artifacts"] = [_copy_artifact(each) for each in self._artifacts]
        if self._history:
            task["history"] = [*self._history]
        if self._metadata is not None:
            task["metadata"] = {**self._metadata}
        return task

    def _view(self) -> Json:
        # Shares the fold's containers: for reading at once.
        task = {**self._head, "status": self._status}
        if self._artifacts:
            task["artifacts"] = self._artifacts
        if self._history:
            task["history"] = self._history
        if self._metadata is not None:
            task["metadata"] = self._metadata
        task.update(self._rest)
        return task

    def _create(self, update: Json) -> None:
        if not self.exists:
            self.exists = True
            self._head = {"id": update.get("taskId") or "", "contextId": update.get("contextId") or ""}

    def _apply_status(self, update: Json) -> None:
        self._retire_status_message()
        metadata = update.get("metadata")
        if metadata:
            self._metadata = self._metadata or {}
            self._metadata.update(metadata)
        self._status = update.get("status") or {}

    def _retire_status_message(self) -> None:
        message = self._status.get("message")
        if message is not None:
            self._history.append(message)

    def _apply_artifact(self, chunk: Json, append: bool) -> None:
        artifact_id = chunk.get("artifactId") or ""
        artifact = self._by_id.get(artifact_id)
        if artifact is None:
            self._by_id[artifact_id] = artifact = _copy_artifact(chunk)
            self._artifacts.append(artifact)
        elif append:
            _extend(artifact, chunk)
        else:
            # The same object stays in the list and in the index.
            artifact.clear()
            artifact.update(_copy_artifact(chunk))

    def _replace_task(self, task: Json) -> None:
        self.exists = True
        self._head = {"id": task.get("id") or "", "contextId": task.get("contextId") or ""}
        self._rest = {name: value for name, value in task.items() if name not in _TASK_MEMBERS}
        self._status = task.get("status") or {}
        self._history = [*(task.get("history") or ())]
        self._artifacts = [_copy_artifact(each) for each in task.get("artifacts") or ()]
        self._by_id = {}
        for artifact in self._artifacts:
            self._by_id.setdefault(artifact.get("artifactId") or "", artifact)
        metadata = task.get("metadata")
        self._metadata = None if metadata is None else {**metadata}


def task_json(fold: TaskFold) -> bytes:
    """The Task of a fold as JSON text, written without copying it first."""
    return write(fold._view())  # noqa: SLF001  (the view must not leave this module)


def with_history(task: Json, length: int | None) -> Json:
    """Apply ``historyLength`` (§3.2.4): None leaves all, 0 leaves none, n leaves the latest n.

    Args:
        task: not changed.
        length: not negative.

    Returns:
        ``task`` itself where nothing has to go, else a shallow copy with less history.
    """
    history = task.get("history")
    if length is None or not history or len(history) <= length:
        return task
    trimmed = {**task, "history": history[len(history) - length :]}
    if not length:
        del trimmed["history"]
    return trimmed


def _copy_artifact(artifact: Json) -> Json:
    copy = {**artifact, "parts": [*(artifact.get("parts") or ())]}
    metadata = artifact.get("metadata")
    if metadata is not None:
        copy["metadata"] = {**metadata}
    return copy


def _extend(artifact: Json, chunk: Json) -> None:
    parts = chunk.get("parts")
    if parts:
        artifact["parts"].extend(parts)
    metadata = chunk.get("metadata")
    if metadata:
        held = artifact.get("metadata")
        if held is None:
            artifact["metadata"] = {**metadata}
        else:
            held.update(metadata)
    for name in chunk:
        if name not in _CHUNK_MEMBERS:
            artifact[name] = chunk[name]
