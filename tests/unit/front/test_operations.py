"""Operations without a transport: what they check, and page tokens."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from bridge.a2a.faults import A2AFault
from sidecar.front.operations import Call, Operations, list_query
from sidecar.front.paging import cursor_of, token_of
from sidecar.records import Caller, ListQuery, SendCall
from tests.unit.front.fake_tasks import FakeTask, FakeTasks

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def call(**params: Any) -> Call:
    return Call(params, Caller())


@pytest.mark.parametrize("cursor", [(0, "t"), (1764439762857, "a b/c?é"), (-1, "t"), (2**63 - 1, "t")])
def test_a_page_token_gives_its_cursor_back(cursor: tuple[int, str]) -> None:
    token = token_of(cursor)
    assert cursor_of(token) == cursor
    assert token.replace("-", "").replace("_", "").isalnum()


def forged(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "====",
        "é",
        "a b",
        forged("1"),
        forged("x t"),
        forged("1 "),
        forged("01 t"),
        forged(f"{2**63} t"),
        "\n",
    ],
)
def test_a_forged_page_token_is_refused(token: str) -> None:
    with pytest.raises(A2AFault, match="pageToken") as raised:
        cursor_of(token)
    assert raised.value.row.jsonrpc == -32602


def test_list_queries() -> None:
    assert list_query({}) == ListQuery()
    assert list_query({"pageToken": "", "contextId": "", "status": "TASK_STATE_UNSPECIFIED"}) == ListQuery()
    full = {
        "contextId": "c",
        "status": "TASK_STATE_WORKING",
        "pageSize": 100,
        "pageToken": token_of((5, "t")),
        "historyLength": 0,
        "statusTimestampAfter": "1970-01-01T00:00:01.5Z",
        "includeArtifacts": True,
    }
    assert list_query(full) == ListQuery("c", "TASK_STATE_WORKING", 1500, 100, (5, "t"), 0, include_artifacts=True)


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": -1},
        {"pageSize": "x"},
        {"pageSize": True},
        {"status": "WORKING"},
        {"status": 99},
        {"historyLength": -1},
        {"statusTimestampAfter": "yesterday"},
        {"contextId": 5},
        {"includeArtifacts": "yes"},
        {"pageToken": "!"},
    ],
)
def test_wrong_list_queries(params: dict[str, Any]) -> None:
    with pytest.raises(A2AFault) as raised:
        list_query(params)
    assert raised.value.name == "InvalidParams"


async def test_the_members_of_a_page_are_always_there() -> None:
    page = json.loads(await Operations(FakeTasks()).page(call()))
    assert page == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


@pytest.mark.parametrize("method", ["get", "cancel"])
@pytest.mark.parametrize("params", [{}, {"id": ""}, {"id": 5}, {"id": None}])
async def test_an_id_is_required(method: str, params: dict[str, Any]) -> None:
    with pytest.raises(A2AFault, match="id"):
        await getattr(Operations(FakeTasks()), method)(call(**params))


async def test_a_tail_is_closed_as_soon_as_its_reader_is_done() -> None:
    async def endless(task: FakeTask, sent: SendCall) -> None:
        await task.begin()
        await task.say("TASK_STATE_AUTH_REQUIRED")
        await asyncio.sleep(600)

    tasks = FakeTasks(endless)
    operations = Operations(tasks)
    request = call(message=MESSAGE)
    sent = await operations.send(request)
    await operations.conclude(sent, request)
    assert tasks.followers == 0
    await tasks.close()


async def test_a_member_before_the_known_ones_does_not_hide_a_message() -> None:
    async def newer(task: FakeTask, sent: SendCall) -> None:
        await task.emit({"message": {"messageId": "r"}, "newer": 1})

    tasks = FakeTasks(newer)
    operations = Operations(tasks)
    request = call(message=MESSAGE)
    answer = await operations.conclude(await operations.send(request), request)
    assert json.loads(answer)["message"] == {"messageId": "r"}


async def test_what_was_begun_goes_on_when_the_waiting_is_cancelled() -> None:
    tasks = FakeTasks()
    tasks.send_delay_s = 0.05
    operations = Operations(tasks)
    waiting = asyncio.ensure_future(operations.send(call(message=MESSAGE)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await operations.close()
    assert "task-1" in tasks.tasks
    await tasks.close()
