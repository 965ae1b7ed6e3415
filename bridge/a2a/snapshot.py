"""What a Task object of a running agent says that its stream has not: differences as events.

After reattaching, and from an agent that cannot stream, the sidecar sees whole Tasks. This file turns one into the
events that would have led there; the rules for events then decide what of it is news. A Task may be older than
what the stream has brought, so having less means nothing. It must not know what was shown, only what this run has
made.
The failure it prevents: output that fell into the gap between two connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bridge.a2a.artifact import Artifact, changed_metadata, extended_head, head_of, same_head
from bridge.a2a.content import Match
from bridge.a2a.cut import CutArtifact
from bridge.a2a.extension import CONTINUES

Json = dict[str, Any]


class Made(NamedTuple):
    """What a run has of an artifact.

    Attributes:
        now: as it has made it, None where it has not.
        carried: as the cut had it, None where the run began it itself.
    """

    now: Artifact | None
    carried: CutArtifact | None


def artifact_differences(task: Json, made: Callable[[Json], Made]) -> Iterator[Json]:
    """Artifact events that lead from what a run has made to what a Task object holds.

    Args:
        task: a Task object whose artifacts have the agent's ids.
        made: what the run has of the artifact. Asked when its turn comes.

    Yields:
        StreamResponse objects.
    """
    ids = {"taskId": task.get("id") or "", "contextId": task.get("contextId") or ""}
    for artifact in task.get("artifacts") or ():
        now, carried = made(artifact)
        update = _difference(_whole(artifact, carried), now)
        if update is not None:
            yield {"artifactUpdate": {**ids, **update}}


def _whole(artifact: Json, carried: CutArtifact | None) -> Json:
    # An agent that resumed inside an artifact tells its own server, which never saw the beginning, only the rest.
    metadata = artifact.get("metadata") or {}
    if CONTINUES not in metadata:
        return artifact
    own = {name: value for name, value in metadata.items() if name != CONTINUES}
    rest = {**artifact, "metadata": own}
    if carried is None:
        return rest
    head = extended_head(carried.head, rest)
    return {
        "artifactId": artifact["artifactId"],
        **head,
        "parts": [*carried.parts(), *(artifact.get("parts") or ())],
    }


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
