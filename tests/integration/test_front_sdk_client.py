"""The stock a2a-sdk client, unmodified, against the front under a real server."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as sdk_errors

from sidecar.records import SendCall
from tests.integration.front_clients import ClientOf, message
from tests.unit.front.fake_tasks import FakeTask, FakeTasks, hello, text_artifact
from tests.unit.front.serving import serving, until

COMPLETED = pb.TASK_STATE_COMPLETED


async def test_every_operation_of_a_stock_client(client_of: ClientOf) -> None:
    async with serving() as served, client_of(served) as client:
        events = [event async for event in client.send_message(message())]
        assert [event.WhichOneof("payload") for event in events] == [
            "task",
            "status_update",
            "artifact_update",
            "status_update",
        ]
        task_id = events[0].task.id
        task = await client.get_task(pb.GetTaskRequest(id=task_id))
        assert task.status.state == COMPLETED
        assert task.artifacts[0].parts[0].text == "hello"
        listed = await client.list_tasks(pb.ListTasksRequest(page_size=1))
        assert [each.id for each in listed.tasks] == [task_id]
        assert (listed.total_size, listed.page_size, listed.next_page_token) == (1, 1, "")
        with pytest.raises(sdk_errors.TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="nothing"))
        with pytest.raises(sdk_errors.UnsupportedOperationError):
            [event async for event in client.subscribe(pb.SubscribeToTaskRequest(id=task_id))]
        with pytest.raises(sdk_errors.PushNotificationNotSupportedError):
            await client.list_task_push_notification_configs(
                pb.ListTaskPushNotificationConfigsRequest(task_id=task_id)
            )
        await until(lambda: served.tasks.answers)


async def test_a_blocking_send_answers_with_the_finished_task(client_of: ClientOf) -> None:
    async with serving() as served, client_of(served, streaming=False) as client:
        (answer,) = [event async for event in client.send_message(message())]
        assert answer.task.status.state == COMPLETED
        assert answer.task.artifacts[0].parts[0].text == "hello"
        await until(lambda: served.tasks.answers)


async def test_return_immediately_answers_at_the_first_event_and_the_work_goes_on(client_of: ClientOf) -> None:
    """Case 18."""
    go_on = asyncio.Event()

    async def waiting(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await go_on.wait()
        for at in range(50):
            await task.emit(text_artifact(task.id, str(at), append=at > 0))
        await task.say("TASK_STATE_COMPLETED")

    async with serving(FakeTasks(waiting)) as served, client_of(served, streaming=False) as client:
        request = message()
        request.configuration.return_immediately = True
        (answer,) = [event async for event in client.send_message(request)]
        assert answer.task.status.state == pb.TASK_STATE_SUBMITTED
        go_on.set()
        task = served.tasks.tasks[answer.task.id]
        await until(lambda: len(task.frames) == 52)


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_message_instead_of_a_task(client_of: ClientOf, streaming: bool) -> None:
    async def echo(task: FakeTask, call: SendCall) -> None:
        part = {"text": "echo"}
        await task.emit({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [part]}})

    async with serving(FakeTasks(echo)) as served, client_of(served, streaming=streaming) as client:
        (answer,) = [event async for event in client.send_message(message())]
        assert answer.message.parts[0].text == "echo"


STATES = {
    "TASK_STATE_SUBMITTED": "open",
    "TASK_STATE_WORKING": "open",
    "TASK_STATE_AUTH_REQUIRED": "open",
    "TASK_STATE_INPUT_REQUIRED": "open",
    "TASK_STATE_COMPLETED": "refused",
    "TASK_STATE_FAILED": "refused",
    "TASK_STATE_CANCELED": "refused",
    "TASK_STATE_REJECTED": "refused",
}


@pytest.mark.parametrize(("state", "expected"), STATES.items())
async def test_subscribing_to_a_task_in_each_state(client_of: ClientOf, state: str, expected: str) -> None:
    """Case 12: one table of states that end a stream; a subscription waits for the answer to a question."""
    async with serving() as served, client_of(served) as client:
        task = served.tasks.add("t")
        await task.begin()
        await task.say(state)
        stream = client.subscribe(pb.SubscribeToTaskRequest(id="t"))
        if expected == "refused":
            with pytest.raises(sdk_errors.UnsupportedOperationError):
                await anext(stream)
            return
        first = await anext(stream)
        assert pb.TaskState.Name(first.task.status.state) == state
        await until(lambda: served.tasks.followers == 1)
        await task.say("TASK_STATE_COMPLETED")
        assert (await anext(stream)).status_update.status.state == COMPLETED
        async with asyncio.timeout(5):
            assert [event async for event in stream] == []


@pytest.mark.parametrize("state", ["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_INPUT_REQUIRED"])
async def test_a_blocking_send_returns_at_an_interruption(client_of: ClientOf, state: str) -> None:
    async def interrupted(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await task.say(state)

    async with serving(FakeTasks(interrupted)) as served, client_of(served, streaming=False) as client:
        (answer,) = [event async for event in client.send_message(message())]
        assert pb.TaskState.Name(answer.task.status.state) == state


async def test_cancel(client_of: ClientOf) -> None:
    async with serving() as served, client_of(served) as client:
        task = served.tasks.add("t")
        await task.begin()
        canceled = await client.cancel_task(pb.CancelTaskRequest(id="t"))
        assert canceled.status.state == pb.TASK_STATE_CANCELED
        assert served.tasks.canceled == ["t"]


async def test_pages_follow_each_other(client_of: ClientOf) -> None:
    async with serving() as served, client_of(served) as client:
        for at in range(5):
            await served.tasks.add(f"t{at}").begin()
        seen, token = [], ""
        while True:
            page = await client.list_tasks(pb.ListTasksRequest(page_size=2, page_token=token))
            seen += [task.id for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
        assert seen == [f"t{at}" for at in range(5)]


async def test_history_length_reaches_blocking_answers_and_streamed_tasks(client_of: ClientOf) -> None:
    """Case 104."""

    async def chatty(task: FakeTask, call: SendCall) -> None:
        history = [{"messageId": f"m{at}", "role": "ROLE_AGENT", "parts": [{"text": "x"}]} for at in range(3)]
        state = {"state": "TASK_STATE_WORKING"}
        await task.emit({"task": {"id": task.id, "contextId": "ctx", "status": state, "history": history}})
        await task.say("TASK_STATE_COMPLETED")

    for streaming in (True, False):
        async with serving(FakeTasks(chatty)) as served, client_of(served, streaming=streaming) as client:
            for length, expected in ((None, 3), (0, 0), (1, 1), (1000, 3)):
                request = message()
                if length is not None:
                    request.configuration.history_length = length
                events = [event async for event in client.send_message(request)]
                assert len(events[0].task.history) == expected


async def test_two_followers_of_a_task_see_the_same_stream(client_of: ClientOf) -> None:
    gate = asyncio.Event()

    async def gated(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await gate.wait()
        await hello(task, call)

    async with serving(FakeTasks(gated)) as served, client_of(served) as client:
        first = client.send_message(message())
        began = await anext(first)
        second = client.subscribe(pb.SubscribeToTaskRequest(id=began.task.id))
        await anext(second)
        gate.set()
        assert [event async for event in first] == [event async for event in second]
