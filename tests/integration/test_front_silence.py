"""What a stock client makes of silence, and of errors that come after it."""

from __future__ import annotations

import asyncio

import pytest
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as sdk_errors

from sidecar.errors import RpcError
from sidecar.records import SendCall
from tests.integration.front_clients import ClientOf, message
from tests.unit.front.fake_tasks import FakeTask, FakeTasks, rpc_error, text_artifact
from tests.unit.front.serving import serving, until

COMPLETED = pb.TASK_STATE_COMPLETED


async def silent(task: FakeTask, call: SendCall) -> None:
    await task.begin()
    await task.say("TASK_STATE_WORKING")
    await asyncio.sleep(SILENCE_S)
    await task.emit(text_artifact(task.id, "late"))
    await task.say("TASK_STATE_COMPLETED")


#: A stock client gives up after 5 s, keep-alives come every 2 s, and 12 s were silent: all divided by this.
FACTOR = 5
TIMEOUT_S = 5.0 / FACTOR
KEEP_ALIVE_S = 2.0 / FACTOR
SILENCE_S = 12.0 / FACTOR


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_stock_client_lives_through_silence(client_of: ClientOf, streaming: bool) -> None:
    async with (
        serving(FakeTasks(silent), keep_alive_s=KEEP_ALIVE_S) as served,
        client_of(served, streaming=streaming, timeout_s=TIMEOUT_S) as client,
    ):
        events = [event async for event in client.send_message(message())]
        assert len(events) == (4 if streaming else 1)
        last = events[-1].status_update if streaming else events[-1].task
        assert last.status.state == COMPLETED


@pytest.mark.parametrize("streaming", [True, False])
async def test_and_dies_without_keep_alives(client_of: ClientOf, streaming: bool) -> None:
    """The other half of the proof: it is the keep-alives that keep it alive. The work goes on (case 69)."""
    async with (
        serving(FakeTasks(silent), keep_alive_s=600) as served,
        client_of(served, streaming=streaming, timeout_s=TIMEOUT_S) as client,
    ):
        with pytest.raises(A2AClientTimeoutError):
            [event async for event in client.send_message(message())]
        task = served.tasks.tasks["task-1"]
        await until(lambda: task.fold.state == "TASK_STATE_COMPLETED")
        await until(lambda: served.tasks.followers == 0 and served.front.open_responses == 0)
        assert not served.tasks.answers


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_outcome_that_is_unknown_is_not_taken_for_an_answer(client_of: ClientOf, streaming: bool) -> None:
    """The client is to ask again with the same messageId, and must then attach."""

    async def failing(task: FakeTask, call: SendCall) -> None:
        await task.fail(RpcError(-32603, "The journal cannot be written"))

    async with serving(FakeTasks(failing)) as served, client_of(served, streaming=streaming) as client:
        with pytest.raises(sdk_errors.InternalError):
            [event async for event in client.send_message(message())]
        await served.front.close()
        assert not served.tasks.answers


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("late", [False, True])
async def test_an_error_is_that_error_before_and_after_the_response_began(
    client_of: ClientOf, request: pytest.FixtureRequest, streaming: bool, late: bool
) -> None:
    """Case 14. With HTTP+JSON a 200 that was begun cannot become an error: it is cut off (decision 0005)."""

    async def failing(task: FakeTask, call: SendCall) -> None:
        if late:
            await task.begin()
            await asyncio.sleep(3 * KEEP_ALIVE_S)
        await task.fail(rpc_error("InvalidAgentResponse"))

    cut = late and not streaming and "HTTP+JSON" in request.node.name
    async with (
        serving(FakeTasks(failing), keep_alive_s=KEEP_ALIVE_S) as served,
        client_of(served, streaming=streaming) as client,
    ):
        with pytest.raises(A2AClientError if cut else sdk_errors.InvalidAgentResponseError) as raised:
            [event async for event in client.send_message(message())]
        if cut:  # the outcome is unknown to the client, which may ask again
            assert "without sending complete message body" in str(raised.value)
            assert not served.tasks.answers
        else:
            await until(lambda: served.tasks.answers)
