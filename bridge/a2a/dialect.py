"""The vocabulary of A2A 1.0: operations, states, versions, and where things stand in its JSON.

Everything that another file would otherwise spell out as a string literal is here once, as tables (errors in
``faults``, passed on here). The SDK keeps the same tables, but its server modules cost 60 MB and the data plane
must not import them; a test keeps these equal to the SDK's. This file knows nothing of journals (apart from which
terminal kind a state becomes), of HTTP or of a particular task. The failure it prevents: two parts of the sidecar
disagreeing on when a task is over.

JSON is ProtoJSON as on the wire: camelCase members, enum names, ``null`` is the same as absent. Section numbers
are those of the A2A specification 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple

from bridge.a2a.faults import ERRORS, A2AErrorRow, A2AFault, error_details, error_object
from bridge.journal import Kind

__all__ = [
    "AUTH_REQUIRED",
    "CANCELED",
    "COMPLETED",
    "ENDS_STREAM",
    "ERRORS",
    "EXTENSIONS_HEADER",
    "FAILED",
    "INPUT_REQUIRED",
    "INTERRUPTED",
    "OPERATIONS",
    "REJECTED",
    "ROLES",
    "STREAM_KINDS",
    "SUBMITTED",
    "TASK_STATES",
    "TERMINAL_KIND",
    "TERMINAL_STATES",
    "UNSPECIFIED",
    "V03",
    "V10",
    "VERSION_HEADER",
    "WORKING",
    "A2AErrorRow",
    "A2AFault",
    "Json",
    "Operation",
    "OperationKind",
    "body_of",
    "context_id_of",
    "effective_version",
    "ends_stream",
    "error_details",
    "error_object",
    "kind_of",
    "message_of",
    "parse_timestamp",
    "state_of",
    "status_of",
    "task_id_of",
]

Json = dict[str, Any]

VERSION_HEADER = "A2A-Version"
EXTENSIONS_HEADER = "A2A-Extensions"
V10 = "1.0"
V03 = "0.3"

OperationKind = Literal["send", "read", "cancel", "push", "card"]


class Operation(NamedTuple):
    """One of the eleven operations (§3.1).

    Attributes:
        name: the JSON-RPC method, which is also the gRPC method.
        streaming: it answers with a stream of StreamResponse objects.
        kind: ``send`` reaches the agent through the journal; ``read`` is answered from the journal alone;
            ``cancel`` is journalled, then passed down; ``push`` belongs to the outbox; ``card`` to the agent.
        verbs: HTTP methods of the HTTP+JSON binding (§11.3).
        path: its path there, below the interface's URL; ``{name}`` stands for that member of the request.
    """

    name: str
    streaming: bool
    kind: OperationKind
    verbs: tuple[str, ...]
    path: str


_PUSH = "/tasks/{taskId}/pushNotificationConfigs"

OPERATIONS: dict[str, Operation] = {
    each.name: each
    for each in (
        Operation("SendMessage", False, "send", ("POST",), "/message:send"),
        Operation("SendStreamingMessage", True, "send", ("POST",), "/message:stream"),
        Operation("GetTask", False, "read", ("GET",), "/tasks/{id}"),
        Operation("ListTasks", False, "read", ("GET",), "/tasks"),
        Operation("CancelTask", False, "cancel", ("POST",), "/tasks/{id}:cancel"),
        Operation("SubscribeToTask", True, "read", ("GET", "POST"), "/tasks/{id}:subscribe"),
        Operation("CreateTaskPushNotificationConfig", False, "push", ("POST",), _PUSH),
        Operation("GetTaskPushNotificationConfig", False, "push", ("GET",), _PUSH + "/{id}"),
        Operation("ListTaskPushNotificationConfigs", False, "push", ("GET",), _PUSH),
        Operation("DeleteTaskPushNotificationConfig", False, "push", ("DELETE",), _PUSH + "/{id}"),
        Operation("GetExtendedAgentCard", False, "card", ("GET",), "/extendedAgentCard"),
    )
}

UNSPECIFIED = "TASK_STATE_UNSPECIFIED"
SUBMITTED = "TASK_STATE_SUBMITTED"
WORKING = "TASK_STATE_WORKING"
COMPLETED = "TASK_STATE_COMPLETED"
FAILED = "TASK_STATE_FAILED"
CANCELED = "TASK_STATE_CANCELED"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
REJECTED = "TASK_STATE_REJECTED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"

#: In the order of their protobuf numbers, which ProtoJSON allows in place of names.
TASK_STATES: tuple[str, ...] = (
    UNSPECIFIED,
    SUBMITTED,
    WORKING,
    COMPLETED,
    FAILED,
    CANCELED,
    INPUT_REQUIRED,
    REJECTED,
    AUTH_REQUIRED,
)
ROLES: tuple[str, ...] = ("ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT")

#: Which terminal journal entry a terminal task state becomes.
TERMINAL_KIND: dict[str, Kind] = {
    COMPLETED: Kind.COMPLETED,
    FAILED: Kind.FAILED,
    CANCELED: Kind.CANCELED,
    REJECTED: Kind.REJECTED,
}
TERMINAL_STATES: frozenset[str] = frozenset(TERMINAL_KIND)
#: A blocking send returns at these as well as at terminal states (§3.2.2).
INTERRUPTED: frozenset[str] = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})
#: A stream closes after these: credentials may arrive out of band, so auth-required keeps it open.
ENDS_STREAM: frozenset[str] = TERMINAL_STATES | {INPUT_REQUIRED}

#: The members of StreamResponse; an object has exactly one of them.
STREAM_KINDS: tuple[str, ...] = ("artifactUpdate", "statusUpdate", "task", "message")


_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.\d+)?\Z", re.ASCII)


def effective_version(header: str | None, query: str | None, supported: Collection[str] = (V10, V03)) -> str:
    """The protocol version of a request (§3.6): header, else query parameter, else 0.3.

    Args:
        header: value of ``A2A-Version``, if it was sent.
        query: value of the query parameter of that name, if there is one.
        supported: versions as ``major.minor``.

    Returns:
        The member of ``supported`` that is meant; a patch number is ignored.

    Raises:
        A2AFault: VersionNotSupported.
    """
    asked = (header or "").strip() or (query or "").strip() or V03
    match = _VERSION.match(asked)
    version = f"{int(match[1])}.{int(match[2])}" if match else ""
    if version in supported:
        return version
    expected = "' or '".join(sorted(supported))
    raise A2AFault(
        "VersionNotSupported",
        f"A2A version '{asked}' is not supported by this handler. Expected version '{expected}'.",
    )


def kind_of(event: Json) -> str | None:
    """Which member of StreamResponse the object has: one of ``STREAM_KINDS``, None where it has none."""
    for kind in STREAM_KINDS:
        if event.get(kind) is not None:
            return kind
    return None


def body_of(event: Json) -> Json:
    """What the one member of a StreamResponse holds; empty where it has none."""
    kind = kind_of(event)
    return event[kind] if kind else {}


def task_id_of(event: Json) -> str:
    """The task that an event names, "" where it names none."""
    kind = kind_of(event)
    return event[kind].get("id" if kind == "task" else "taskId") or "" if kind else ""


def context_id_of(event: Json) -> str:
    """The context that an event names, "" where it names none."""
    return body_of(event).get("contextId") or ""


def status_of(event: Json) -> Json | None:
    """The TaskStatus that an event carries; None for artifacts and messages."""
    body = event.get("statusUpdate")
    if body is None:
        body = event.get("task")
    return None if body is None else body.get("status") or {}


def state_of(event: Json) -> str | None:
    """The task state that an event carries; None for artifacts and messages, UNSPECIFIED where it is left out."""
    status = status_of(event)
    return None if status is None else status.get("state") or UNSPECIFIED


def ends_stream(event: Json) -> bool:
    """Whether a client's stream closes after this event: terminal, input required, or a lone Message."""
    return state_of(event) in ENDS_STREAM or event.get("message") is not None


def message_of(params: Json) -> Json:
    """The Message of SendMessage parameters, empty where there is none."""
    return params.get("message") or {}


_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))\Z", re.ASCII
)
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> int:
    """Milliseconds since 1970 UTC of an RFC 3339 timestamp (§5.6.1). Finer digits are cut off.

    Raises:
        ValueError: it is not one.
    """
    match = _TIMESTAMP.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 timestamp")
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    offset = timedelta(hours=int(zone_hour), minutes=int(zone_minute)) if sign else timedelta()
    zone = timezone(-offset if sign == "-" else offset)
    at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=zone)
    return (at - _UNIX) // timedelta(milliseconds=1) + int(((fraction or "") + "000")[:3])
