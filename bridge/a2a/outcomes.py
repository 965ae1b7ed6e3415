"""What reconciliation decides about an agent's event, and the journal entries that record it.

The owner loop journals the drafts of one list of outcomes in one append, so that a record of a rewind and the
replacement that follows it can never be torn apart. This file only names decisions and writes bodies; it must not
decide anything. The failure it prevents: an outcome that is acted upon but not journalled, or the reverse.

In an ``event`` body the event is the last member: a front splices its bytes into a frame without parsing them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, assert_never

from bridge.journal import Draft, Kind
from bridge.jsontext import write

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Show:
    """Clients see an event.

    Attributes:
        event: StreamResponse with public ids.
        agent: the agent's own id of the artifact where it is not the public one.
        replaces: how often the artifact has been replaced after this event, where that changes.
    """

    event: Json
    agent: str | None = None
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Rewind:
    """A record that what follows is superseded: the shown artifact, or the shown statuses from an index on."""

    artifact: str | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A checkpoint commits: from here a later run may start.

    Attributes:
        state: the agent's state, any JSON value.
        receipts: effects reported with it.
        position: where the run stands; read back by ``Shown`` only.
    """

    state: Any
    receipts: tuple[Any, ...]
    position: Json


@dataclass(frozen=True, slots=True)
class Receipts:
    """Effects that the agent reports without a checkpoint: they must outlive the run, but move no cut.

    Attributes:
        receipts: as reported, oldest first.
    """

    receipts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """The agent asks what has been answered before: send it the recorded ``input`` body again."""

    message: Json


@dataclass(frozen=True, slots=True)
class Suspend:
    """The run waits for its client."""

    state: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The task ends.

    Attributes:
        kind: the terminal entry.
        event: StreamResponse with the terminal status.
        reason: why, where the sidecar ended it.
    """

    kind: Kind
    event: Json
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The agent answered with a Message instead of a task."""

    event: Json


Outcome = Show | Rewind | Step | Receipts | Replay | Suspend | Finish | Reply


def drafts(outcomes: Iterable[Outcome]) -> list[Draft]:
    """Journal bodies of outcomes, in order. A replay has none: its input stands in the journal already."""
    written: list[Draft] = []
    for outcome in outcomes:
        if isinstance(outcome, Show):
            written.append(Draft(Kind.EVENT, _event_body(outcome)))
        elif not isinstance(outcome, Replay):
            written.append(_draft(outcome))
    return written


def _event_body(shown: Show) -> bytes:
    event = write(shown.event)
    if shown.agent is None and shown.replaces is None:
        return b'{"event":' + event + b"}"
    head: Json = {}
    if shown.agent is not None:
        head["agent"] = shown.agent
    if shown.replaces is not None:
        head["replaces"] = shown.replaces
    return write(head)[:-1] + b',"event":' + event + b"}"


def _draft(outcome: Rewind | Step | Receipts | Suspend | Finish | Reply) -> Draft:
    match outcome:
        case Rewind(artifact=str() as artifact):
            return Draft(Kind.REWOUND, write({"artifact": artifact}))
        case Rewind(status=status):
            return Draft(Kind.REWOUND, write({"status": status}))
        case Step(state=state, receipts=receipts, position=position):
            return Draft(Kind.STEP, write({"state": state, "receipts": list(receipts), "position": position}))
        case Receipts(receipts=receipts):
            return Draft(Kind.STEP, write({"receipts": list(receipts)}))
        case Suspend(state=state):
            return Draft(Kind.SUSPENDED, write({"state": state}))
        case Finish(kind=kind, event=event, reason=reason):
            head = {} if reason is None else {"reason": reason}
            return Draft(kind, write({**head, "event": event}))
        case Reply(event=event):
            return Draft(Kind.REPLY, write({"event": event}))
        case _:
            assert_never(outcome)
