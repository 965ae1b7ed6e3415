"""The durability extension: what an agent that knows it may tell the sidecar, and what it is told.

Everything travels in ``metadata`` under keys that begin with the extension's URI, so peers that know nothing of it
relay it unread. This file takes such keys off what goes to clients, checks their shape, and writes the ones that
go to agents. It must not know what a checkpoint means for a journal. The failures it prevents: bookkeeping shown
to clients that did not ask, a client that forges a resume, and a stream that breaks because an agent wrote a bad
mark (bad marks are left out and noted).

Agent to sidecar, on a status or artifact event, in the metadata of the event, of its artifact or of its message:

- ``/checkpoint``: any JSON state but null; covers everything up to and with its event.
- ``/effect``: ``{step, phase, key?, result?}`` or a list of them; phase is ``intended``, ``done`` or ``unknown``.
- ``/spend``: ``{usd?, tokens?, steps?}``.
- ``/continues``: true says that this artifact event goes on with an artifact that the task already has, although
  the agent's own SDK, which never saw that artifact, only let it say ``append=false``.
- ``/carrier``: true says that this event only carries marks: a status said once more because there is nothing new
  to say. Clients never see it.

Sidecar to agent, on the message that starts, continues or resumes a run: ``/run`` (see ``run_metadata``). Sidecar
to clients that activated the extension: ``/status``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

URI = "urn:dhp:a2a:durable-handoff:v1"
CHECKPOINT = URI + "/checkpoint"
EFFECT = URI + "/effect"
SPEND = URI + "/spend"
CONTINUES = URI + "/continues"
CARRIER = URI + "/carrier"
RUN = URI + "/run"
STATUS = URI + "/status"

PHASES = ("intended", "done", "unknown")
SPENT = ("usd", "tokens", "steps")

#: Between sidecar and agent only: no client sees them, whatever it activated.
_PRIVATE = frozenset({RUN, CONTINUES, CARRIER})


@dataclass(frozen=True, slots=True)
class Marks:
    """What one event of an agent says to the sidecar.

    Attributes:
        checkpoint: the run's state, None where the event carries none.
        effects: ``{step, phase, key?, result?}`` in order.
        spend: what was used since the last such mark: ``usd``, ``tokens``, ``steps``, those that were given.
        bare: the event itself adds nothing to the task (``/carrier``, or an empty append): it only carries marks.
        problems: marks that were left out, for the log.
    """

    checkpoint: Any = None
    effects: tuple[Json, ...] = ()
    spend: Mapping[str, float] | None = None
    bare: bool = False
    problems: tuple[str, ...] = ()


NO_MARKS = Marks()


def take(event: Json, activated: bool) -> tuple[Marks, Json]:
    """Take the extension's marks off an agent's event.

    Args:
        event: a StreamResponse, changed in place where it carries any key of the extension.
        activated: the client asked for the extension and sees its marks (never ``/run`` and ``/continues``).

    Returns:
        The marks (``NO_MARKS`` itself where there are none) and ``event``.
    """
    update = event.get("artifactUpdate")
    if update is not None:
        content = update.get("artifact") or {}
    else:
        update = event.get("statusUpdate")
        if update is None:
            for holder in _holders(event):
                _strip(holder, activated)
            # ``/continues`` of a Task's artifact tells a snapshot that only the rest of it is there.
            for artifact in (event.get("task") or {}).get("artifacts") or ():
                _strip(artifact, activated, kept=CONTINUES)
            return NO_MARKS, event
        content = (update.get("status") or {}).get("message") or {}
    if "metadata" not in update and "metadata" not in content:
        return NO_MARKS, event
    found: Json = {}
    for holder in (content, update):
        found |= _strip(holder, activated)
    if not found:
        return NO_MARKS, event
    if found.get(CONTINUES) is True and "artifact" in update:
        update["append"] = True
    return _read(found, bare=found.get(CARRIER) is True or _is_bare(update)), event


def clean(params: Json) -> Json:
    """Client parameters without any key of the extension: a client must not be able to forge a resume.

    Args:
        params: of a send. Not changed.

    Returns:
        ``params`` itself where there is nothing to take off.
    """
    for name in ("message", "metadata"):
        part = params.get(name) or {}
        metadata = part if name == "metadata" else part.get("metadata")
        if isinstance(metadata, dict) and any(key.startswith(URI) for key in metadata):
            kept = {key: value for key, value in metadata.items() if not key.startswith(URI)}
            params = {**params, name: kept if name == "metadata" else {**part, "metadata": kept}}
    return params


def run_metadata(attempt: int, fence: int, task: str, resume: Json | None = None) -> Json:
    """What ``/run`` holds.

    Args:
        attempt: 1 for the first run of the task, 2 after the first takeover.
        fence: number under which this run's output counts.
        task: the public task id, the same in every attempt.
        resume: ``{checkpoint?, receipts, delivered}``; None where nothing went before. Its presence tells an agent
            that the client's message is not a new one.
    """
    run: Json = {"attempt": attempt, "fence": fence, "task": task}
    if resume is not None:
        run["resume"] = resume
    return run


def requested(headers: Iterable[str]) -> tuple[str, ...]:
    """Extension URIs of ``A2A-Extensions`` header values: comma separated, in order, each once."""
    stripped = (uri.strip() for value in headers for uri in value.split(","))
    return tuple(dict.fromkeys(uri for uri in stripped if uri))


def header_for_agent(uris: Sequence[str], aware: bool) -> str:
    """``A2A-Extensions`` towards the agent: the client's others, and this one where the agent knows it."""
    others = [uri for uri in uris if uri != URI]
    return ", ".join([*others, URI] if aware else others)


