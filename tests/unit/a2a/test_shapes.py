"""What comes from outside is brought to one form or refused, as the SDK's parser does."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import a2a_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.a2a import shapes
from bridge.a2a.dialect import OPERATIONS
from bridge.a2a.faults import A2AFault
from bridge.a2a.shapes import REQUESTS, STREAM_RESPONSE, settle_event, settle_request, settle_task

Json = dict[str, Any]

PLAIN = {
    FieldDescriptor.TYPE_STRING: str,
    FieldDescriptor.TYPE_BYTES: str,
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_INT32: shapes.WHOLE,
}
WELL_KNOWN = {
    "google.protobuf.Struct": dict,
    "google.protobuf.Value": shapes.ANYTHING,
    "google.protobuf.Timestamp": str,
}


def shape_of(descriptor: Descriptor) -> shapes.Shape:
    """A shape as the SDK's own descriptors have it."""
    found: shapes.Shape = {}
    for field in descriptor.fields:
        if field.type == FieldDescriptor.TYPE_ENUM:
            found[field.json_name] = shapes.Names(tuple(field.enum_type.values_by_name))
        elif field.type != FieldDescriptor.TYPE_MESSAGE:
            found[field.json_name] = shapes.STRINGS if field.is_repeated else PLAIN[field.type]
        elif field.message_type.full_name in WELL_KNOWN:
            found[field.json_name] = WELL_KNOWN[field.message_type.full_name]
        else:
            wrap = shapes.Many if field.is_repeated else shapes.One
            found[field.json_name] = wrap(shape_of(field.message_type))
    return found


def test_shapes_equal_the_sdks() -> None:
    assert shape_of(a2a_pb2.StreamResponse.DESCRIPTOR) == STREAM_RESPONSE
    models: dict[str, Any] = {
        **JsonRpcDispatcher.METHOD_TO_MODEL,
        "SubscribeToTask": a2a_pb2.SubscribeToTaskRequest,
    }
    assert {name: shape_of(model.DESCRIPTOR) for name, model in models.items()} == REQUESTS
    assert set(REQUESTS) == set(OPERATIONS)


ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from([2**31, -(2**31), 2.0, 2.5, "5", "-5", "x", "", "TASK_STATE_WORKING"]),
    st.just([]),
    st.just(["a"]),
    st.just([1]),
    st.just({}),
    st.just({"x": 1}),
    st.just([{}]),
    st.just([None]),
)


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def fitting(kind: Any) -> st.SearchStrategy[Any]:
    match kind:
        case shapes.One(shape):
            return objects(shape)
        case shapes.Many(shape):
            return st.lists(objects(shape), max_size=2)
        case shapes.Names(names):
            return st.sampled_from(names) | st.integers(0, len(names) - 1)
        case shapes.WHOLE:
            return st.integers(0, 9)
        case shapes.STRINGS:
            return st.lists(st.sampled_from("ab"), max_size=2)
        case _:
            return {str: st.sampled_from(["YWJj", ""]), bool: st.booleans(), dict: st.just({"k": 1})}.get(
                kind, ODD
            )


def objects(shape: shapes.Shape) -> st.SearchStrategy[Json]:
    members: dict[str, st.SearchStrategy[Any]] = {}
    for name, kind in shape.items():
        if name in {"timestamp", "statusTimestampAfter", "raw"}:
            continue  # texts of a form: not a question of shape
        good = fitting(kind)
        members[name] = st.one_of(*[good] * 12, ODD)
    some = st.fixed_dictionaries({}, optional=members)
    return st.builds(
        lambda made, spelled, unknown: (
            {(snake(name) if name in spelled else name): value for name, value in made.items()} | unknown
        ),
        some,
        st.sets(st.sampled_from(sorted(shape)), max_size=1),
        st.just({}) | st.just({}) | st.just({"unknown_member": [1], "$": None}),
    )


def compare(ours: Any, value: Json, message: Any) -> None:
    before = copy.deepcopy(value)
    try:
        theirs = ParseDict(copy.deepcopy(value), type(message)(), ignore_unknown_fields=True)
    except ParseError:
        with pytest.raises(A2AFault):
            ours(value)
        return
    try:
        assert ours(value) is value
    except A2AFault as fault:
        # The SDK takes a list of anything for an empty object, and false for the first name of an enumeration.
        assert "must be an object" in str(fault) or "must be a name" in str(fault)  # noqa: PT017
        return
    assert ParseDict(value, type(message)(), ignore_unknown_fields=True) == theirs
    again = copy.deepcopy(value)
    assert ours(again) == value
    assert value.get("unknown_member") == before.get("unknown_member")


@given(params=objects(REQUESTS["SendMessage"]))
@settings(max_examples=250, deadline=None)
def test_a_send_is_taken_as_the_sdk_takes_it(params: Json) -> None:
    compare(lambda value: settle_request("SendMessage", value), params, a2a_pb2.SendMessageRequest())


@given(params=objects(REQUESTS["ListTasks"]))
@settings(max_examples=150, deadline=None)
def test_a_list_is_taken_as_the_sdk_takes_it(params: Json) -> None:
    compare(lambda value: settle_request("ListTasks", value), params, a2a_pb2.ListTasksRequest())


