"""What the front answers byte by byte: envelope, stream frames, card, limits, departures."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from bridge.a2a import extension
from sidecar.errors import StoreFull
from sidecar.records import SendCall
from tests.unit.front.fake_tasks import FakeTask, FakeTasks, hello, text_artifact
from tests.unit.front.serving import MESSAGE, SEND, STREAM, V1, post, rpc, serving, until

Json = dict[str, Any]


def frames_of(text: str) -> list[tuple[int, Json]]:
    """(SSE id, JSON-RPC response) of every event of a stream."""
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        assert [line.split(":")[0] for line in lines] == ["id", "data"]
        found.append((int(lines[0][4:]), json.loads(lines[1][6:])))
    return found


IDS = ["a", 'é😀"\\', 1, 0, -7, 12345678901234567890123456789012345678901, 1.5, None, ""]


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("request_", [SEND, STREAM, rpc("GetTask", {"id": "none"}), rpc("nothing")])
async def test_ids_come_back_as_they_were(id_: Any, request_: Json) -> None:
    async with serving() as served:
        answer = await post(served, request_ | {"id": id_})
        responses = (
            [frame for _, frame in frames_of(answer.text)]
            if answer.headers["content-type"] == "text/event-stream"
            else [answer.json()]
        )
        assert responses
        assert [each["id"] for each in responses] == [id_] * len(responses)
        assert {type(each["id"]) for each in responses} == {type(id_)}


@pytest.mark.parametrize("stale", [False, True])
async def test_what_may_be_behind_is_marked(stale: bool) -> None:
    async with serving() as served:
        await post(served, SEND)
        served.tasks.stale = stale
        for request in (rpc("GetTask", {"id": "task-1"}), rpc("ListTasks", {}), STREAM):
            answer = await post(served, request)
            assert "result" in answer.text
            assert answer.headers.get("dhp-stale") == ("?1" if stale else None)
        async with httpx.AsyncClient(headers=V1) as web:
            read = await web.get(f"{served.rest}/tasks/task-1")
        assert read.headers.get("dhp-stale") == ("?1" if stale else None)
        assert served.observer.counts["front.stale",] == 4 * stale


async def test_a_stream_is_journalled_bytes_with_journal_positions() -> None:
    """Cases 65, 72: ids are journal positions; nothing may buffer, compress or count the stream."""

    async def odd(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await task.emit(text_artifact(task.id, "line\nbreak \x85 é"), seq=7)
        await task.emit({"statusUpdate": {"taskId": task.id, "status": {"state": "TASK_STATE_COMPLETED"}}}, seq=9)

    async with serving(FakeTasks(odd)) as served:
        answer = await post(served, STREAM, **{"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        headers = answer.headers
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-cache"
        assert headers["x-accel-buffering"] == "no"
        assert not {"content-length", "content-encoding"} & set(headers)
        assert [seq for seq, _ in frames_of(answer.text)] == [2, 7, 9]
        assert b"\r" not in answer.content
        for frame in served.tasks.tasks["task-1"].frames:
            # Byte for byte, but for what some readers of lines take for the end of one.
            event = frame.event.replace(b"\xc2\x85", b"\\u0085")
            assert b'\ndata: {"jsonrpc":"2.0","id":1,"result":' + event + b"}\n\n" in answer.content


async def test_many_events_in_a_batch_stay_single_events() -> None:
    """Case 63: events are never merged, however large or small."""
    sizes = [63_000, 65_000, 513_000, 1_100_000, 10_000_000, *[10] * 200]

    async def large(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        for size in sizes:
            await task.emit(text_artifact(task.id, "x" * size))
        await task.say("TASK_STATE_COMPLETED")

    async with serving(FakeTasks(large)) as served:
        answer = await post(served, STREAM)
        texts = [
            frame["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"]
            for _, frame in frames_of(answer.text)[1:-1]
        ]
        assert [len(text) for text in texts] == sizes


async def test_last_event_id_gives_exactly_the_gap() -> None:
    """Cases 9, 67."""
    async with serving() as served:
        task = served.tasks.add("t")
        await task.begin()  # 2
        await task.say("TASK_STATE_INPUT_REQUIRED")  # 3: ends what the first message led to, no subscription
        await task.say("TASK_STATE_WORKING")  # 4
        await task.emit(text_artifact("t", "one"))  # 5

        async def subscribed(cursor: str | None) -> list[int]:
            headers = {} if cursor is None else {"Last-Event-ID": cursor}
            answer = await post(served, rpc("SubscribeToTask", {"id": "t"}), **headers)
            frames = frames_of(answer.text)
            kinds = [next(iter(frame["result"])) for _, frame in frames]
            assert ("task" in kinds[:1]) == (frames[0][0] in (2, 5) and cursor != "4")
            return [seq for seq, _ in frames]

        readers = [
            asyncio.ensure_future(subscribed(cursor))
            for cursor in (None, "5", "4", "3", "2", "6", "999", "-1", "x", "")
        ]
        await until(lambda: served.tasks.followers == len(readers))
        await task.say("TASK_STATE_COMPLETED")  # 6
        seen = await asyncio.gather(*readers)
        gap = [[5, 6], [6], [5, 6], [4, 5, 6], [3, 4, 5, 6]]
        assert seen == gap + [[5, 6]] * 5


@pytest.mark.parametrize("after_events", [0, 1, 2])
@pytest.mark.parametrize("request_", [SEND, STREAM])
async def test_a_departure_changes_nothing_and_leaks_nothing(request_: Json, after_events: int) -> None:
    """Cases 1, 68, 69, 75."""
    gate = asyncio.Event()

    async def gated(task: FakeTask, call: SendCall) -> None:
        for _ in range(after_events):
            await task.begin()
        await gate.wait()
        await hello(task, call)

    async with serving(FakeTasks(gated), keep_alive_s=0.05) as served:
        body = json.dumps(request_).encode()
        head = b"POST /a2a/jsonrpc HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\n"
        head += b"Content-Length: %d\r\n\r\n" % len(body)
        port = int(served.url.rsplit(":", 1)[1])
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + body)
            await reader.read(1)  # the response has begun
            writer.close()
            await writer.wait_closed()
        await until(lambda: served.front.open_responses == 0)
        await until(lambda: served.tasks.followers == 0)
        assert not served.tasks.answers
        assert not served.tasks.canceled
        gate.set()
        tasks = served.tasks.tasks.values()
        await until(lambda: all(task.fold.state == "TASK_STATE_COMPLETED" for task in tasks))
        assert len(tasks) == 20
        assert served.observer.counts["front.streams", "client_left"] == (20 if request_ is STREAM else 0)


async def test_a_departure_while_the_message_is_being_accepted_does_not_stop_its_acceptance() -> None:
    """Case 75: before the first byte of the answer."""
    tasks = FakeTasks()
    tasks.send_delay_s = 0.3
    async with serving(tasks) as served:
        with pytest.raises(httpx.ReadTimeout):
            async with httpx.AsyncClient(timeout=0.1) as client:
                await client.post(served.rpc, json=STREAM, headers=V1)
        await until(lambda: served.tasks.calls and served.front.open_responses == 0)
        await until(lambda: served.tasks.tasks)
        await until(lambda: served.tasks.tasks["task-1"].fold.state == "TASK_STATE_COMPLETED")


async def test_a_draining_front_ends_streams_and_waiting_answers_cleanly() -> None:
    async def endless(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await asyncio.sleep(600)

    async with serving(FakeTasks(endless)) as served:
        waiting = [asyncio.ensure_future(post(served, each)) for each in (SEND, STREAM)]
        await until(lambda: served.front.open_responses == 2 and served.tasks.followers == 2)
        served.front.drain()
        blocked, streamed = await asyncio.gather(*waiting)
        assert blocked.json()["error"]["code"] == -32603
        assert "event: error\n" in streamed.text
        assert (await post(served, SEND)).json()["error"]["code"] == -32603


async def test_a_full_store_is_a_clear_error_and_the_response_is_not_taken_for_an_answer() -> None:
    """Case 13, as far as the front goes."""
    tasks = FakeTasks()
    tasks.send_error = StoreFull("no space is left for the journal")
    async with serving(tasks) as served:
        for request in (SEND, STREAM):
            answer = await post(served, request)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
            error = answer.json()["error"]
            assert (error["code"], error["message"]) == (
                -32603,
                "Internal error: no space is left for the journal",
            )
            assert error["data"][0]["metadata"] == {"code": "store_full", "retryable": "true"}
        assert not served.tasks.answers


async def test_too_large_a_request_is_refused_unread() -> None:
    async with serving(request_bytes_max=1000) as served:
        answer = await post(served, b" " * 1001)
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == -32600

        async def chunks() -> Any:
            for _ in range(3):
                yield b" " * 400

        async with httpx.AsyncClient() as client:
            answer = await client.post(served.rpc, content=chunks(), headers=V1)
        assert answer.status_code == 413
        assert (await post(served, SEND)).json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_numbers_and_texts_arrive_as_they_were() -> None:
    """Case 103."""
    data = (
        '{"n":1,"big":9007199254740993,"huge":123456789012345678901234567890,"z":0,"f":false,"e":"",'
        '"u":"\\u00e9\\ud83d\\ude00","neg":-0.0,"unknownField":{}}'
    )
    body = json.dumps(SEND | {"params": {"message": MESSAGE, "metadata": "DATA"}}).replace('"DATA"', data)
    async with serving() as served:
        answer = await post(served, body.encode())
        assert "result" in answer.json()
        (call,) = served.tasks.calls
        assert call.params["metadata"] == json.loads(data)
        assert type(call.params["metadata"]["huge"]) is int


async def test_what_the_agent_should_see_of_the_request_goes_with_it() -> None:
    async with serving() as served:
        uri = extension.URI
        headers = {"Authorization": "Bearer x", "Traceparent": "00-1", "A2A-Extensions": f"urn:a, {uri}, urn:a"}
        answer = await post(served, SEND, **headers, Connection="keep-alive, X-Hop", **{"X-Hop": "1"})
        (call,) = served.tasks.calls
        assert call.extensions == ("urn:a", uri)
        assert call.headers["authorization"] == "Bearer x"
        assert call.headers["traceparent"] == "00-1"
        assert not {"host", "content-length", "connection", "x-hop", "a2a-version"} & set(call.headers)
        assert answer.headers["a2a-extensions"] == uri
