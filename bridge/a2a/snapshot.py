"""What a Task object of a running agent says that its stream has not: differences as events.

After reattaching, and from an agent that cannot stream, the sidecar sees whole Tasks. This file turns one into the
events that would have led there; the rules for events then decide what of it is news. A Task may be older than
what the stream has brought, so having less means nothing. It must not know what was shown, only what this run has
made.
The failure it prevents: output that fell into the gap between two connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bridge.a2a.artifact import Artifact, changed_metadata, extended_head, head_of, same_head
from bridge.a2a.content import Match

Json = dict[str, Any]


def missed_messages(task: Json, heard: Callable[[Json], bool]) -> list[Json]:
    """The agent's messages in a Task's history that came after the last one that is known.

    A status's message moves to the history when the next status comes: these were statuses.

    Args:
        task: a Task object.
        heard: whether a message is known from the stream.
    """
    said = [each for each in task.get("history") or () if each.get("role") == "ROLE_AGENT"]
    known = max((index + 1 for index, each in enumerate(said) if heard(each)), default=0)
    return said[known:]


def artifact_differences(task: Json, made: Callable[[Json], Artifact | None]) -> Iterator[Json]:
    """Artifact events that lead from what a run has made to what a Task object holds.

    Args:
        task: a Task object whose artifacts have the agent's ids.
        made: the artifact as the run has made it, None where it has not. Asked when its turn comes.

    Yields:
        StreamResponse objects.
    """
    ids = {"taskId": task.get("id") or "", "contextId": task.get("contextId") or ""}
    for artifact in task.get("artifacts") or ():
        update = _difference(artifact, made(artifact))
        if update is not None:
            yield {"artifactUpdate": {**ids, **update}}


def _difference(artifact: Json, made: Artifact | None) -> Json | None:
    whole = {"artifact": artifact}
    if made is None:
        return whole
    match = Match(made.content)
    beyond = match.feed(artifact.get("parts") or [])
    if match.diverged:
        return whole
    if not match.complete:
        return None
    head = head_of(artifact)
    news = changed_metadata(head, made.head)
    chunk: Json = {"artifactId": artifact.get("artifactId") or "", "parts": beyond}
    if news:
        chunk["metadata"] = news
    if not same_head(extended_head(made.head, chunk), head):
        return whole
    return {"artifact": chunk, "append": True} if beyond or news else None
