"""The fold is the SDK's own task manager, event by event; and it loses nothing and copies little."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.server.tasks.task_manager import TaskManager
from a2a.types import a2a_pb2
from a2a.utils.task import apply_history_length
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.a2a.fold import TaskFold, task_json, with_history
from bridge.jsontext import parse

Json = dict[str, Any]

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2)
)
METADATA = st.dictionaries(st.sampled_from("klm"), VALUES, max_size=3)
PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"text": text}, st.text("abc", max_size=3)),
        st.builds(lambda data: {"data": data, "mediaType": "application/json"}, VALUES),
        st.just({"raw": "YWJj", "filename": "f", "metadata": {"p": 1}}),
    ),
    max_size=3,
)


def maybe(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=members)


MESSAGES = st.builds(
    lambda number, extra: {"messageId": f"m{number}", "role": "ROLE_AGENT", "parts": [{"text": "t"}], **extra},
    st.integers(0, 99),
    maybe(metadata=METADATA, extensions=st.just(["urn:x"])),
)
STATUSES = st.builds(
    lambda state, extra: {"state": f"TASK_STATE_{state}", **extra},
    st.sampled_from(["SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED"]),
    maybe(message=MESSAGES, timestamp=st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.250Z"])),
)
ARTIFACTS = st.builds(
    lambda letter, parts, extra: {"artifactId": letter, "parts": parts, **extra},
    st.sampled_from("ABC"),
    PARTS,
    maybe(name=st.text("n", max_size=2), description=st.just("d"), metadata=METADATA, extensions=st.just(["e"])),
)
IDS = {"taskId": "T", "contextId": "C"}
STATUS_UPDATES = st.builds(
    lambda status, extra: {"statusUpdate": {**IDS, "status": status, **extra}}, STATUSES, maybe(metadata=METADATA)
)
ARTIFACT_UPDATES = st.builds(
    lambda artifact, extra: {"artifactUpdate": {**IDS, "artifact": artifact, **extra}},
    ARTIFACTS,
    maybe(append=st.booleans(), lastChunk=st.booleans(), metadata=METADATA),
)
TASKS = st.builds(
    lambda status, extra: {"task": {"id": "T", "contextId": "C", "status": status, **extra}},
    STATUSES,
    maybe(
        artifacts=st.lists(ARTIFACTS, max_size=3),
        history=st.lists(MESSAGES, max_size=3),
        metadata=METADATA,
    ),
)
INPUTS = st.builds(lambda message: {"input": message}, MESSAGES)
REPLIES = st.builds(lambda message: {"message": message}, MESSAGES)
EVENTS = st.lists(
    st.one_of(ARTIFACT_UPDATES, ARTIFACT_UPDATES, STATUS_UPDATES, STATUS_UPDATES, TASKS, INPUTS, REPLIES),
    max_size=12,
)


class Sdk:
    """The SDK's task manager as its server drives it."""

    def __init__(self, initial: Json | None) -> None:
        message = ParseDict(initial, a2a_pb2.Message()) if initial else None
        self.manager = TaskManager(InMemoryTaskStore(), ServerCallContext(), "T", "C", message)

    async def apply(self, event: Json) -> a2a_pb2.Task | None:
        response = ParseDict(event, a2a_pb2.StreamResponse())
        await self.manager.process(getattr(response, str(response.WhichOneof("payload"))))
        return await self.manager.get_task()

    async def take(self, message: Json) -> a2a_pb2.Task | None:
        task = await self.manager.get_task()
        if task is None:
            return None
        # The order of ActiveTask: once per message id, before the first event of the turn.
        if all(each.message_id != message["messageId"] for each in task.history):
            task = self.manager.update_with_message(ParseDict(message, a2a_pb2.Message()), task)
            await self.manager.save_task_event(task)
        return task


def appends_to_nothing(fold: TaskFold, event: Json) -> bool:
    update = event.get("artifactUpdate", {})
    return bool(update.get("append")) and fold.artifact(update["artifact"]["artifactId"]) is None


@given(initial=st.none() | MESSAGES, events=EVENTS)
@settings(max_examples=300, deadline=None)
def test_the_same_task_as_the_sdks_task_manager_after_every_event(
    initial: Json | None, events: list[Json]
) -> None:
    asyncio.run(compare(initial, events))


async def compare(initial: Json | None, events: list[Json]) -> None:
    sdk, fold = Sdk(initial), TaskFold(initial)
    before = copy.deepcopy(events)
    for number, event in enumerate(events):
        if "input" in event:
            if fold.exists:
                fold.add_message(event["input"])
            theirs = await sdk.take(event["input"])
        else:
            if appends_to_nothing(fold, event):
                # The SDK raises here (and would fail the task); what clients are shown is append=false.
                event["artifactUpdate"]["append"] = False
                before[number]["artifactUpdate"]["append"] = False
            fold.apply(event)
            theirs = await sdk.apply(event)
        assert fold.exists is (theirs is not None)
        if theirs is not None:
            assert ParseDict(fold.task(), a2a_pb2.Task()) == theirs
            assert parse(task_json(fold)) == fold.task()
    assert events == before, "an event is evidence: the fold must not edit it"


@given(events=EVENTS)
@settings(max_examples=100, deadline=None)
def test_a_fold_goes_on_from_any_task_object_and_tasks_never_change_later(events: list[Json]) -> None:
    fold, resumed, kept = TaskFold(), TaskFold(), []
    for event in events:
        if "input" in event:
            continue
        resumed = TaskFold.from_task(resumed.task()) if resumed.exists else resumed
        fold.apply(event)
        resumed.apply(event)
        kept.append((fold.task(), copy.deepcopy(fold.task())))
        assert resumed.task() == fold.task()
        assert resumed.state == fold.state
    for task, as_it_was in kept:
        assert task == as_it_was


