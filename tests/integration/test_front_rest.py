"""HTTP+JSON byte by byte: frames, queries, paths, limits, and what goes on to the agent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from bridge.a2a import extension
from sidecar.errors import StoreFull
from sidecar.records import SendCall
from tests.unit.front.fake_tasks import FakeTask, FakeTasks, hello, rpc_error, text_artifact
from tests.unit.front.serving import MESSAGE, V1, Served, serving, until

Json = dict[str, Any]
SEND = {"message": MESSAGE}


async def ask(
    served: Served, verb: str, path: str, body: Json | bytes | None = None, **headers: str
) -> httpx.Response:
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    async with httpx.AsyncClient() as client:
        return await client.request(verb, served.rest + path, content=content, headers=V1 | headers)


def frames_of(text: str) -> list[tuple[int, Json]]:
    """(SSE id, StreamResponse) of every event of a stream."""
    blocks = [
        [line for line in block.split("\n") if not line.startswith(":")] for block in text.split("\n\n")[:-1]
    ]
    assert all([line.split(":")[0] for line in block] == ["id", "data"] for block in blocks)
    return [(int(block[0][4:]), json.loads(block[1][6:])) for block in blocks]


async def test_a_stream_is_journalled_bytes_with_journal_positions_and_nothing_around_them() -> None:
    async def odd(task: FakeTask, call: SendCall) -> None:
        await task.begin()
        await task.emit(text_artifact(task.id, "line\nbreak é"), seq=7)
        await task.say("TASK_STATE_COMPLETED")

    async with serving(FakeTasks(odd)) as served:
        answer = await ask(served, "POST", "/message:stream", SEND, **{"Accept-Encoding": "gzip"})
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        assert [seq for seq, _ in frames_of(answer.text)] == [2, 7, 8]
        for frame in served.tasks.tasks["task-1"].frames:
            assert b"id: %d\ndata: %b\n\n" % (frame.seq, frame.event) in answer.content


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_last_event_id_gives_exactly_the_gap(verb: str) -> None:
    """Cases 9, 67."""
    async with serving() as served:
        task = served.tasks.add("t")
        await task.begin()  # 2
        await task.emit(text_artifact("t", "one"))  # 3
        reading = [
            asyncio.ensure_future(ask(served, verb, "/tasks/t:subscribe", None, **{"Last-Event-ID": cursor}))
            for cursor in ("", "2", "3", "99")
        ]
        await until(lambda: served.tasks.followers == len(reading))
        await task.say("TASK_STATE_COMPLETED")  # 4
        seen = [[seq for seq, _ in frames_of(answer.text)] for answer in await asyncio.gather(*reading)]
        assert seen == [[3, 4], [3, 4], [4], [3, 4]]


async def test_an_error_before_the_first_frame_is_a_response_and_after_it_an_error_event() -> None:
    shown = asyncio.Event()

    async def failing(task: FakeTask, call: SendCall) -> None:
        if served.tasks.calls[1:]:
            await task.begin()
            await shown.wait()
        await task.fail(rpc_error("InvalidAgentResponse"))

    async with serving(FakeTasks(failing)) as served, httpx.AsyncClient(headers=V1) as client:
        at_once = await ask(served, "POST", "/message:stream", SEND)
        assert (at_once.status_code, at_once.headers["content-type"]) == (500, "application/json")
        (info,) = at_once.json()["error"]["details"]
        assert info["reason"] == "INVALID_AGENT_RESPONSE"
        text = ""
        async with client.stream("POST", served.rest + "/message:stream", json=SEND) as late:
            assert late.status_code == 200
            async for chunk in late.aiter_text():
                text += chunk
                shown.set()
        first, last = text.removesuffix("\n\n").split("\n\n")
        assert first.startswith("id: 2\ndata: {")
        name, data = last.split("\n")
        assert name == "event: error"
        assert json.loads(data.removeprefix("data: ")) == at_once.json()


async def test_a_query_becomes_what_the_operation_asks() -> None:
    async with serving() as served:
        query = "contextId=a%2Fb&status=TASK_STATE_WORKING&pageSize=7&historyLength=3&includeArtifacts=true"
        answer = await ask(served, "GET", f"/tasks?{query}&statusTimestampAfter=1970-01-01T00:00:05Z&x=1")
        assert (answer.status_code, answer.json()["pageSize"]) == (200, 7)
        (asked,) = served.tasks.queries
        assert (asked.context_id, asked.task_state, asked.page_size) == ("a/b", "TASK_STATE_WORKING", 7)
        assert (asked.history_length, asked.include_artifacts, asked.status_after_ms) == (3, True, 5000)
        for wrong in ("includeArtifacts=1", "pageSize=x", "statusTimestampAfter=x", "status=WORKING"):
            refused = await ask(served, "GET", f"/tasks?{wrong}")
            assert refused.status_code == 400
            assert wrong.partition("=")[0] in refused.json()["error"]["message"]
        assert len(served.tasks.queries) == 1


async def test_the_version_may_stand_in_the_query() -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        for query, status in (("A2A-Version=1.0", 404), ("a2a-version=0.3", 400), ("x=1", 400)):
            assert (await client.get(f"{served.rest}/tasks/none?{query}")).status_code == status


async def test_what_stands_in_the_path_counts_more_than_what_stands_in_the_body() -> None:
    async with serving() as served:
        await served.tasks.add("t").begin()
        await served.tasks.add("u").begin()
        answer = await ask(served, "POST", "/tasks/t:cancel", {"id": "u", "metadata": {"a": 1}})
        assert answer.json()["id"] == "t"
        assert served.tasks.canceled == ["t"]
        assert (await ask(served, "GET", "/tasks/u?id=t")).json()["id"] == "u"
        assert (await ask(served, "POST", "/tasks/u:cancel", b"{")).status_code == 400
        await ask(served, "POST", "/acme/message:send", SEND | {"tenant": "other"})
        assert served.tasks.calls[-1].params["tenant"] == "acme"


async def test_head_is_get_without_a_body() -> None:
    async with serving() as served:
        head = await ask(served, "HEAD", "/tasks")
        get = await ask(served, "GET", "/tasks")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(get.content))
        assert head.headers["content-type"] == get.headers["content-type"] == "application/a2a+json"


async def test_too_large_a_request_is_refused_unread() -> None:
    async with serving(request_bytes_max=1000) as served:
        answer = await ask(served, "POST", "/message:send", b" " * 1001)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, 413)
        assert (await ask(served, "POST", "/message:send", SEND)).status_code == 200


async def test_an_error_of_ours_says_so_and_the_response_is_not_taken_for_an_answer() -> None:
    """Case 13, as far as the front goes."""
    tasks = FakeTasks()
    tasks.send_error = StoreFull("no space is left for the journal")
    async with serving(tasks) as served:
        for path in ("/message:send", "/message:stream"):
            answer = await ask(served, "POST", path, SEND)
            assert (answer.status_code, answer.headers["content-type"]) == (500, "application/json")
            error = answer.json()["error"]
            assert error["details"][0]["metadata"] == {"code": "store_full", "retryable": "true"}
        assert not served.tasks.answers


async def test_what_the_agent_should_see_of_the_request_goes_with_it() -> None:
    body = json.dumps(SEND | {"metadata": "DATA"}).replace('"DATA"', '{"huge":123456789012345678901234567890}')
    async with serving() as served:
        headers = {"Authorization": "Bearer x", "A2A-Extensions": f"urn:a, {extension.URI}"}
        answer = await ask(served, "POST", "/message:send", body.encode(), **headers)
        (call,) = served.tasks.calls
        assert call.params["metadata"] == {"huge": 123456789012345678901234567890}
        assert call.extensions == ("urn:a", extension.URI)
        assert call.headers["authorization"] == "Bearer x"
        assert answer.headers["a2a-extensions"] == extension.URI


@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
async def test_a_departure_changes_nothing_and_leaks_nothing(path: str) -> None:
    """Cases 1, 68, 69, 75."""
    gate = asyncio.Event()

    async def gated(task: FakeTask, call: SendCall) -> None:
        await gate.wait()
        await hello(task, call)

    async with serving(FakeTasks(gated), keep_alive_s=0.05) as served:
        for _ in range(5):
            async with (
                httpx.AsyncClient() as client,
                client.stream("POST", served.rest + path, json=SEND, headers=V1) as answer,
            ):
                assert await anext(answer.aiter_raw())
        await until(lambda: served.front.open_responses == 0 and served.tasks.followers == 0)
        assert not served.tasks.canceled
        gate.set()
        await until(lambda: all(task.fold.state == "TASK_STATE_COMPLETED" for task in served.tasks.tasks.values()))
        assert len(served.tasks.tasks) == 5
        assert not served.tasks.answers


async def test_a_front_that_drains_says_that_the_outcome_is_unknown() -> None:
    async def never(task: FakeTask, call: SendCall) -> None:
        await asyncio.sleep(600)

    async with serving(FakeTasks(never)) as served:
        asked = [
            asyncio.ensure_future(ask(served, "POST", path, SEND)) for path in ("/message:send", "/message:stream")
        ]
        await until(lambda: served.tasks.followers == 2)
        served.front.drain()
        for answer in await asyncio.gather(*asked):
            assert answer.status_code == 500
            assert "same messageId" in answer.json()["error"]["message"]
