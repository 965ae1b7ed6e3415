"""Public ids and agent ids: rewriting both ways, in every field where A2A 1.0 puts one.

A task keeps one public id for its whole life. Agents mint their own, another one for every run, and some change
them between turns; so each run of a task has an ``IdMap``. The failure it prevents: a client, or another agent,
seeing an id that dies with a run. This file must not know why a run began or what an event means.

Objects are rewritten in place: they were parsed for us and nobody else holds them. Only strings are replaced, so
an event costs a handful of dictionary look-ups whatever its size. What stands inside message text, data parts or
metadata is the agent's business and is never touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.errors import IdConflict

__all__ = ["IdConflict", "IdMap"]

Json = dict[str, Any]
Lookup = Callable[[str], str | None]


class IdMap:
    """Which ids the client sees and which ones the current run of the agent uses.

    The agent's ids may be unknown when a run begins ("" then): the first event that names one binds it. A
    follow-up may be answered under another task id than before: ``rebind`` first, or construct with ``follow``.

    Attributes:
        public_task: the task id that clients know.
        public_context: the context id that clients know.
        agent_task: the agent's id for the running attempt, "" while unknown.
        agent_context: the agent's context id, "" while unknown.
    """

    __slots__ = ("_open", "agent_context", "agent_task", "public_context", "public_task")

    def __init__(
        self,
        public_task: str,
        public_context: str,
        agent_task: str = "",
        agent_context: str = "",
        *,
        follow: bool = False,
    ) -> None:
        self.public_task = public_task
        self.public_context = public_context
        self.agent_task = agent_task
        self.agent_context = agent_context
        self._open = follow or not agent_task

    def rebind(self) -> None:
        """A new request goes to the agent: its answer may begin under another task id, once."""
        self._open = True

    def bound(self) -> tuple[str, str]:
        """The agent's task and context ids as known now: what a ``bound`` entry records."""
        return self.agent_task, self.agent_context

    def to_public(self, event: Json, lookup: Lookup | None = None) -> Json:
        """Rewrite a StreamResponse of the agent to what clients see.

        Empty ids are filled. The public ids are accepted too: agents that take the client's ids keep them.

        Args:
            event: changed in place.
            lookup: agent task id -> public task id for ``referenceTaskIds``; None leaves those alone.

        Returns:
            ``event``.

        Raises:
            IdConflict: the event names another task or another context; nothing was changed.
        """
        body = event.get("artifactUpdate")
        if body is None:
            body = event.get("statusUpdate")
        if body is not None:
            agent_task, agent_context = body.get("taskId"), body.get("contextId")
            if self._open or agent_task != self.agent_task or agent_context != self.agent_context:
                self._settle(agent_task, agent_context)
            body["taskId"] = self.public_task
            body["contextId"] = self.public_context
            if "status" in body:
                self._status_to_public(body["status"], lookup)
            return event
        task = event.get("task")
        if task is not None:
            self.task_to_public(task, lookup)
            return event
        message = event.get("message")
        if message is not None:
            self._reply_to_public(message, lookup)
        return event

    def task_to_public(self, task: Json, lookup: Lookup | None = None) -> Json:
        """Rewrite a Task object of the agent (a GetTask or CancelTask result, a stream's first frame).

        Args:
            task: changed in place.
            lookup: as for ``to_public``.

        Returns:
            ``task``.

        Raises:
            IdConflict: it is another task or context; nothing was changed.
        """
        self._settle(task.get("id"), task.get("contextId"))
        task["id"] = self.public_task
        task["contextId"] = self.public_context
        self._status_to_public(task.get("status"), lookup)
        for message in task.get("history") or ():
            self._message_to_public(message, lookup)
        return task

    def to_agent(self, params: Json, lookup: Lookup | None = None) -> Json:
        """Rewrite a client's parameters to what the agent knows, for any operation that names a task.

        A task id that the agent cannot know (none is bound yet) is removed: the agent mints its own. Other tasks'
        ids in ``referenceTaskIds`` go through ``lookup``, and stay as they are where that knows nothing.

        Args:
            params: changed in place.
            lookup: public task id -> agent task id.

        Returns:
            ``params``.
        """
        message = params.get("message")
        if message is not None:
            self.message_to_agent(message, lookup)
            push = (params.get("configuration") or {}).get("taskPushNotificationConfig")
            if push and push.get("taskId"):
                _replace(push, "taskId", self.agent_task)
        elif "taskId" in params:
            _replace(params, "taskId", self.agent_task)
        elif "id" in params:
            _replace(params, "id", self.agent_task)
        return params

    def message_to_agent(self, message: Json, lookup: Lookup | None = None) -> Json:
        """Rewrite one client Message to the agent's ids, in place; returns it."""
        if message.get("taskId"):
            _replace(message, "taskId", self.agent_task)
        if message.get("contextId") and self.agent_context:
            message["contextId"] = self.agent_context
        self.references_to_agent(message, lookup)
        return message

    def references_to_agent(self, message: Json, lookup: Lookup | None = None) -> None:
        """Rewrite only the other tasks that a client Message refers to; the list itself is replaced."""
        references = message.get("referenceTaskIds")
        if references:
            message["referenceTaskIds"] = [self._reference_to_agent(each, lookup) for each in references]

    def unmap(self, agent_task: str, lookup: Lookup | None = None) -> str:
        """The public id of a task that the agent names: this one, another one by ``lookup``, else unchanged."""
        if agent_task and agent_task == self.agent_task:
            return self.public_task
        found = lookup(agent_task) if lookup is not None else None
        return found or agent_task

    def _reference_to_agent(self, public: str, lookup: Lookup | None) -> str:
        if public == self.public_task:
            return self.agent_task or public
        found = lookup(public) if lookup is not None else None
        return found or public

    def _settle(self, agent_task: str | None, agent_context: str | None) -> None:
        # Checks both before it binds either, so that a conflict changes nothing.
        new_task = bool(agent_task) and agent_task != self.agent_task
        if new_task and not self._open and agent_task != self.public_task:
            raise IdConflict(
                f"the agent's event names task {agent_task!r}; the run is bound to {self.agent_task!r}"
            )
        new_context = bool(agent_context) and agent_context not in (self.agent_context, self.public_context)
        # A run that begins under a new task id may also begin in a new context; never the context alone.
        if new_context and self.agent_context and not new_task:
            raise IdConflict(
                f"the agent's event names context {agent_context!r}; the run is bound to {self.agent_context!r}"
            )
        if agent_task and self._open:
            self.agent_task, self._open = agent_task, False
        if agent_context and (new_context or not self.agent_context):
            self.agent_context = agent_context

    def _status_to_public(self, status: Json | None, lookup: Lookup | None) -> None:
        message = status.get("message") if status else None
        if message is not None:
            self._message_to_public(message, lookup)

    def _message_to_public(self, message: Json, lookup: Lookup | None) -> None:
        # Messages inside a task belong to it, whatever ids an agent wrote there. Absent ids stay absent.
        if message.get("taskId"):
            message["taskId"] = self.public_task
        if message.get("contextId"):
            message["contextId"] = self.public_context
        references = message.get("referenceTaskIds")
        if references:
            message["referenceTaskIds"] = [self.unmap(each, lookup) for each in references]

    def _reply_to_public(self, message: Json, lookup: Lookup | None) -> None:
        # A Message instead of a task belongs to a context; only a reply that names a task is about one.
        self._settle(message.get("taskId"), message.get("contextId"))
        message["contextId"] = self.public_context
        self._message_to_public(message, lookup)


def _replace(holder: Json, name: str, value: str) -> None:
    if value:
        holder[name] = value
    else:
        del holder[name]
