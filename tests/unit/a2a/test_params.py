"""Parameters: what is refused is what the SDK's server refuses, and is told where."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.types.a2a_pb2 import SendMessageRequest
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict, ParseError

from bridge.a2a import params as check
from bridge.a2a.faults import A2AFault

PART = {"text": "x"}
MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [PART]}


def sdk_accepts(params: Any) -> bool:
    try:
        request = ParseDict(params, SendMessageRequest(), ignore_unknown_fields=True)
        validate_proto_required_fields(request)
    except (ParseError, InvalidParamsError):
        return False
    return request.configuration.history_length >= 0


@pytest.mark.parametrize(
    "params",
    [
        {"message": MESSAGE},
        {"message": MESSAGE, "configuration": {"historyLength": 0, "returnImmediately": True}, "metadata": {}},
        {"message": MESSAGE, "configuration": {"historyLength": "5"}},
        {"message": MESSAGE, "configuration": {"historyLength": 5.0}},
        {"message": MESSAGE, "configuration": None, "metadata": None, "newer": {"x": 1}},
        {"message": MESSAGE | {"role": 1, "taskId": "", "contextId": None, "newer": 1}},
        {"message": MESSAGE | {"parts": [{}, {"text": ""}, {"data": {"a": [1]}, "newer": 1}]}},
        {},
        {"message": None},
        {"message": {}},
        {"message": "x"},
        {"message": MESSAGE | {"messageId": ""}},
        {"message": MESSAGE | {"messageId": 5}},
        {"message": MESSAGE | {"role": "ROLE_UNSPECIFIED"}},
        {"message": MESSAGE | {"role": "user"}},
        {"message": MESSAGE | {"parts": []}},
        {"message": MESSAGE | {"parts": "x"}},
        {"message": MESSAGE | {"parts": [PART, {"text": "x", "data": 1}]}},
        {"message": MESSAGE | {"taskId": 5}},
        {"message": MESSAGE | {"contextId": {}}},
        {"message": MESSAGE, "metadata": []},
        {"message": MESSAGE, "configuration": {"historyLength": -1}},
        {"message": MESSAGE, "configuration": {"historyLength": 1.5}},
        {"message": MESSAGE, "configuration": {"historyLength": "x"}},
        {"message": MESSAGE, "configuration": {"historyLength": 2**31}},
        {"message": MESSAGE, "configuration": {"historyLength": True}},
        {"message": MESSAGE, "configuration": {"returnImmediately": 1}},
    ],
)
def test_a_send_is_refused_exactly_where_the_sdk_refuses_it(params: dict[str, Any]) -> None:
    try:
        check.check_send(params)
        accepted = True
    except A2AFault as fault:
        assert fault.row.jsonrpc == -32602  # noqa: PT017
        accepted = False
    assert accepted == sdk_accepts(params)


@pytest.mark.parametrize(
    "params", [{"message": MESSAGE | {"parts": ["x"]}}, {"message": MESSAGE, "configuration": "x"}]
)
def test_a_text_where_an_object_belongs(params: dict[str, Any]) -> None:
    """The SDK's parser takes a text for an object without members; nobody means that."""
    with pytest.raises(A2AFault):
        check.check_send(params)


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(A2AFault) as raised:
        check.check_send({"message": {"parts": [PART, 5]}})
    error = raised.value.error_object()
    assert error["message"].startswith("Validation failed: message.messageId: Field is required.")
    fields = [each["field"] for each in error["data"][1]["fieldViolations"]]
    assert fields == ["message.messageId", "message.role", "message.parts[1]"]


def test_a_webhook_in_a_send_is_refused_rather_than_forgotten() -> None:
    configuration = {"taskPushNotificationConfig": {"url": "https://x"}}
    with pytest.raises(A2AFault) as raised:
        check.check_send({"message": MESSAGE, "configuration": configuration})
    assert raised.value.row.jsonrpc == -32003


@pytest.mark.parametrize(
    ("value", "name"),
    [(True, "a boolean"), (5, "a number"), (5.5, "a number"), ([], "a list"), ({}, "an object")],
)
def test_a_wrong_type_is_called_by_its_name(value: Any, name: str) -> None:
    with pytest.raises(A2AFault, match=f"id: must be a string, not {name}"):
        check.required({"id": value}, "id")


def test_other_wrong_types() -> None:
    with pytest.raises(A2AFault, match="must be true or false, not a string"):
        check.flag({"x": "true"}, "x")
    with pytest.raises(A2AFault, match="must be an object, not a list"):
        check.section({"x": []}, "x")
    with pytest.raises(A2AFault, match="must be a whole number, not an object"):
        check.whole({"x": {}}, "x")
    with pytest.raises(A2AFault, match="from 1 to 100, not 101"):
        check.whole({"x": 101}, "x", 1, 100)


def test_optional_and_required_strings() -> None:
    assert check.required({"id": "t"}, "id") == "t"
    assert check.optional({"id": ""}, "id") is None
    assert check.optional({}, "id") is None
    with pytest.raises(A2AFault, match=r"id: Field is required\."):
        check.required({}, "id")


def test_task_states_by_name_and_number() -> None:
    assert check.task_state({"status": "TASK_STATE_WORKING"}) == "TASK_STATE_WORKING"
    assert check.task_state({"status": 2}) == "TASK_STATE_WORKING"
    assert check.task_state({"status": 0}) is None
    assert check.task_state({}) is None
    wrongs: list[Any] = ["working", 9, -1, True, {}, [], 1.5]
    for wrong in wrongs:
        with pytest.raises(A2AFault, match="status"):
            check.task_state({"status": wrong})


def test_timestamps() -> None:
    assert check.timestamp_ms({"at": "1970-01-01T00:00:01Z"}, "at") == 1000
    assert check.timestamp_ms({}, "at") is None
    with pytest.raises(A2AFault, match="RFC 3339"):
        check.timestamp_ms({"at": "2026-13-01T00:00:00Z"}, "at")
