"""A run under a sidecar, without one, and resumed: which events go out and what they carry."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf import json_format

from bridge.a2a.extension import CHECKPOINT, CONTINUES, EFFECT, RUN
from sidecar.worker import NOT_DONE, DurableRun, UnknownOutcome, durable_run
from sidecar.worker.ledger import from_wire, tell_not_kept

Json = dict[str, Any]
FIRST: Json = {"attempt": 1, "fence": 1, "task": "public-1"}


class Recorded(EventQueue):
    """Keeps what an executor sends."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def enqueue_event(self, event: Any) -> None:
        kept = type(event)()
        kept.CopyFrom(event)
        self.events.append(kept)


def resumed(checkpoint: Any = None, receipts: Any = ()) -> Json:
    return {**FIRST, "attempt": 2, "fence": 2, "resume": {"checkpoint": checkpoint, "receipts": list(receipts)}}


def context(run: Json | None = None, task: Task | None = None) -> RequestContext:
    message = Message(role=Role.ROLE_USER, message_id="m", parts=[Part(text="go")])
    if run is not None:
        message.metadata.update({RUN: run, "own": "kept"})
    return RequestContext(
        ServerCallContext(),
        SendMessageRequest(message=message),
        task_id=task.id if task else "agent-1",
        context_id=task.context_id if task else "ctx",
        task=task,
    )


async def start(run: Json | None = None, task: Task | None = None) -> tuple[DurableRun, list[Any]]:
    queue = Recorded()
    started = await durable_run(context(run, task), queue)
    sent = queue.events
    if task is None:
        assert isinstance(sent[0], Task)
        del sent[0]
    return started, sent


def marks(event: Any) -> Json:
    found: Json = from_wire(json_format.MessageToDict(event.metadata))
    return found


async def test_a_new_task_is_announced_as_the_client_sent_it() -> None:
    queue = Recorded()
    run = await durable_run(context(resumed({"secret": 1})), queue)
    (task,) = queue.events
    assert (task.id, task.context_id, task.status.state) == ("agent-1", "ctx", TaskState.TASK_STATE_SUBMITTED)
    assert json_format.MessageToDict(task.history[0].metadata) == {"own": "kept"}
    assert run.last_checkpoint == {"secret": 1}
    assert run.attempt == 2


async def test_a_follow_up_keeps_the_tasks_own_context_and_announces_nothing() -> None:
    task = Task(id="agent-1", context_id="first", status=TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED))
    run, sent = await start(FIRST, task)
    assert sent == []
    assert run.context_id == "first"


async def test_without_a_sidecar_no_mark_goes_out() -> None:
    run, sent = await start()
    await run.start_work()
    await run.add_artifact([Part(text="a")], "rows", append=False, checkpoint=[1])
    await run.checkpoint([1, 2])
    assert await run.effect("pay", paid) == {"paid": "agent-1/pay"}
    await run.complete()
    assert [type(e) for e in sent] == [TaskStatusUpdateEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent]
    assert all(marks(e) == {} for e in sent)
    assert run.last_checkpoint == [1, 2]
    assert (run.attempt, run.receipts) == (1, {"pay": {"paid": "agent-1/pay"}})


async def test_that_no_checkpoint_is_kept_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    tell_not_kept.cache_clear()
    caplog.set_level("INFO", logger="sidecar.worker")
    kept, _ = await start(FIRST)
    await kept.checkpoint([1])
    assert caplog.messages == []
    for _ in range(2):
        run, _ = await start()
        await run.add_artifact([Part(text="a")], "rows", append=False, checkpoint=[1])
        await run.checkpoint([1, 2])
    (said,) = caplog.messages
    assert said.startswith("checkpoints are not kept: the caller did not ask for them")
    assert "declare_durable(card)" in said


async def paid(key: str) -> Json:
    return {"paid": key}


async def test_a_checkpoint_rides_on_the_chunk_or_status_that_it_covers() -> None:
    run, sent = await start(FIRST)
    await run.add_artifact(
        [Part(text="a")], "rows", name="r", metadata={"m": 1}, append=False, checkpoint={"n": 1}
    )
    await run.update_status(TaskState.TASK_STATE_WORKING, metadata={"x": 1}, checkpoint={"n": 2})
    chunk, status = sent
    assert marks(chunk) == {CHECKPOINT: {"n": 1}}
    assert from_wire(json_format.MessageToDict(chunk.artifact.metadata)) == {"m": 1}
    assert marks(status) == {CHECKPOINT: {"n": 2}, "x": 1}


async def test_an_artifact_without_id_gets_one_and_keeps_its_checkpoint() -> None:
    run, sent = await start(FIRST)
    await run.add_artifact([Part(text="a")], checkpoint=[1])
    assert sent[0].artifact.artifact_id
    assert marks(sent[0]) == {CHECKPOINT: [1]}


async def test_a_lone_checkpoint_travels_on_an_empty_append_to_the_last_artifact() -> None:
    run, sent = await start(FIRST)
    await run.add_artifact([Part(text="a")], "one")
    await run.add_artifact([Part(text="b")], "two")
    await run.add_artifact([Part(text="c")], "one", append=True)
    await run.checkpoint({"n": 3})
    carrier = sent[-1]
    assert (carrier.artifact.artifact_id, carrier.append, list(carrier.artifact.parts)) == ("one", True, [])
    assert marks(carrier) == {CHECKPOINT: {"n": 3}}


