"""Ids: both directions, every field, nothing else; conflicts change nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from a2a.types import a2a_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict

from bridge.a2a.ids import IdConflict, IdMap

Json = dict[str, Any]


def bound() -> IdMap:
    return IdMap("T", "C", "agent-t", "agent-c")


def message(task: str, context: str) -> Json:
    return {
        "messageId": "m",
        "role": "ROLE_AGENT",
        "taskId": task,
        "contextId": context,
        "parts": [{"text": "about agent-t in agent-c"}],
        "metadata": {"taskId": "agent-t"},
        "referenceTaskIds": [task, "agent-other", "agent-unknown"],
    }


def status_event(task: Any = "agent-t", context: Any = "agent-c") -> Json:
    return {
        "statusUpdate": {
            "taskId": task,
            "contextId": context,
            "status": {"state": "TASK_STATE_WORKING", "message": message(task, context)},
        }
    }


def artifact_event(task: Any = "agent-t", context: Any = "agent-c") -> Json:
    artifact = {"artifactId": "agent-t", "parts": [{"data": {"taskId": "agent-t"}}], "metadata": {"id": "agent-t"}}
    return {"artifactUpdate": {"taskId": task, "contextId": context, "artifact": artifact, "append": True}}


def task_event(task: Any = "agent-t", context: Any = "agent-c") -> Json:
    return {
        "task": {
            "id": task,
            "contextId": context,
            "status": {"state": "TASK_STATE_WORKING", "message": message(task, context)},
            "history": [message(task, context), message(task, context)],
            "artifacts": [{"artifactId": "agent-t", "parts": [{"text": "agent-t"}]}],
        }
    }


def message_event(task: Any = "agent-t", context: Any = "agent-c") -> Json:
    return {"message": message(task, context)}


EVENTS: list[Callable[..., Json]] = [status_event, artifact_event, task_event, message_event]
OTHERS = {"agent-other": "T2"}
BACK = {"T2": "agent-other"}


@pytest.mark.parametrize("make", EVENTS)
def test_an_event_of_the_agent_reads_as_if_the_agent_used_the_public_ids(make: Callable[..., Json]) -> None:
    event = make()
    expected = make("T", "C")
    for each in messages_in(expected):
        each["referenceTaskIds"] = ["T", "T2", "agent-unknown"]
    assert bound().to_public(event, OTHERS.get) is event
    assert event == expected


def messages_in(value: Any) -> list[Json]:
    if isinstance(value, list):
        return [each for item in value for each in messages_in(item)]
    if not isinstance(value, dict):
        return []
    found = [value] if "messageId" in value else []
    return found + [each for item in value.values() for each in messages_in(item)]


def id_paths(descriptor: Descriptor, path: str = "") -> set[str]:
    found: set[str] = set()
    for field in descriptor.fields:
        here = f"{path}.{field.json_name}"
        if field.json_name in {"taskId", "contextId", "referenceTaskIds"} or here.endswith("task.id"):
            found.add(here)
        if field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.full_name.startswith("lf.a2a"):
            found |= id_paths(field.message_type, here)
    return found


def test_these_events_hold_every_field_where_the_protocol_puts_an_id() -> None:
    held: set[str] = set()
    for make in EVENTS:
        event = ParseDict(make(), a2a_pb2.StreamResponse())
        for path in id_paths(a2a_pb2.StreamResponse.DESCRIPTOR):
            holders: list[Any] = [event]
            for name in path.split(".")[1:]:
                snake = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
                values = [getattr(each, snake) for each in holders]
                holders = [item for value in values for item in (value if hasattr(value, "extend") else [value])]
            if any(holders):
                held.add(path)
    assert held == id_paths(a2a_pb2.StreamResponse.DESCRIPTOR)


@pytest.mark.parametrize("make", [status_event, artifact_event, task_event])
@pytest.mark.parametrize("empty", ["", None])
def test_empty_ids_are_filled(make: Callable[..., Json], empty: str | None) -> None:
    event = make(empty, empty)
    body = next(iter(event.values()))
    bound().to_public(event)
    assert body.get("taskId", body.get("id")) == "T"
    assert body["contextId"] == "C"


def test_absent_ids_are_filled_and_nested_messages_stay_as_bare_as_they_came() -> None:
    ids = IdMap("T", "C")
    event = {"statusUpdate": {"status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "m"}}}}
    ids.to_public(event)
    assert event == {
        "statusUpdate": {
            "taskId": "T",
            "contextId": "C",
            "status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "m"}},
        }
    }
    assert ids.bound() == ("", "")
    reply = {"message": {"messageId": "m"}}
    assert ids.to_public(reply) == {"message": {"messageId": "m", "contextId": "C"}}


@pytest.mark.parametrize("make", EVENTS)
@pytest.mark.parametrize(("task", "context"), [("other", "agent-c"), ("agent-t", "other"), ("", "other")])
def test_another_task_or_context_is_a_conflict_that_changes_nothing(
    make: Callable[..., Json], task: str, context: str
) -> None:
    ids, event = bound(), make(task, context)
    before = copy.deepcopy(event)
    with pytest.raises(IdConflict, match="other"):
        ids.to_public(event)
    assert event == before
    assert ids.bound() == ("agent-t", "agent-c")


def test_a_conflict_in_a_binding_event_binds_nothing() -> None:
    ids = IdMap("T", "C", "", "agent-c")
    ids.to_public(status_event("a1", "agent-c"))
    with pytest.raises(IdConflict):
        ids.to_public(status_event("a1", "elsewhere"))
    assert ids.bound() == ("a1", "agent-c")


def test_the_first_event_binds_an_unbound_run() -> None:
    ids = IdMap("T", "C")
    ids.to_public(task_event("a1", "c1"))
    assert ids.bound() == ("a1", "c1")
    with pytest.raises(IdConflict):
        ids.to_public(status_event("a2", "c1"))


def test_an_agent_may_use_the_public_ids() -> None:
    ids = IdMap("T", "C")
    ids.to_public(status_event("T", "C"))
    assert ids.bound() == ("T", "C")
    other = bound()
    assert other.to_public(status_event("T", "C"))["statusUpdate"]["taskId"] == "T"
    assert other.bound() == ("agent-t", "agent-c")


def test_an_agent_that_takes_another_id_on_every_turn_keeps_one_public_id() -> None:
    ids = IdMap("T", "C", follow=True)
    seen = set()
    for turn in range(4):
        agent = f"a{turn}"
        for event in (task_event(agent, f"c{turn}"), status_event(agent, f"c{turn}"), artifact_event(agent, "")):
            body = next(iter(ids.to_public(event).values()))
            seen.add((body.get("taskId", body.get("id")), body["contextId"]))
        assert ids.bound() == (agent, f"c{turn}")
        sent = ids.to_agent({"message": {"messageId": "m", "taskId": "T", "contextId": "C"}})
        assert sent["message"] == {"messageId": "m", "taskId": agent, "contextId": f"c{turn}"}
        ids.rebind()
    assert seen == {("T", "C")}


def test_a_follow_up_may_stay_under_the_same_id() -> None:
    ids = bound()
    ids.rebind()
    ids.to_public(status_event())
    assert ids.bound() == ("agent-t", "agent-c")
    with pytest.raises(IdConflict):
        ids.to_public(status_event("late"))


def test_what_a_client_sends_reads_as_the_agents_ids() -> None:
    params = {
        "message": message("T", "C") | {"referenceTaskIds": ["T", "T2", "unknown"]},
        "configuration": {"taskPushNotificationConfig": {"taskId": "T", "id": "config", "url": "http://x"}},
        "metadata": {"taskId": "T"},
    }
    bound().to_agent(params, BACK.get)
    assert params == {
        "message": message("agent-t", "agent-c") | {"referenceTaskIds": ["agent-t", "agent-other", "unknown"]},
        "configuration": {"taskPushNotificationConfig": {"taskId": "agent-t", "id": "config", "url": "http://x"}},
        "metadata": {"taskId": "T"},
    }


@pytest.mark.parametrize(
    ("params", "rewritten"),
    [
        ({"id": "T"}, {"id": "agent-t"}),
        ({"id": "config", "taskId": "T"}, {"id": "config", "taskId": "agent-t"}),
        ({"pageSize": 5}, {"pageSize": 5}),
        ({"message": {"messageId": "m"}}, {"message": {"messageId": "m"}}),
        (
            {"message": {"messageId": "m"}, "configuration": {"taskPushNotificationConfig": {"url": "u"}}},
            {"message": {"messageId": "m"}, "configuration": {"taskPushNotificationConfig": {"url": "u"}}},
        ),
    ],
)
def test_other_operations(params: Json, rewritten: Json) -> None:
    assert bound().to_agent(params) == rewritten


def test_an_unbound_run_gets_no_task_id_and_the_public_context() -> None:
    params = {"message": {"messageId": "m", "taskId": "T", "contextId": "C", "referenceTaskIds": ["T", "T2"]}}
    assert IdMap("T", "C").to_agent(params) == {
        "message": {"messageId": "m", "contextId": "C", "referenceTaskIds": ["T", "T2"]}
    }


def test_unmap() -> None:
    ids = bound()
    assert ids.unmap("agent-t") == "T"
    assert ids.unmap("agent-other", OTHERS.get) == "T2"
    assert ids.unmap("agent-other") == "agent-other"
    assert IdMap("T", "C").unmap("") == ""


def test_an_object_without_a_known_member_passes() -> None:
    assert bound().to_public({"later": {"taskId": "x"}}) == {"later": {"taskId": "x"}}
    assert bound().to_public({"task": {"id": "agent-t"}}) == {"task": {"id": "T", "contextId": "C"}}
