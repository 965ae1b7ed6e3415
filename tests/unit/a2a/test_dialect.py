"""The tables equal the SDK's; the accessors and version rule do what §3.6 and §5 say."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from a2a.server.agent_execution import active_task
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import create_rest_routes
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import a2a_pb2
from a2a.utils import constants, error_handlers, errors
from google.protobuf.json_format import ParseError
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from bridge.a2a import dialect, faults
from bridge.a2a.dialect import ERRORS, OPERATIONS, A2AFault, error_object
from bridge.a2a.faults import status_object
from bridge.a2a.shapes import REQUESTS
from bridge.journal import TERMINAL, Kind


def sdk_error(name: str) -> type[errors.A2AError]:
    cls = getattr(errors, f"{'JSONParse' if name == 'JsonParse' else name}Error")
    assert issubclass(cls, errors.A2AError)
    return cls


def test_operations_are_the_methods_of_the_sdks_server() -> None:
    assert set(OPERATIONS) == set(JsonRpcDispatcher.METHOD_TO_MODEL) | {"SubscribeToTask"}
    assert {name for name, each in OPERATIONS.items() if each.streaming} == {
        "SendStreamingMessage",
        "SubscribeToTask",
    }
    assert all(name == each.name for name, each in OPERATIONS.items())


def test_paths_and_verbs_are_the_routes_of_the_sdks_server() -> None:
    routes = create_rest_routes(cast("RequestHandler", None))
    assert {
        (verb, re.sub(r"\{\w+\}", "{}", each.path)) for each in OPERATIONS.values() for verb in each.verbs
    } == {
        (verb, re.sub(r"\{\w+\}", "{}", route.path))
        for route in routes
        if isinstance(route, Route)
        for verb in (route.methods or set()) - {"HEAD"}
    }


def test_variables_in_paths_are_members_of_the_request() -> None:
    for each in OPERATIONS.values():
        assert set(re.findall(r"\{(\w+)\}", each.path)) <= set(REQUESTS[each.name])


def test_error_codes_equal_the_sdks() -> None:
    assert {sdk_error(name): row.jsonrpc for name, row in ERRORS.items()} == errors.JSON_RPC_ERROR_CODE_MAP


def test_error_statuses_and_reasons_equal_the_sdks() -> None:
    # The SDK has no row for text that is no JSON; its HTTP+JSON binding answers it as this row does.
    ours = {
        sdk_error(name): (row.http, row.grpc, row.reason) for name, row in ERRORS.items() if name != "JsonParse"
    }
    assert ours == {cls: tuple(row) for cls, row in errors.A2A_ERROR_MAPPING.items()}


def test_default_messages_equal_the_sdks() -> None:
    assert {name: row.message for name, row in ERRORS.items()} == {
        name: sdk_error(name).message for name in ERRORS
    }


@pytest.mark.parametrize("name", [name for name in ERRORS if name not in {"MethodNotFound", "JsonParse"}])
@pytest.mark.parametrize("metadata", [None, {"taskId": "t"}, {"errors": [{"field": "a.b", "message": "no"}]}])
def test_error_objects_have_the_shape_that_the_sdk_emits(name: str, metadata: dict[str, Any] | None) -> None:
    theirs = build_error_response(1, sdk_error(name)("what happened", metadata))["error"]
    assert error_object(name, "what happened", metadata) == theirs
    fault = A2AFault(name, "what happened", metadata)
    assert fault.error_object() == theirs
    assert fault.row is ERRORS[name]
    assert str(fault) == "what happened"


@pytest.mark.parametrize("name", [name for name in ERRORS if name != "JsonParse"])
@pytest.mark.parametrize("metadata", [None, {"taskId": "t"}, {"errors": [{"field": "a.b", "message": "no"}]}])
def test_statuses_of_http_json_have_the_shape_that_the_sdk_emits(
    name: str, metadata: dict[str, Any] | None
) -> None:
    error = sdk_error(name)("what happened", None if name == "MethodNotFound" else metadata)
    ours = status_object(error_object(name, "what happened", metadata))
    assert ours == error_handlers.build_rest_error_payload(error)


def test_text_that_is_no_json_reads_as_the_sdks_parse_error() -> None:
    theirs = error_handlers.build_rest_error_payload(ParseError("no"))
    assert status_object(error_object("JsonParse", "no")) == theirs


@pytest.mark.parametrize("data", [None, {"any": 1}, [], ["x"], [{"@type": "other"}], "x"])
def test_a_status_has_an_error_info_whatever_an_agent_said(data: Any) -> None:
    error = {"code": -32001, "message": "m", "data": data}
    details = status_object(error)["error"]["details"]
    assert details[0]["reason"] == "TASK_NOT_FOUND"
    assert details[0]["metadata"] == (data if isinstance(data, dict) else {})
    assert details[1:] == ([{"@type": "other"}] if data == [{"@type": "other"}] else [])
    unknown = status_object(error | {"code": -5})["error"]
    assert (unknown["code"], unknown["status"], unknown["message"]) == (500, "INTERNAL", "m")


@pytest.mark.parametrize(("name", "code"), [("MethodNotFound", -32601), ("JsonParse", -32700)])
def test_faults_of_the_envelope_carry_no_data(name: str, code: int) -> None:
    assert error_object(name) == {"code": code, "message": ERRORS[name].message}


def test_constants_equal_the_sdks() -> None:
    assert faults.URI_ERROR_INFO == error_handlers.ERROR_INFO_TYPE
    assert faults.URI_BAD_REQUEST == error_handlers.BAD_REQUEST_TYPE
    assert faults.ERROR_DOMAIN == error_handlers.A2A_DOMAIN
    assert dialect.VERSION_HEADER == constants.VERSION_HEADER
    assert (dialect.V10, dialect.V03) == (constants.PROTOCOL_VERSION_1_0, constants.PROTOCOL_VERSION_0_3)


def test_states_equal_the_sdks() -> None:
    assert list(dialect.TASK_STATES) == a2a_pb2.TaskState.keys()
    assert list(dialect.ROLES) == a2a_pb2.Role.keys()
    assert {a2a_pb2.TaskState.Value(each) for each in dialect.TERMINAL_STATES} == active_task.TERMINAL_TASK_STATES
    assert {a2a_pb2.TaskState.Value(each) for each in dialect.INTERRUPTED} == active_task.INTERRUPTED_TASK_STATES
    assert {dialect.INPUT_REQUIRED} == dialect.ENDS_STREAM - dialect.TERMINAL_STATES
    assert set(dialect.STREAM_KINDS) == {field.json_name for field in a2a_pb2.StreamResponse.DESCRIPTOR.fields}


def test_each_terminal_state_has_its_journal_kind() -> None:
    assert set(dialect.TERMINAL_KIND.values()) == TERMINAL - {Kind.REPLY, Kind.EXPIRED}


@pytest.mark.parametrize(
    ("header", "query", "version"),
    [
        ("1.0", None, "1.0"),
        ("1.0.7", None, "1.0"),
        (" 1.0 ", None, "1.0"),
        (None, "1.0", "1.0"),
        ("", "1.0", "1.0"),
        ("0.3", "1.0", "0.3"),
        ("", "", "0.3"),
        (None, None, "0.3"),
        ("0.3.0", None, "0.3"),
    ],
)
def test_the_version_is_header_then_query_then_old(header: str | None, query: str | None, version: str) -> None:
    assert dialect.effective_version(header, query) == version


@pytest.mark.parametrize("text", ["1", "2.0", "1.1", "0.2.5", "v1.0", "1.0-dev", "latest", "1.0.0.0", "\u0661.0"])
def test_an_unknown_version_is_refused(text: str) -> None:
    with pytest.raises(A2AFault) as refused:
        dialect.effective_version(text, None)
    assert refused.value.row.jsonrpc == -32009


def test_a_front_may_support_fewer_versions() -> None:
    with pytest.raises(A2AFault, match=r"'0\.3' is not supported by this handler\. Expected version '1\.0'"):
        dialect.effective_version(None, None, supported=("1.0",))


TASK = {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}
STATUS = {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}}
ARTIFACT = {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a"}}}
MESSAGE = {"message": {"messageId": "m", "taskId": "t", "contextId": "c"}}


@pytest.mark.parametrize(
    ("event", "kind", "state", "ends"),
    [
        (TASK, "task", "TASK_STATE_COMPLETED", True),
        (STATUS, "statusUpdate", "TASK_STATE_INPUT_REQUIRED", True),
        (ARTIFACT, "artifactUpdate", None, False),
        (MESSAGE, "message", None, True),
    ],
)
def test_accessors(event: dict[str, Any], kind: str, state: str | None, ends: bool) -> None:
    assert dialect.kind_of(event) == kind
    assert dialect.body_of(event) is event[kind]
    assert dialect.task_id_of(event) == "t"
    assert dialect.context_id_of(event) == "c"
    assert dialect.state_of(event) == state
    assert dialect.ends_stream(event) is ends


def test_accessors_on_what_is_left_out() -> None:
    assert dialect.kind_of({"task": None}) is None
    assert dialect.body_of({}) == {}
    assert dialect.task_id_of({}) == ""
    assert dialect.task_id_of({"task": None, "statusUpdate": {"taskId": "t"}}) == "t"
    assert dialect.context_id_of({"message": {"contextId": None}}) == ""
    assert dialect.state_of({"statusUpdate": {}}) == "TASK_STATE_UNSPECIFIED"
    assert dialect.status_of(ARTIFACT) is None
    assert dialect.message_of({}) == {}
    assert dialect.message_of({"message": {"messageId": "m"}}) == {"messageId": "m"}


@given(at_ms=st.integers(-62135596800_000, 253402300799_999))
@settings(max_examples=200)
def test_timestamps_are_read_as_the_sdk_writes_them(at_ms: int) -> None:
    proto = a2a_pb2.TaskStatus().timestamp
    proto.FromMilliseconds(at_ms)
    assert dialect.parse_timestamp(proto.ToJsonString()) == at_ms


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T00:00:00.001999999Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:30:00.25-00:30", 250),
    ],
)
def test_timestamps_of_others(text: str, at_ms: int) -> None:
    assert dialect.parse_timestamp(text) == at_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-02-30T00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-01-01T00:00:00Zx",
        "2026-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+99:99",
    ],
)
def test_what_is_not_a_timestamp_raises(text: str) -> None:
    with pytest.raises(ValueError):
        dialect.parse_timestamp(text)
