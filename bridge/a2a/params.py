"""Whether the parameters of an operation are what A2A says they are, in words that help whoever wrote them.

The sidecar answers without asking the agent, so it must refuse what the agent would refuse. Checked is what the
rules read and what §5.7 requires; everything else, unknown members included, goes to the agent as it came.
Missing fields are reported all at once, with their places, as the SDK's server does. This file must not know who
asks.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.dialect import ROLES, TASK_STATES, UNSPECIFIED, parse_timestamp
from bridge.a2a.faults import A2AFault

Json = dict[str, Any]

PAGE_SIZE_MAX = 100
PAGE_SIZE = 50
_INT32_MAX = 2**31 - 1
_REQUIRED = "Field is required."
_PART_KINDS = ("text", "raw", "url", "data")


def invalid(field: str, message: str) -> A2AFault:
    """InvalidParams about one field."""
    return A2AFault("InvalidParams", f"{field}: {message}", {"errors": [{"field": field, "message": message}]})


def required(params: Json, field: str) -> str:
    """A string that must be there and not be empty.

    Raises:
        A2AFault: InvalidParams.
    """
    value = optional(params, field)
    if value is None:
        raise invalid(field, _REQUIRED)
    return value


def optional(params: Json, field: str) -> str | None:
    """A string; None where it is absent or empty, which is the same in A2A.

    Raises:
        A2AFault: InvalidParams.
    """
    value = params.get(field)
    if value is not None and not isinstance(value, str):
        raise invalid(field, f"must be a string, not {_name(value)}")
    return value or None


def whole(params: Json, field: str, low: int = 0, high: int = _INT32_MAX) -> int | None:
    """A whole number; None where it is absent. ProtoJSON also allows ``5.0`` and ``"5"``.

    Raises:
        A2AFault: InvalidParams.
    """
    value = params.get(field)
    if value is None:
        return None
    digits = value.removeprefix("-") if isinstance(value, str) and value.isascii() and len(value) < 12 else ""
    if digits.isdecimal() or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(field, f"must be a whole number, not {_name(value)}")
    if not low <= value <= high:
        raise invalid(field, f"must be from {low} to {high}, not {value}" if high < _INT32_MAX else "is too small")
    return value


def flag(params: Json, field: str) -> bool:
    """A boolean; False where it is absent.

    Raises:
        A2AFault: InvalidParams.
    """
    value = params.get(field)
    if value is not None and not isinstance(value, bool):
        raise invalid(field, f"must be true or false, not {_name(value)}")
    return bool(value)


def section(params: Json, field: str) -> Json:
    """An object; empty where it is absent.

    Raises:
        A2AFault: InvalidParams.
    """
    value = params.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(field, f"must be an object, not {_name(value)}")
    return value


def history_length(params: Json) -> int | None:
    """``historyLength`` (§3.2.4).

    Raises:
        A2AFault: InvalidParams, in the SDK's words where it is negative.
    """
    length = whole(params, "historyLength", low=-_INT32_MAX - 1)
    if length is not None and length < 0:
        raise A2AFault("InvalidParams", "history length must be non-negative")
    return length


def task_state(params: Json, field: str = "status") -> str | None:
    """A task state by its name or number; None where it is absent or unspecified.

    Raises:
        A2AFault: InvalidParams.
    """
    value = params.get(field)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(TASK_STATES):
        value = TASK_STATES[value]
    if value is None or value in ("", UNSPECIFIED):
        return None
    if value not in TASK_STATES:
        raise invalid(field, "must be a task state such as TASK_STATE_WORKING")
    return str(value)


def timestamp_ms(params: Json, field: str) -> int | None:
    """Milliseconds since 1970 UTC; None where it is absent.

    Raises:
        A2AFault: InvalidParams.
    """
    text = optional(params, field)
    if text is None:
        return None
    try:
        return parse_timestamp(text)
    except ValueError:
        raise invalid(field, "must be an RFC 3339 timestamp such as 2026-11-29T12:00:00Z") from None


def check_send(params: Json) -> None:
    """SendMessage and SendStreamingMessage (§3.1.1, §4.1.4).

    Raises:
        A2AFault: InvalidParams, naming every field that is missing; PushNotificationNotSupported.
    """
    message = section(params, "message")
    section(params, "metadata")
    configuration = section(params, "configuration")
    history_length(configuration)
    flag(configuration, "returnImmediately")
    if configuration.get("taskPushNotificationConfig") is not None:
        # Accepting it without ever delivering would be silent; the card says that there is no push.
        raise A2AFault("PushNotificationNotSupported")
    for field in ("taskId", "contextId"):
        optional(message, field)
    missing = _missing_in_message(message) if message else [("message", _REQUIRED)]
    if missing:
        errors = [{"field": field, "message": text} for field, text in missing]
        told = "; ".join(f"{field}: {text}" for field, text in missing)
        raise A2AFault("InvalidParams", f"Validation failed: {told}", {"errors": errors})


def _missing_in_message(message: Json) -> list[tuple[str, str]]:
    """What §5.7 requires of a message and is not there, with its place."""
    missing = []
    if not isinstance(message.get("messageId"), str) or not message["messageId"]:
        missing.append(("message.messageId", _REQUIRED))
    role = message.get("role")
    if role not in ROLES[1:] and role not in (1, 2):
        missing.append(("message.role", f"{_REQUIRED} (ROLE_USER or ROLE_AGENT)"))
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        missing.append(("message.parts", f"{_REQUIRED} (a list with at least one part)"))
    else:
        missing += [
            (f"message.parts[{at}]", "must be an object with one of " + ", ".join(_PART_KINDS))
            for at, part in enumerate(parts)
            if not isinstance(part, dict) or sum(part.get(kind) is not None for kind in _PART_KINDS) > 1
        ]
    return missing


def _name(value: Any) -> str:
    """What a JSON value is called; null is as good as absent and never asked for."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
