"""Ways round the journal: cards that change or are odd, spellings of paths, answers without end."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from sidecar.front import card as front_card
from sidecar.front.asgi import Receive, Scope, Send
from tests.unit.front.serving import SEND, V1, FakeAgent, agent_card, post, rpc, serving, until


def at(path: str) -> dict[str, Any]:
    url = "http://agent:9111" + path
    return agent_card() | {
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    }


async def test_paths_of_earlier_cards_stay_ours() -> None:
    async with serving() as served, httpx.AsyncClient(headers=V1) as client:
        assert (await post(served, SEND)).json()["result"]["task"]["id"]
        for path in ("/v2/rpc", "/v3/rpc"):
            served.agent.card = at(path)
            for each in (served.rpc, served.url + path):
                assert (await client.post(each, json=SEND)).json()["result"]["task"]["id"]
        sent = await client.post(served.rest + "/message:send", json=SEND["params"])
        assert sent.json()["task"]["id"]
        assert (await client.get(served.url + "/v2/.well-known/agent-card.json")).json()["name"] == "agent"
        assert not served.agent.seen


DISGUISED = [
    "//a2a/jsonrpc",
    "/a2a//jsonrpc",
    "/x/..%2fa2a/jsonrpc",
    "/x/../a2a/jsonrpc",
    "/a2a/%256asonrpc",
    "/a2a%5cjsonrpc",
    "/a2a/jsonrpc;x=1",
    "/a2a/rest/tasks/%2e%2e/message:send",
    "/a2a//rest/message:send",
    "/a2a/rest/tasks/a%2Fb:cancel",
    "/x/..%2f.well-known/agent-card.json",
    "//.well-known/agent-card.json",
    "/old//rpc",
]


@pytest.mark.parametrize("path", DISGUISED)
async def test_another_spelling_of_an_a2a_path_does_not_reach_the_agent(path: str) -> None:
    old = {"url": "http://agent/old/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
    card = agent_card()
    agent = FakeAgent(card=card | {"supportedInterfaces": [*card["supportedInterfaces"], old]})
    async with serving(agent=agent) as served:
        host, port = served.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        status = int(answer.split()[1])
        # Read by us as an operation, it is one, and journalled; anything else is refused.
        assert status == 400
        assert not agent.seen


@pytest.mark.parametrize("path", ["/docs//x", "/docs/../y", "/a%2Fb", "/a2a/rest/docs", "/rpc"])
async def test_other_paths_pass_however_they_are_spelled(path: str) -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        assert (await client.get(served.url + path)).json() == {"passed": True}


async def test_a_card_path_that_clients_tidy_up_is_served_where_they_ask() -> None:
    async with serving(agent=FakeAgent(card=at("/x/../a%20b"))) as served, httpx.AsyncClient(headers=V1) as client:
        assert (await client.post(served.url + "/a%20b", json=SEND)).json()["result"]["task"]["id"]


async def test_an_odd_card_leaves_the_last_good_one_and_says_why() -> None:
    odd: Any = agent_card() | {"name": {1: "no JSON"}, "capabilities": {"extensions": [{"uri": object()}]}}
    async with serving() as served, httpx.AsyncClient() as client:
        assert served.front.problem is None
        served.agent.card = odd
        for _ in range(2):
            assert "cannot be used" in str(served.front.problem)
            assert (await post(served, SEND)).json()["result"]["task"]["id"]
        url = served.url + "/.well-known/agent-card.json"
        assert (await client.get(url)).json()["name"] == "agent"
        served.agent.card = agent_card()
        assert served.front.problem is None
    async with serving(agent=FakeAgent(card=odd)) as served:
        answer = await post(served, SEND)
        assert (answer.status_code, answer.json()["detail"]) == (503, served.front.problem)


class Endless(FakeAgent):
    """Answers without end, or not at all."""

    chunk = b" " * 65536
    passing = 0
    sent = 0

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.passing += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while self.chunk:
                self.sent += len(self.chunk)
                await send({"type": "http.response.body", "body": self.chunk, "more_body": True})
                await asyncio.sleep(0)
            await asyncio.Event().wait()
        finally:
            self.passing -= 1


@pytest.mark.parametrize("binding", ["rpc", "rest"])
@pytest.mark.parametrize("end", ["too large", "too late", "left"])
async def test_an_extended_card_has_bounds(binding: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Endless()
    agent.chunk = b" " * 65536 if end == "too large" else b""
    if end == "too late":
        monkeypatch.setattr(front_card, "EXTENDED_WITHIN_S", 0.1)  # divided by 100
    async with serving(agent=agent) as served, httpx.AsyncClient(headers=V1) as client:
        asking = asyncio.ensure_future(
            client.post(served.rpc, json=rpc("GetExtendedAgentCard"))
            if binding == "rpc"
            else client.get(served.rest + "/extendedAgentCard")
        )
        if end == "left":
            await until(lambda: agent.passing)
            asking.cancel()
        else:
            answer = await asking
            assert answer.json()["error"]["code"] == (-32603 if binding == "rpc" else 500)
        await until(lambda: not agent.passing)
        assert agent.sent <= front_card.EXTENDED_BYTES_MAX + 65536
