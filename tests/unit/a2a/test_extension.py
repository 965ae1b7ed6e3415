"""The extension's keys: taken off, checked, never shown to whoever did not ask, never taken from clients."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from a2a.extensions.common import get_requested_extensions
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict

from bridge.a2a import extension
from bridge.a2a.extension import CHECKPOINT, CONTINUES, EFFECT, NO_MARKS, RUN, SPEND, URI, Marks, take

Json = dict[str, Any]


def artifact(metadata: Json | None = None, **members: Any) -> Json:
    update: Json = {
        "taskId": "t",
        "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
        "append": True,
    }
    update |= members
    return {"artifactUpdate": update if metadata is None else update | {"metadata": metadata}}


def status(metadata: Json | None = None, message: Json | None = None) -> Json:
    update: Json = {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
    if message is not None:
        update["status"]["message"] = message
    return {"statusUpdate": update if metadata is None else update | {"metadata": metadata}}


@pytest.mark.parametrize("activated", [False, True])
@pytest.mark.parametrize(
    "event",
    [
        artifact(),
        status(),
        artifact({"other": 1}),
        artifact({}),
        status(message={"messageId": "m", "metadata": {"urn:dhp": 1}}),
        {"message": {"messageId": "m"}},
        {"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}},
        {"later": {}},
        {"artifactUpdate": {"artifact": None}},
        {"statusUpdate": {"status": None, "metadata": None}},
        {"statusUpdate": {"metadata": "no object"}},
    ],
)
def test_an_event_without_marks_passes_unchanged(event: Json, activated: bool) -> None:
    before = copy.deepcopy(event)
    marks, after = take(event, activated)
    assert marks is NO_MARKS
    assert after is event
    assert event == before


def test_marks_are_read_and_taken_off() -> None:
    event = artifact(
        {
            CHECKPOINT: {"page": 3},
            EFFECT: {"step": "pay", "phase": "done", "key": "k", "result": {"id": 1}, "more": 1},
            SPEND: {"usd": 0.5, "tokens": 10, "colour": "red"},
            "mine": 1,
        }
    )
    marks, event = take(event, activated=False)
    assert marks == Marks(
        checkpoint={"page": 3},
        effects=({"step": "pay", "phase": "done", "key": "k", "result": {"id": 1}},),
        spend={"usd": 0.5, "tokens": 10},
    )
    assert event == artifact({"mine": 1})


def test_metadata_that_held_only_marks_disappears() -> None:
    assert take(status({CHECKPOINT: 1}), False)[1] == status()


@pytest.mark.parametrize("state", [0, False, "", [], {}, "x", 1.5, [1], {"a": None}])
def test_a_checkpoint_is_any_json_but_null(state: Any) -> None:
    marks, _ = take(status({CHECKPOINT: state}), False)
    assert marks.checkpoint is state
    assert marks.problems == ()


def test_null_is_no_checkpoint() -> None:
    marks, event = take(status({CHECKPOINT: None, EFFECT: None, SPEND: None}), False)
    assert marks == NO_MARKS
    assert event == status()


def test_marks_may_stand_in_the_artifact_or_in_the_message() -> None:
    on_artifact = artifact(artifact={"artifactId": "a", "metadata": {CHECKPOINT: 1, "mine": 2}})
    marks, event = take(on_artifact, False)
    assert marks.checkpoint == 1
    assert event["artifactUpdate"]["artifact"] == {"artifactId": "a", "metadata": {"mine": 2}}
    on_message = status({"mine": 1}, message={"messageId": "m", "metadata": {SPEND: {"steps": 1}}})
    marks, event = take(on_message, False)
    assert marks.spend == {"steps": 1}
    assert event == status({"mine": 1}, message={"messageId": "m"})


def test_clients_that_activated_the_extension_see_marks_but_nothing_private() -> None:
    marks, event = take(artifact({CHECKPOINT: 1, CONTINUES: True, RUN: {}}, append=False), activated=True)
    assert marks.checkpoint == 1
    assert event == artifact({CHECKPOINT: 1}, append=True)


@pytest.mark.parametrize(("value", "append"), [(True, True), (False, False), ("yes", False), (None, False)])
def test_continues_makes_an_append(value: Any, append: bool) -> None:
    _, event = take(artifact({CONTINUES: value}, append=False), False)
    assert event == artifact(append=append)


def test_continues_means_nothing_on_a_status() -> None:
    marks, event = take(status({CONTINUES: True}), False)
    assert (marks, event) == (NO_MARKS, status())


@pytest.mark.parametrize(
    ("members", "bare"),
    [
        ({"artifact": {"artifactId": "a"}}, True),
        ({"artifact": {"artifactId": "a", "parts": [], "metadata": {CHECKPOINT: 2}}}, True),
        ({"artifact": {"artifactId": "a", "parts": [{"text": ""}]}}, False),
        ({"artifact": {"artifactId": "a", "metadata": {"mine": 1}}}, False),
        ({"artifact": {"artifactId": "a"}, "lastChunk": True}, False),
        ({"artifact": {"artifactId": "a"}, "append": False}, False),
    ],
)
def test_an_empty_append_only_carries_marks(members: Json, bare: bool) -> None:
    marks, _ = take(artifact({CHECKPOINT: 1}, **members), False)
    assert marks.checkpoint == 1
    assert marks.bare is bare


def test_a_status_is_never_bare() -> None:
    assert not take(status({CHECKPOINT: 1}), False)[0].bare


GOOD = {"step": "s", "phase": "intended"}


@pytest.mark.parametrize(
    ("value", "effects", "problems"),
    [
        (GOOD, 1, 0),
        ([GOOD, GOOD], 2, 0),
        ([], 0, 0),
        ([GOOD, {"step": "s"}, "x"], 1, 2),
        ("pay", 0, 1),
        ({"step": "", "phase": "done"}, 0, 1),
        ({"step": 1, "phase": "done"}, 0, 1),
        ({"step": "s", "phase": "over"}, 0, 1),
        ({"step": "s", "phase": ["done"]}, 0, 1),
        ({"step": "s", "phase": "done", "key": 5}, 0, 1),
        ({"step": "s", "phase": "unknown", "key": None}, 1, 0),
    ],
)
def test_bad_effects_are_left_out_and_noted(value: Any, effects: int, problems: int) -> None:
    marks, event = take(status({EFFECT: value, CHECKPOINT: 1}), False)
    assert (len(marks.effects), len(marks.problems)) == (effects, problems)
    assert marks.checkpoint == 1
    assert event == status()


@pytest.mark.parametrize(
    "value", [5, [], {}, {"usd": "1"}, {"usd": -1}, {"usd": True}, {"usd": math.nan}, {"tokens": math.inf}]
)
def test_bad_spend_is_left_out_and_noted(value: Any) -> None:
    marks, _ = take(status({SPEND: value}), False)
    assert marks.spend is None
    assert len(marks.problems) == 1


def stored_task() -> Json:
    return {
        "id": "t",
        "status": {
            "state": "TASK_STATE_WORKING",
            "message": {"messageId": "s", "metadata": {EFFECT: GOOD, "mine": 1}},
        },
        "history": [{"messageId": "m", "metadata": {RUN: {"attempt": 1}}}, {"messageId": "n"}],
        "artifacts": [{"artifactId": "a", "parts": [], "metadata": {CHECKPOINT: 1}}],
        "metadata": {CHECKPOINT: 1},
    }


def test_a_task_object_says_nothing_new_and_loses_every_key() -> None:
    marks, event = take({"task": stored_task()}, False)
    assert marks is NO_MARKS
    assert event["task"] == {
        "id": "t",
        "status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "s", "metadata": {"mine": 1}}},
        "history": [{"messageId": "m"}, {"messageId": "n"}],
        "artifacts": [{"artifactId": "a", "parts": []}],
    }


def test_a_task_object_keeps_marks_but_never_the_run_for_clients_that_asked() -> None:
    task = take({"task": stored_task()}, True)[1]["task"]
    assert task["metadata"] == {CHECKPOINT: 1}
    assert task["history"] == [{"messageId": "m"}, {"messageId": "n"}]


def test_a_reply_loses_them_too() -> None:
    assert take({"message": {"messageId": "m", "metadata": {RUN: 1}}}, True)[1] == {"message": {"messageId": "m"}}


def test_a_client_cannot_forge_a_resume() -> None:
    params = {
        "message": {"messageId": "m", "metadata": {RUN: {"attempt": 9}, "mine": 1}},
        "metadata": {RUN: {}, CHECKPOINT: 1},
        "configuration": {},
    }
    before = copy.deepcopy(params)
    assert extension.clean(params) == {
        "message": {"messageId": "m", "metadata": {"mine": 1}},
        "metadata": {},
        "configuration": {},
    }
    assert params == before


@pytest.mark.parametrize(
    "params", [{}, {"message": {"messageId": "m", "metadata": {"mine": 1}}}, {"message": None, "metadata": []}]
)
def test_clean_returns_what_is_clean(params: Json) -> None:
    assert extension.clean(params) is params


def test_run_metadata() -> None:
    assert extension.run_metadata(1, 7, "t") == {"attempt": 1, "fence": 7, "task": "t"}
    assert extension.run_metadata(2, 8, "t", {})["resume"] == {}


@pytest.mark.parametrize("headers", [[], [""], ["a, b", "b,,c "], [URI]])
def test_requested_extensions_are_the_sdks_in_order(headers: list[str]) -> None:
    found = extension.requested(headers)
    assert set(found) == get_requested_extensions(headers)
    assert len(set(found)) == len(found)


def test_the_agent_is_asked_for_the_extension_only_where_it_knows_it() -> None:
    assert extension.header_for_agent(["x", URI], aware=False) == "x"
    assert extension.header_for_agent(["x"], aware=True) == f"x, {URI}"
    assert extension.header_for_agent([], aware=False) == ""


def test_the_card_declares_it_once() -> None:
    card = {"name": "n", "capabilities": {"streaming": True, "extensions": ["odd", {"uri": "x"}, {"uri": URI}]}}
    before = copy.deepcopy(card)
    declared = extension.declare_in_card(card)
    assert card == before
    assert [each if isinstance(each, str) else each["uri"] for each in declared["capabilities"]["extensions"]] == [
        "odd",
        "x",
        URI,
    ]
    assert declared["capabilities"]["streaming"] is True
    assert extension.declared_in_card(declared)
    ParseDict(extension.declare_in_card({})["capabilities"], a2a_pb2.AgentCapabilities())


@pytest.mark.parametrize(
    "card",
    [{}, {"capabilities": None}, {"capabilities": {"extensions": {}}}, {"capabilities": {"extensions": [1]}}],
)
def test_a_card_that_does_not_declare_it(card: Json) -> None:
    assert not extension.declared_in_card(card)