@given(task=objects(shapes.TASK))
@settings(max_examples=150, deadline=None)
def test_a_task_is_taken_as_the_sdk_takes_it(task: Json) -> None:
    compare(settle_task, task, a2a_pb2.Task())


def test_another_spelling_cannot_hide_a_task_from_the_access_check() -> None:
    params = {"message": {"message_id": "m", "task_id": "T", "context_id": None, "role": 1, "my_own": 1}}
    assert settle_request("SendMessage", params) == {
        "message": {"messageId": "m", "taskId": "T", "role": "ROLE_USER", "my_own": 1}
    }
    with pytest.raises(A2AFault, match=r"message\.taskId: is there twice, also as task_id"):
        settle_request("SendMessage", {"message": {"taskId": "mine", "task_id": "T"}})


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"message": {"messageId": 5}}, "message.messageId: must be a string"),
        ({"message": "hello"}, "message: must be an object"),
        ({"message": {"parts": {"text": "x"}}}, "message.parts: must be a list of objects"),
        ({"message": {"parts": [{"text": "a"}, "x"]}}, "message.parts[1]: must be an object"),
        ({"message": {"parts": [{"text": "a", "url": "b"}]}}, "message.parts[0]: has more than one of text, raw"),
        ({"message": {"parts": [{"metadata": 1}]}}, "message.parts[0].metadata: must be an object"),
        ({"message": {"role": []}}, "message.role: must be a name such as ROLE_USER"),
        ({"message": {"extensions": ["a", 1]}}, "message.extensions: must be a list of strings"),
        (
            {"configuration": {"returnImmediately": "true"}},
            "configuration.returnImmediately: must be true",
        ),
        ({"configuration": {"historyLength": 1.5}}, "configuration.historyLength: must be a whole number"),
        ({"configuration": {"history_length": True}}, "configuration.historyLength: must be a whole number"),
    ],
)
def test_a_refusal_names_the_member(params: Json, told: str) -> None:
    with pytest.raises(A2AFault) as refused:
        settle_request("SendMessage", params)
    assert refused.value.name == "InvalidParams"
    assert str(refused.value).startswith(told)
    field, _, message = str(refused.value).partition(": ")
    assert refused.value.metadata == {"errors": [{"field": field, "message": message}]}


@pytest.mark.parametrize("given_as", [7, 7.0, "7"])
def test_a_number_may_be_written_in_three_ways(given_as: Any) -> None:
    taken = settle_request("GetTask", {"id": "T", "historyLength": given_as})["historyLength"]
    assert taken == 7
    assert type(taken) is int


@pytest.mark.parametrize("event", [{}, {"later": {}}, {"task": None}, {"task": {}, "message": {}}])
def test_an_event_is_exactly_one_of_four(event: Json) -> None:
    with pytest.raises(A2AFault, match="exactly one of") as refused:
        settle_event(event)
    assert refused.value.name == "InvalidAgentResponse"


def test_an_event_keeps_what_is_unknown() -> None:
    event = {"task": None, "statusUpdate": {"status": {"state": 2, "new_thing": 1}, "task_id": "T"}, "later": {}}
    assert settle_event(event) == {
        "statusUpdate": {"status": {"state": "TASK_STATE_WORKING", "new_thing": 1}, "taskId": "T"},
        "later": {},
    }


@pytest.mark.parametrize(
    "event",
    [
        {"artifactUpdate": []},
        {"artifactUpdate": {"artifact": {"parts": ["x"]}}},
        {"statusUpdate": {"status": "done"}},
        {"statusUpdate": {"status": {"state": "TASK_STATE_WORKING", "message": {"parts": 1}}}},
        {"task": {"history": [None]}},
    ],
)
def test_a_bad_event_is_a_fault_of_the_agent(event: Json) -> None:
    with pytest.raises(A2AFault) as refused:
        settle_event(event)
    assert refused.value.name == "InvalidAgentResponse"


@pytest.mark.parametrize(
    ("operation", "params", "told"),
    [
        ("GetTask", {"id": "t", "historyLength": "x"}, "historyLength: must be a whole number"),
        ("GetTask", {"id": "t", "historyLength": 5.5}, "historyLength: must be a whole number"),
        ("SendMessage", {"message": {"extensions": [1]}}, "message.extensions: must be a list of strings"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_name(operation: str, params: Json, told: str) -> None:
    with pytest.raises(A2AFault, match=told):
        settle_request(operation, params)


def test_a_task_with_lists_of_names_and_empty_lists_is_settled_in_place() -> None:
    message = {"message_id": "m", "reference_task_ids": ["t"], "parts": [{"text": "p"}], "extensions": ["e"]}
    task = {"id": "T", "artifacts": [], "history": [message]}
    assert settle_task(task) is task
    settled = {"messageId": "m", "referenceTaskIds": ["t"], "parts": [{"text": "p"}], "extensions": ["e"]}
    assert task == {"id": "T", "artifacts": [], "history": [settled]}
    for wrong in (["t", 1], "t"):
        with pytest.raises(A2AFault, match="referenceTaskIds"):
            settle_task({"id": "T", "history": [{"messageId": "m", "referenceTaskIds": wrong}]})