def declared_in_card(card: Json) -> bool:
    """Whether an agent's card says that it knows the extension."""
    extensions = (card.get("capabilities") or {}).get("extensions")
    return isinstance(extensions, list) and any(
        isinstance(each, dict) and each.get("uri") == URI for each in extensions
    )


def declare_in_card(card: Json) -> Json:
    """A copy of the card with the extension among ``capabilities.extensions``; clients need not know it."""
    capabilities = card.get("capabilities") or {}
    declared = capabilities.get("extensions") or ()
    others = [each for each in declared if not (isinstance(each, dict) and each.get("uri") == URI)]
    ours = {
        "uri": URI,
        "description": "Tasks outlive their agents; clients that activate it see attempts and takeovers.",
        "required": False,
    }
    return {**card, "capabilities": {**capabilities, "extensions": [*others, ours]}}


def _holders(event: Json) -> Iterable[Json]:
    # A Task object repeats what its agent stored: marks merged into its metadata long ago, and the messages that
    # the agent was sent, ``/run`` included. None of it says anything new.
    message = event.get("message")
    if message is not None:
        yield message
    task = event.get("task")
    if task is not None:
        yield task
        yield (task.get("status") or {}).get("message") or {}
        yield from task.get("history") or ()


def _strip(holder: Json, activated: bool, *, kept: str = "") -> Json:
    metadata = holder.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    found = {key: value for key, value in metadata.items() if key.startswith(URI)}
    for key in found:
        if key != kept and (not activated or key in _PRIVATE):
            del metadata[key]
    if found and not metadata:
        del holder["metadata"]
    return found


def _is_bare(update: Json) -> bool:
    artifact = update.get("artifact")
    if artifact is None or not update.get("append") or update.get("lastChunk"):
        return False
    return not any(value for name, value in artifact.items() if name != "artifactId")


def _read(found: Json, *, bare: bool) -> Marks:
    problems: list[str] = []
    effects: list[Json] = []
    raw = found.get(EFFECT)
    for each in raw if isinstance(raw, list) else [] if raw is None else [raw]:
        effect = _effect(each)
        if effect is None:
            problems.append(f"{EFFECT}: not {{step, phase, key?, result?}}")
        else:
            effects.append(effect)
    spend = None
    if found.get(SPEND) is not None:
        spend = _spend(found[SPEND])
        if spend is None:
            problems.append(f"{SPEND}: not {{usd?, tokens?, steps?}} of numbers from 0")
    return Marks(found.get(CHECKPOINT), tuple(effects), spend, bare, tuple(problems))


def _effect(value: Any) -> Json | None:
    if not isinstance(value, dict) or value.get("phase") not in PHASES:
        return None
    step, key = value.get("step"), value.get("key")
    if not isinstance(step, str) or not step or not (key is None or isinstance(key, str)):
        return None
    return {name: value[name] for name in ("step", "phase", "key", "result") if value.get(name) is not None}


def _spend(value: Any) -> dict[str, float] | None:
    if not isinstance(value, dict):
        return None
    spent = {name: value[name] for name in SPENT if value.get(name) is not None}
    for amount in spent.values():
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < math.inf:
            return None
    return spent or None
