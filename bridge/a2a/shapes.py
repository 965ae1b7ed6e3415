"""What members A2A's objects have, and of what type: everything that comes from outside is settled here first.

Other rules read members by their JSON names and trust their types. Peers may do otherwise within ProtoJSON: write
``task_id`` for ``taskId``, a number for an enum name, null for absent. And outside it: anything. What is here
brings the first to one form in place and refuses the second, as the SDK's parser does (a test compares). Unknown
members stay. This file must not know what is required or what a member means. The failures it prevents: a client
that reaches another's task by a spelling that the access check does not read, and one bad member of an agent's
event that ends a run with a TypeError.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bridge.a2a.dialect import ROLES, STREAM_KINDS, TASK_STATES
from bridge.a2a.faults import A2AFault

Json = dict[str, Any]
Shape = dict[str, Any]


class One(NamedTuple):
    """A member that is an object of a shape."""

    shape: Shape


class Many(NamedTuple):
    """A member that is a list of objects of a shape."""

    shape: Shape


class Names(NamedTuple):
    """A member that is an enum: a name; its number is turned into it. Unknown names of newer peers stay."""

    names: tuple[str, ...]


# Besides str, bool and dict, whose values fit exactly when they are of that type.
WHOLE = "a whole number"
STRINGS = "a list of strings"
ANYTHING = object

PART: Shape = {
    "text": str,
    "raw": str,
    "url": str,
    "data": ANYTHING,
    "metadata": dict,
    "filename": str,
    "mediaType": str,
}
MESSAGE: Shape = {
    "messageId": str,
    "contextId": str,
    "taskId": str,
    "role": Names(ROLES),
    "parts": Many(PART),
    "metadata": dict,
    "extensions": STRINGS,
    "referenceTaskIds": STRINGS,
}
STATUS: Shape = {"state": Names(TASK_STATES), "message": One(MESSAGE), "timestamp": str}
ARTIFACT: Shape = {
    "artifactId": str,
    "name": str,
    "description": str,
    "parts": Many(PART),
    "metadata": dict,
    "extensions": STRINGS,
}
TASK: Shape = {
    "id": str,
    "contextId": str,
    "status": One(STATUS),
    "artifacts": Many(ARTIFACT),
    "history": Many(MESSAGE),
    "metadata": dict,
}
STATUS_UPDATE: Shape = {"taskId": str, "contextId": str, "status": One(STATUS), "metadata": dict}
ARTIFACT_UPDATE: Shape = {
    "taskId": str,
    "contextId": str,
    "artifact": One(ARTIFACT),
    "append": bool,
    "lastChunk": bool,
    "metadata": dict,
}
STREAM_RESPONSE: Shape = {
    "task": One(TASK),
    "message": One(MESSAGE),
    "statusUpdate": One(STATUS_UPDATE),
    "artifactUpdate": One(ARTIFACT_UPDATE),
}
PUSH_CONFIG: Shape = {
    "tenant": str,
    "id": str,
    "taskId": str,
    "url": str,
    "token": str,
    "authentication": One({"scheme": str, "credentials": str}),
}
_SEND: Shape = {
    "tenant": str,
    "message": One(MESSAGE),
    "configuration": One(
        {
            "acceptedOutputModes": STRINGS,
            "taskPushNotificationConfig": One(PUSH_CONFIG),
            "historyLength": WHOLE,
            "returnImmediately": bool,
        }
    ),
    "metadata": dict,
}
_PUSH_KEY: Shape = {"tenant": str, "taskId": str, "id": str}

#: Parameters by operation, as in ``dialect.OPERATIONS``.
REQUESTS: dict[str, Shape] = {
    "SendMessage": _SEND,
    "SendStreamingMessage": _SEND,
    "GetTask": {"tenant": str, "id": str, "historyLength": WHOLE},
    "ListTasks": {
        "tenant": str,
        "contextId": str,
        "status": Names(TASK_STATES),
        "pageSize": WHOLE,
        "pageToken": str,
        "historyLength": WHOLE,
        "statusTimestampAfter": str,
        "includeArtifacts": bool,
    },
    "CancelTask": {"tenant": str, "id": str, "metadata": dict},
    "SubscribeToTask": {"tenant": str, "id": str},
    "CreateTaskPushNotificationConfig": PUSH_CONFIG,
    "GetTaskPushNotificationConfig": _PUSH_KEY,
    "ListTaskPushNotificationConfigs": {"tenant": str, "taskId": str, "pageSize": WHOLE, "pageToken": str},
    "DeleteTaskPushNotificationConfig": _PUSH_KEY,
    "GetExtendedAgentCard": {"tenant": str},
}

_CONTENTS = ("text", "raw", "url", "data")
_INT32 = range(-(2**31), 2**31)
_WORDS: dict[Any, str] = {
    str: "a string",
    bool: "true or false",
    dict: "an object",
    One: "an object",
    Many: "a list of objects",
    WHOLE: WHOLE,
    STRINGS: STRINGS,
}


class _Misfit(Exception):
    """A member does not fit; carries where and why outwards."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where, self.why = where, why

    def within(self, place: str) -> _Misfit:
        return _Misfit(f"{place}.{self.where}" if self.where else place, self.why)


