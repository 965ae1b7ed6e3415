"""The messages an agent gets: for a new task, for a later turn, and for a run that goes on elsewhere.

An agent that knows nothing of durability gets what any A2A client would send: the client's own message, again
after a loss, on a task of its own. An agent that knows the extension gets the same message with ``/run`` in its
metadata, and there sees that it is a resume, from which state, and what clients already have: it must not take the
message for a new one and add the user's turn a second time. This file must not know why a run is started.

Nothing here changes its arguments: what it gets are bodies of journal entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.a2a.extension import RUN, clean, run_metadata
from bridge.a2a.ids import IdMap, Lookup

Json = dict[str, Any]

#: The sidecar's own business: it keeps and delivers push, trims history and decides when a client gets its answer.
_SECTIONS = frozenset({"configuration", "metadata"})  # empty and absent are the same
_OF_THE_ENTRY = frozenset({"id", "digest"})
_OURS = frozenset({"taskPushNotificationConfig", "historyLength", "returnImmediately"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a task, as its agent is told.

    Attributes:
        number: 1 for the first run.
        fence: number under which its output counts.
        aware: the agent declares the durability extension.
    """

    number: int
    fence: int
    aware: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """What went before, for an agent that can use it.

    Attributes:
        checkpoint: state of the last ``step``, None without one.
        receipts: effect marks so far, oldest first.
        delivered: see ``delivered``.
        answer: body of the ``input`` entry that answers the question at which the last step was taken. The run
            that goes on from that step has asked already, so this message is what it gets. None where the step was
            taken elsewhere. A step at a question without an answer is not resumed: the task waits for its client.
    """

    checkpoint: Any = None
    receipts: Sequence[Json] = ()
    delivered: Json = field(default_factory=dict)
    answer: Json | None = None


def first_message(request: Json, ids: IdMap, attempt: Attempt, lookup: Lookup | None = None) -> Json:
    """SendMessage parameters that begin a task at an agent.

    Args:
        request: the client's parameters as journalled: message, configuration?, metadata?.
        ids: for the new run; its agent task is still unknown, so none is named.
        attempt: which run it is.
        lookup: public task id -> agent task id, for ``referenceTaskIds``.

    Returns:
        The message on no task and in the public context, without push and without forged extension keys.
    """
    return _params(request, ids, attempt, None, lookup)


def resume_message(
    request: Json, ids: IdMap, attempt: Attempt, progress: Progress, lookup: Lookup | None = None
) -> Json:
    """SendMessage parameters that run a task again after its run was lost.

    Args:
        request: the client's first parameters as journalled.
        ids: for the new run; its agent task is still unknown.
        attempt: which run it is. An agent that is not aware gets the plain original message, whatever went before.
        progress: what an aware agent goes on from.
        lookup: public task id -> agent task id, for ``referenceTaskIds``.
    """
    if not attempt.aware:
        return _params(request, ids, attempt, None, lookup)
    return _params(progress.answer or request, ids, attempt, progress, lookup)


def followup_message(
    entry: Json, ids: IdMap, attempt: Attempt, progress: Progress | None = None, lookup: Lookup | None = None
) -> Json:
    """SendMessage parameters of a later client message for the run that is there; also of one that is replayed.

    Args:
        entry: body of the ``input`` entry: id, digest, message, configuration?, metadata?.
        ids: of the run; its agent task is named.
        attempt: which run it is.
        progress: the state at the last step: an agent's executor begins anew with every turn.
        lookup: public task id -> agent task id, for ``referenceTaskIds``.
    """
    params = _params(entry, ids, attempt, progress, lookup)
    if ids.agent_task:
        params["message"]["taskId"] = ids.agent_task
    if ids.agent_context:
        params["message"]["contextId"] = ids.agent_context
    return params


def delivered(task: Json, statuses: int) -> Json:
    """How much of a task's output clients have: ``{artifacts: {id: {parts, chars}}, statuses}``.

    Args:
        task: as clients see it.
        statuses: how many status updates they were shown.
    """
    artifacts = {}
    for artifact in task.get("artifacts") or ():
        parts = artifact.get("parts") or ()
        chars = sum(len(part.get("text") or "") for part in parts)
        artifacts[artifact.get("artifactId") or ""] = {"parts": len(parts), "chars": chars}
    return {"artifacts": artifacts, "statuses": statuses}


def _params(source: Json, ids: IdMap, attempt: Attempt, progress: Progress | None, lookup: Lookup | None) -> Json:
    wanted = {name: value for name, value in source.items() if name not in _OF_THE_ENTRY}
    given = clean({name: value for name, value in wanted.items() if value or name not in _SECTIONS})
    message = {name: value for name, value in given["message"].items() if name not in {"taskId", "contextId"}}
    if ids.public_context:
        message["contextId"] = ids.public_context
    ids.references_to_agent(message, lookup)
    if attempt.aware:
        run = run_metadata(attempt.number, attempt.fence, ids.public_task, _resume(progress))
        message["metadata"] = {**(message.get("metadata") or {}), RUN: run}
    params = {**given, "message": message}
    configuration = {name: value for name, value in given.get("configuration", {}).items() if name not in _OURS}
    if configuration:
        params["configuration"] = configuration
    else:
        params.pop("configuration", None)
    return params


def _resume(progress: Progress | None) -> Json | None:
    if progress is None:
        return None
    resume: Json = {"receipts": [*progress.receipts], "delivered": progress.delivered}
    if progress.checkpoint is not None:
        resume["checkpoint"] = progress.checkpoint
    return resume
