"""A front under a real server, and the agent beside it, for tests."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

from sidecar.front import Front, FrontSettings
from sidecar.front.asgi import Receive, Scope, Send, read_body, respond
from tests.unit.front.fake_tasks import FakeTasks

Json = dict[str, Any]


def agent_card(url: str = "http://agent:9111") -> Json:
    return {
        "name": "agent",
        "description": "an agent",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{url}/a2a/jsonrpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{url}/a2a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
    }


@dataclass
class FakeAgent:
    """The agent's card and its pass-through."""

    card: Json | None = field(default_factory=agent_card)
    answer: tuple[int, bytes] = (200, b'{"passed":true}')
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive, 1 << 20)
        self.seen.append((scope["method"], scope["path"], bytes(body)))
        await respond(send, *self.answer)


class CountingObserver:
    """Counts by name and labels."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()

    def count(self, name: str, value: int = 1, **labels: str) -> None:
        self.counts[(name, *labels.values())] += value

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        self.counts[(name, *labels.values())] += 1


@dataclass
class Served:
    """A running front."""

    url: str
    front: Front
    tasks: FakeTasks
    agent: FakeAgent
    observer: CountingObserver

    @property
    def rpc(self) -> str:
        return self.url + "/a2a/jsonrpc"

    @property
    def rest(self) -> str:
        return self.url + "/a2a/rest"


@asynccontextmanager
async def serving(
    tasks: FakeTasks | None = None,
    agent: FakeAgent | None = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Run a front on a free port in this loop."""
    tasks, agent, observer = tasks or FakeTasks(), agent or FakeAgent(), CountingObserver()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        front = Front(tasks, agent, FrontSettings(**{"public_url": url, **settings}), observer)
        server = uvicorn.Server(uvicorn.Config(front, log_level="error", http="httptools", ws="none"))
        running = asyncio.ensure_future(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        try:
            yield Served(url, front, tasks, agent, observer)
        finally:
            front.drain()
            server.should_exit = True
            await running
            await tasks.close()


async def until(condition: Callable[[], Any], deadline_s: float = 5.0) -> None:
    """Wait for a condition, which must come true before the deadline."""
    async with asyncio.timeout(deadline_s):
        while not condition():
            await asyncio.sleep(0.005)


V1 = {"A2A-Version": "1.0"}
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def rpc(method: str, params: Any = None, id_: Any = 1) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": {} if params is None else params}


SEND = rpc("SendMessage", {"message": MESSAGE})
STREAM = rpc("SendStreamingMessage", {"message": MESSAGE})


async def post(served: Served, body: Any, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx.AsyncClient() as client:
        return await client.post(served.rpc, content=content, headers=V1 | headers)