def settle_request(operation: str, params: Json) -> Json:
    """Bring a client's parameters to one form, in place; returns them.

    Args:
        operation: key into ``REQUESTS``.
        params: its parameters, an object.

    Raises:
        A2AFault: InvalidParams, naming the member.
    """
    try:
        _settle(params, REQUESTS[operation])
    except _Misfit as misfit:
        detail = f"{misfit.where}: {misfit.why}"
        raise A2AFault(
            "InvalidParams", detail, {"errors": [{"field": misfit.where, "message": misfit.why}]}
        ) from None
    return params


def settle_event(event: Json) -> Json:
    """Bring an agent's StreamResponse to one form, in place; returns it.

    Raises:
        A2AFault: InvalidAgentResponse, naming the member; also where it is not exactly one of the four kinds.
    """
    try:
        _settle(event, STREAM_RESPONSE)
    except _Misfit as misfit:
        raise A2AFault("InvalidAgentResponse", f"{misfit.where}: {misfit.why}") from None
    if sum([kind in event for kind in STREAM_KINDS]) != 1:
        raise A2AFault("InvalidAgentResponse", f"an event has exactly one of {', '.join(STREAM_KINDS)}")
    return event


def settle_task(task: Json) -> Json:
    """Bring an agent's Task object to one form, in place; returns it.

    Raises:
        A2AFault: InvalidAgentResponse, naming the member.
    """
    settle_event({"task": task})
    return task


def _settle(value: Json, shape: Shape) -> None:
    # Called for every object of every streamed event: the first loop makes nothing and changes nothing here.
    odd: list[str] | None = None
    for name, member in value.items():
        kind: Any = shape.get(name)
        if type(member) is kind or kind is ANYTHING:
            continue
        kind_type = type(kind)
        if kind_type is One and type(member) is dict:
            try:
                _settle(member, kind.shape)
            except _Misfit as misfit:
                raise misfit.within(name) from None
        elif kind_type is Many and type(member) is list:
            _settle_each(name, member, kind.shape)
        elif kind is not None or "_" in name:
            odd = [*(odd or ()), name]
    if odd is not None:
        for name in odd:
            _settle_odd(value, name, shape)
    if shape is PART and len(value) > 1 and sum(name in value for name in _CONTENTS) > 1:
        raise _Misfit("", f"has more than one of {', '.join(_CONTENTS)}")


def _settle_each(name: str, members: list[Any], shape: Shape) -> None:
    for at, member in enumerate(members):
        if type(member) is not dict:
            raise _Misfit(f"{name}[{at}]", "must be an object")
        try:
            _settle(member, shape)
        except _Misfit as misfit:
            raise misfit.within(f"{name}[{at}]") from None


def _settle_odd(value: Json, name: str, shape: Shape) -> None:
    kind = shape.get(name)
    if kind is None:
        head, *tail = name.split("_")
        json_name = head + "".join(word.capitalize() for word in tail)
        if json_name not in shape:
            return
        if json_name in value:
            raise _Misfit(json_name, f"is there twice, also as {name}")
        _settle(renamed := {json_name: value.pop(name)}, shape)
        value.update(renamed)
    elif value[name] is None:
        del value[name]
    else:
        value[name] = _scalar(name, value[name], kind)


def _scalar(name: str, member: Any, kind: Any) -> Any:
    if type(kind) is Names:
        if type(member) is int and member in _INT32:
            return kind.names[member] if 0 <= member < len(kind.names) else member
        if type(member) is str:
            return member
        raise _Misfit(name, f"must be a name such as {kind.names[1]}")
    if kind is WHOLE:
        number = _whole(member)
        if number is not None:
            return number
    elif kind is STRINGS and type(member) is list and all(type(each) is str for each in member):
        return member
    raise _Misfit(name, f"must be {_WORDS[kind if type(kind) is type or type(kind) is str else type(kind)]}")


def _whole(member: Any) -> int | None:
    # ProtoJSON also takes 5.0 and "5".
    if type(member) is str:
        member = int(member) if re.fullmatch("-?[0-9]{1,10}", member) else None
    elif type(member) is float and member.is_integer():
        member = int(member)
    return member if type(member) is int and member in _INT32 else None