def chunk(letter: str, append: bool | None, text: str, **more: Any) -> Json:
    artifact = {"artifactId": letter, "parts": [{"text": text}], **more}
    update = {**IDS, "artifact": artifact}
    return {"artifactUpdate": update if append is None else update | {"append": append}}


def test_an_append_to_an_unknown_artifact_creates_it() -> None:
    fold = TaskFold()
    fold.apply(chunk("A", True, "x", name="n"))
    assert fold.task() == {
        "id": "T",
        "contextId": "C",
        "status": {"state": "TASK_STATE_SUBMITTED"},
        "artifacts": [{"artifactId": "A", "parts": [{"text": "x"}], "name": "n"}],
    }
    assert fold.state == "TASK_STATE_SUBMITTED"


def test_unknown_members_survive() -> None:
    fold = TaskFold()
    task = {"id": "T", "contextId": "C", "status": {"state": "TASK_STATE_WORKING"}, "later": {"a": [1]}}
    fold.apply({"task": task})
    fold.apply(chunk("A", None, "x", later=1, metadata=None))
    fold.apply(chunk("A", True, "y", later=2, newer=3))
    fold.apply({"statusUpdate": {**IDS, "status": {"state": "TASK_STATE_COMPLETED", "later": "s"}}})
    assert fold.task() == {
        "id": "T",
        "contextId": "C",
        "status": {"state": "TASK_STATE_COMPLETED", "later": "s"},
        "artifacts": [
            {"artifactId": "A", "parts": [{"text": "x"}, {"text": "y"}], "later": 2, "newer": 3, "metadata": None}
        ],
        "later": {"a": [1]},
    }
    assert fold.artifact("A") == fold.task()["artifacts"][0]
    assert fold.artifact("B") is None
    assert fold.status == {"state": "TASK_STATE_COMPLETED", "later": "s"}


def test_metadata_of_chunks_merges() -> None:
    fold = TaskFold()
    first = chunk("A", False, "x")
    fold.apply(first)
    fold.apply(chunk("A", True, "y", metadata={"k": 1}))
    fold.apply(chunk("A", True, "z", metadata={"k": 2, "l": 3}))
    assert fold.task()["artifacts"][0]["metadata"] == {"k": 2, "l": 3}
    assert first == chunk("A", False, "x")


def test_what_is_null_or_left_out_is_absent() -> None:
    fold = TaskFold()
    fold.apply({"artifactUpdate": {"taskId": None, "artifact": {"artifactId": None, "parts": None}}})
    fold.apply({"artifactUpdate": {"artifact": {"metadata": {"k": 1}}, "append": True}})
    fold.apply({"artifactUpdate": {"artifact": None, "append": True}})
    fold.apply({"statusUpdate": {"status": None, "metadata": None}})
    assert fold.state == "TASK_STATE_UNSPECIFIED"
    assert fold.task() == {
        "id": "",
        "contextId": "",
        "status": {},
        "artifacts": [{"artifactId": None, "parts": [], "metadata": {"k": 1}}],
    }
    fold.apply({"task": {"status": None, "history": None, "artifacts": None, "metadata": None}})
    assert fold.task() == {"id": "", "contextId": "", "status": {}}
    fold.apply({"later": {}})
    assert fold.exists


def test_exact_numbers_survive() -> None:
    fold = TaskFold()
    fold.apply({"artifactUpdate": {**IDS, "artifact": {"artifactId": "A", "parts": [{"data": {"n": 2**53 + 1}}]}}})
    assert b"9007199254740993" in task_json(fold)


def test_an_append_copies_nothing() -> None:
    fold = TaskFold()
    fold.apply(chunk("A", False, "0"))
    artifact = fold.artifact("A")
    assert artifact is not None
    parts = artifact["parts"]
    for number in range(1000):
        fold.apply(chunk("A", True, str(number)))
    assert fold.artifact("A") is artifact
    assert artifact["parts"] is parts
    assert len(parts) == 1001


HISTORY = [{"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": "t"}]} for number in range(3)]


@pytest.mark.parametrize("length", [None, 0, 1, 2, 3, 4, 1000])
@pytest.mark.parametrize("history", [None, [], HISTORY])
def test_history_length_is_the_sdks(history: list[Json] | None, length: int | None) -> None:
    task: Json = {"id": "T", "status": {"state": "TASK_STATE_WORKING"}}
    if history is not None:
        task["history"] = history
    before = copy.deepcopy(task)
    request = a2a_pb2.GetTaskRequest(id="T") if length is None else a2a_pb2.GetTaskRequest(history_length=length)
    theirs = apply_history_length(ParseDict(task, a2a_pb2.Task()), request)
    assert MessageToDict(ParseDict(with_history(task, length), a2a_pb2.Task())) == MessageToDict(theirs)
    assert task == before


def test_a_fold_goes_on_from_a_task_and_takes_a_follow_up_once() -> None:
    question = {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}
    task = {
        "id": "T",
        "contextId": "C",
        "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": question},
        "artifacts": [{"artifactId": "A", "parts": [{"text": "a"}]}],
        "metadata": {"k": 1},
    }
    fold = TaskFold.from_task(task)
    answer = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "this"}]}
    for _ in range(2):
        fold.add_message(answer)
    assert fold.task() == {**task, "status": {"state": "TASK_STATE_INPUT_REQUIRED"}, "history": [question, answer]}
    fold.apply({"statusUpdate": {**IDS, "status": {"state": "TASK_STATE_WORKING"}, "metadata": {"l": 2}}})
    assert fold.task()["metadata"] == {"k": 1, "l": 2}
    assert parse(task_json(fold)) == fold.task()