async def test_before_any_artifact_a_carrier_repeats_the_status_exactly() -> None:
    run, sent = await start(FIRST)
    await run.checkpoint({"n": 0})
    assert sent[-1].status == TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
    said = run.new_agent_message([Part(text="reading")])
    await run.start_work(said)
    await run.checkpoint({"n": 1})
    assert sent[-1].status.message == said
    assert sent[-1].status.state == TaskState.TASK_STATE_WORKING


async def test_a_resumed_run_continues_an_artifact_that_its_sdk_never_saw() -> None:
    run, sent = await start(resumed(["a"]))
    await run.add_artifact([Part(text="b")], "rows", append=True, checkpoint=["a", "b"])
    await run.add_artifact([Part(text="c")], "rows", append=True)
    await run.add_artifact([Part(text="d")], "other")
    first, second, other = sent
    assert first.append is False
    assert marks(first) == {CHECKPOINT: ["a", "b"], CONTINUES: True}
    # What an event says is gone with it; the agent's own Task, which a restarted sidecar reads, keeps this.
    assert dict(first.artifact.metadata) == {CONTINUES: True}
    assert second.append is True
    assert marks(second) == {}
    assert marks(other) == {}


async def test_an_append_to_nothing_stays_the_authors_mistake_in_a_first_run() -> None:
    run, sent = await start(FIRST)
    await run.add_artifact([Part(text="b")], "rows", append=True)
    assert sent[0].append is True
    assert marks(sent[0]) == {}


async def test_a_follow_up_on_a_living_task_appends_plainly() -> None:
    task = Task(id="agent-1", context_id="ctx", artifacts=[Artifact(artifact_id="rows")])
    run, sent = await start(resumed([1]), task)
    await run.add_artifact([Part(text="b")], "rows", append=True)
    assert sent[0].append is True


@pytest.mark.parametrize("state", [None, float("nan"), {"big": 2**60}, object()])
async def test_a_state_that_cannot_be_kept_is_refused_before_anything_is_sent(state: object) -> None:
    run, sent = await start(FIRST)
    with pytest.raises(ValueError, match="checkpoint"):
        await run.checkpoint(state)
    assert sent == []


async def test_an_effect_is_intended_before_its_call_and_receipted_after() -> None:
    run, sent = await start(FIRST)
    seen: list[int] = []

    async def call(key: str) -> str:
        seen.append(len(sent))
        return key

    assert await run.effect("pay", call) == "public-1/pay"
    assert await run.effect("pay", call) == "public-1/pay"
    assert seen == [1]
    assert [marks(e)[EFFECT]["phase"] for e in sent] == ["intended", "done"]
    assert marks(sent[1])[EFFECT] == {
        "step": "pay",
        "phase": "done",
        "key": "public-1/pay",
        "result": "public-1/pay",
    }


async def test_a_recorded_receipt_is_returned_without_a_call() -> None:
    done = {"step": "pay", "phase": "done", "key": "k", "result": {"id": 7}}
    run, sent = await start(resumed(receipts=[done]))

    async def never(_: str) -> Json:
        raise AssertionError("called again")

    assert await run.effect("pay", never) == {"id": 7}
    assert sent == []
    assert run.receipts == {"pay": {"id": 7}}


async def test_an_effect_without_receipt_is_unknown_and_says_so_to_the_sidecar() -> None:
    run, sent = await start(resumed(receipts=[{"step": "pay", "phase": "intended", "key": "k"}]))
    with pytest.raises(UnknownOutcome, match="'pay'") as caught:
        await run.effect("pay", paid)
    assert (caught.value.step, caught.value.key) == ("pay", "k")
    assert marks(sent[0])[EFFECT] == {"step": "pay", "phase": "unknown", "key": "k"}


async def test_reconcile_is_asked_under_the_key_of_the_intent() -> None:
    run, sent = await start(resumed(receipts=[{"step": "pay", "phase": "intended", "key": "k"}]))
    asked: list[str] = []

    async def happened(key: str) -> Json:
        asked.append(key)
        return {"id": 3}

    assert await run.effect("pay", paid, key="another", reconcile=happened) == {"id": 3}
    assert asked == ["k"]
    assert [marks(e)[EFFECT]["phase"] for e in sent] == ["done"]


async def test_what_reconcile_says_was_not_done_is_done_under_the_same_key() -> None:
    run, sent = await start(resumed(receipts=[{"step": "pay", "phase": "intended", "key": "k"}]))

    async def did_not(_: str) -> Any:
        return NOT_DONE

    assert await run.effect("pay", paid, reconcile=did_not) == {"paid": "k"}
    assert [marks(e)[EFFECT]["phase"] for e in sent] == ["intended", "done"]


async def test_a_call_that_raised_is_unknown_for_the_same_run_too() -> None:
    run, _ = await start(FIRST)

    async def breaks(_: str) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await run.effect("pay", breaks)
    with pytest.raises(UnknownOutcome):
        await run.effect("pay", paid)
