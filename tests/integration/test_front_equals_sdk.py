"""A client cannot tell the front from an SDK agent by its refusals: asked the same, both answer the same."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from sidecar.front import Front, FrontSettings
from tests.unit.front.fake_tasks import FakeTasks
from tests.unit.front.serving import MESSAGE, SEND, CountingObserver, FakeAgent, agent_card, rpc

PATH = "/a2a/jsonrpc"


class NoAgent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise AssertionError("no request here may reach the agent")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise AssertionError("no request here may reach the agent")


@pytest.fixture
async def both(caplog: pytest.LogCaptureFixture) -> AsyncIterator[list[httpx.AsyncClient]]:
    caplog.set_level(logging.CRITICAL)
    card = ParseDict(agent_card() | {"capabilities": {"streaming": True}}, pb.AgentCard())
    handler = DefaultRequestHandler(NoAgent(), InMemoryTaskStore(), card)
    agent = Starlette(routes=create_jsonrpc_routes(handler, PATH))
    front = Front(FakeTasks(), FakeAgent(), FrontSettings(public_url="http://x"), CountingObserver())
    clients = [
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") for app in (agent, front)
    ]
    yield clients
    for client in clients:
        await client.aclose()
    await handler.aclose()


def body(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


async def ask(client: httpx.AsyncClient, content: bytes, **headers: str) -> tuple[int, str, Any]:
    answer = await client.post(PATH, content=content, headers={"A2A-Version": "1.0"} | headers)
    return answer.status_code, answer.headers["content-type"], answer.json()


SAME = [
    rpc("nothing"),
    rpc("message/send"),
    rpc("GetTask", {"id": "none"}),
    rpc("GetTask", {"id": "none"}, None),
    rpc("CancelTask", {"id": "none"}),
    rpc("SubscribeToTask", {"id": "none"}),
    rpc("GetTask", {"id": "none", "historyLength": -1}),
    [SEND],
    [SEND, SEND],
    SEND | {"jsonrpc": "1.0"},
    SEND | {"id": True},
    SEND | {"method": ""},
    {"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "none"}},
]


@pytest.mark.parametrize("request_", SAME)
async def test_the_same_refusal_word_for_word(both: list[httpx.AsyncClient], request_: Any) -> None:
    agent, front = [await ask(client, body(request_)) for client in both]
    assert front == agent
    assert "error" in front[2]


#: Only the code is compared: what is said differs, and ours says more.
SAME_CODE = [
    b"",
    b"{",
    b"nonsense",
    b"[]",
    b"[1]",
    b"1",
    b"null",
    b"{}",
    SEND | {"id": {}},
    SEND | {"method": 5},
    rpc("ListTaskPushNotificationConfigs", {"taskId": "none"}),
    rpc("GetTask"),
    rpc("GetTask", {"id": 5}),
    rpc("GetTask", []) | {"params": None},
    rpc("SendMessage"),
    rpc("SendMessage", {"message": {}}),
    rpc("SendStreamingMessage", {"message": MESSAGE | {"parts": []}}),
    rpc("ListTasks", {"pageSize": 0}),
    rpc("ListTasks", {"pageSize": 101}),
    rpc("ListTasks", {"historyLength": -1}),
]


@pytest.mark.parametrize("request_", SAME_CODE)
async def test_the_same_code(both: list[httpx.AsyncClient], request_: Any) -> None:
    agent, front = [await ask(client, body(request_)) for client in both]
    assert front[:2] == agent[:2] == (200, "application/json")
    assert front[2]["error"]["code"] == agent[2]["error"]["code"]
    assert front[2]["id"] == agent[2]["id"]
    if agent[2]["error"]["code"] not in (-32700, -32601):
        ours, theirs = front[2]["error"]["data"][0], agent[2]["error"]["data"][0]
        assert (ours["@type"], ours["reason"], ours["domain"]) == (
            theirs["@type"],
            theirs["reason"],
            theirs["domain"],
        )


@pytest.mark.parametrize("version", ["", "0.3", "0.3.0", "99.0", "2.0", "nonsense", "1.0", "1.0.1", " 1.0 "])
@pytest.mark.parametrize("method", ["GetTask", "SubscribeToTask"])
async def test_versions(both: list[httpx.AsyncClient], version: str, method: str) -> None:
    """Case 100: without a header the version is 0.3, which this agent does not speak."""
    request = body(rpc(method, {"id": "none"}))
    agent, front = [await ask(client, request, **{"A2A-Version": version}) for client in both]
    assert front[2]["error"]["code"] == agent[2]["error"]["code"]
    assert front[2]["error"]["code"] == (-32001 if version.strip().startswith("1.0") else -32009)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/xml", ""])
async def test_content_types_are_not_looked_at(both: list[httpx.AsyncClient], content_type: str) -> None:
    request = body(rpc("GetTask", {"id": "none"}))
    agent, front = [await ask(client, request, **{"Content-Type": content_type}) for client in both]
    assert front == agent


async def test_the_version_may_stand_in_the_query(both: list[httpx.AsyncClient]) -> None:
    front = both[1]
    request = rpc("GetTask", {"id": "none"})
    for query, number in (("A2A-Version=1.0", -32001), ("a2a-version=0.3", -32009), ("x=1", -32009)):
        answer = await front.post(f"{PATH}?{query}", json=request)
        assert answer.json()["error"]["code"] == number
