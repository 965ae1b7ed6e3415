"""Where the front is found: the paths of A2A, the card, and what passes through."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from bridge.a2a import extension
from tests.unit.front.serving import SEND, V1, FakeAgent, agent_card, post, rpc, serving, until


async def test_the_path_of_the_card_s_interface_with_and_without_a_slash_and_post_only() -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        for path in ("/a2a/jsonrpc", "/a2a/jsonrpc/"):
            answer = await client.post(served.url + path, json=SEND, headers=V1)
            assert answer.json()["result"]["task"]["id"]
        answer = await client.get(served.rpc)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_a_public_url_with_a_path_is_understood_with_and_without_it() -> None:
    """Cases 94, 97: proxies may keep the prefix or take it away."""
    async with serving(public_url="https://gateway/agents/tick/") as served, httpx.AsyncClient() as client:
        send = SEND["params"]
        for prefix in ("", "/agents/tick"):
            answer = await client.post(f"{served.url}{prefix}/a2a/jsonrpc", json=SEND, headers=V1)
            assert answer.json()["result"]["task"]["id"]
            answer = await client.post(f"{served.url}{prefix}/a2a/rest/message:send", json=send, headers=V1)
            assert answer.json()["task"]["id"]
            for below in ("", "/a2a", "/a2a/jsonrpc", "/a2a/rest"):
                card = (await client.get(f"{served.url}{prefix}{below}/.well-known/agent-card.json")).json()
                assert [each["url"] for each in card["supportedInterfaces"]] == [
                    "https://gateway/agents/tick/a2a/jsonrpc",
                    "https://gateway/agents/tick/a2a/rest",
                ]


@pytest.mark.parametrize(
    ("own", "expected"), [("http://agent", ""), ("https://gateway/agents/tick", "/agents/tick")]
)
async def test_an_agent_is_asked_at_its_own_paths_whatever_ours_are(own: str, expected: str) -> None:
    """Case 94: a prefix that proxies keep and the agent does not know would end in its 404."""
    agent = FakeAgent(card=agent_card(own))
    agent.answer = (200, json.dumps(agent_card()).encode())
    async with (
        serving(agent=agent, public_url="https://gateway/agents/tick") as served,
        httpx.AsyncClient(headers=V1) as client,
    ):
        for path in ("/a2a/rest/extendedAgentCard", "/docs/a%20b"):
            assert (await client.get(served.url + "/agents/tick" + path)).status_code == 200
            assert agent.seen[-1][1] == expected + path.replace("%20", " ")
        await client.post(f"{served.url}/agents/tick/a2a/jsonrpc", json=rpc("GetExtendedAgentCard"))
        assert agent.seen[-1][1] == expected + "/a2a/jsonrpc"


async def test_the_card_is_rewritten_and_revalidated() -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        url = served.url + "/.well-known/agent-card.json"
        answer = await client.get(url)
        card = answer.json()
        assert [each["url"] for each in card["supportedInterfaces"]] == [served.rpc, served.rest]
        assert card["capabilities"]["pushNotifications"] is False
        assert [each["uri"] for each in card["capabilities"]["extensions"]] == [extension.URI]
        assert answer.headers["cache-control"] == "public, max-age=60"
        etag = answer.headers["etag"]
        for asked in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = await client.get(url, headers={"If-None-Match": asked})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        head = await client.head(url)
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", etag)
        assert int(head.headers["content-length"]) == len(answer.content)
        served.agent.card = {**agent_card(), "name": "renamed"}
        changed = await client.get(url, headers={"If-None-Match": etag})
        assert (changed.status_code, changed.json()["name"]) == (200, "renamed")
        assert (await client.post(url)).status_code == 405


async def test_the_last_known_card_serves_while_the_agent_is_away() -> None:
    agent = FakeAgent(card=None)
    async with serving(agent=agent) as served, httpx.AsyncClient() as client:
        answer = await client.post(served.rpc, json=SEND, headers=V1)
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert "never seen" in answer.json()["detail"]
        assert served.front.problem == answer.json()["detail"]
        agent.card = agent_card()
        assert served.front.problem is None
        agent.card = None
        assert (await post(served, SEND)).json()["result"]["task"]["id"]
        assert (await client.get(served.url + "/.well-known/agent-card.json")).status_code == 200


async def test_everything_else_passes_through() -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        answer = await client.put(served.url + "/docs/x?y=1", content=b"body")
        assert answer.json() == {"passed": True}
        assert served.agent.seen == [("PUT", "/docs/x", b"body")]


async def test_a_binding_that_is_not_served_is_refused_rather_than_passed_through() -> None:
    """Case 95."""
    rest = {"url": "http://agent/old/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"}
    card = agent_card()
    agent = FakeAgent(card=card | {"supportedInterfaces": [*card["supportedInterfaces"], rest]})
    async with serving(agent=agent) as served, httpx.AsyncClient() as client:
        answer = await client.post(served.url + "/old/rest/v1/message:send", json={})
        assert (answer.status_code, answer.headers["content-type"]) == (501, "application/problem+json")
        assert not agent.seen
        assert (await client.get(served.url + "/old/rest/docs")).status_code == 200


async def test_what_is_no_operation_of_http_json_passes_through_and_a_wrong_method_does_not() -> None:
    async with serving() as served, httpx.AsyncClient() as client:
        for method, path in (("GET", "/docs"), ("GET", ""), ("POST", "/message:other"), ("GET", "/tasks/1/2")):
            assert (await client.request(method, served.rest + path)).json() == {"passed": True}
        seen = len(served.agent.seen)
        answer = await client.put(served.rest + "/tasks/1:subscribe")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
        assert len(served.agent.seen) == seen


async def test_the_extended_card_is_the_agent_s_rewritten() -> None:
    agent = FakeAgent()
    card = agent_card() | {"name": "more"}
    agent.answer = (200, json.dumps({"jsonrpc": "2.0", "id": 9, "result": card}).encode())
    async with serving(agent=agent, absent_s=0) as served:
        answer = (await post(served, rpc("GetExtendedAgentCard", id_=9))).json()
        assert answer["id"] == 9
        assert answer["result"]["name"] == "more"
        assert answer["result"]["supportedInterfaces"][0]["url"] == served.rpc
        refusal = {"jsonrpc": "2.0", "id": 9, "error": {"code": -32007, "message": "not configured"}}
        agent.answer = (200, json.dumps(refusal).encode())
        assert (await post(served, rpc("GetExtendedAgentCard", id_=9))).json() == refusal
        agent.answer = (502, b"Bad Gateway")
        assert (await post(served, rpc("GetExtendedAgentCard", id_=9))).json()["error"]["code"] == -32603


async def test_an_agent_that_comes_back_in_time_answers_for_its_extended_card() -> None:
    agent = FakeAgent()
    card = {"jsonrpc": "2.0", "id": 1, "result": agent_card() | {"name": "back"}}
    away = (502, b'{"title":"Bad Gateway","detail":"longer than what comes then: %s"}' % (b"x" * 4096))
    async with serving(agent=agent) as served:
        for first in (away, (503, b""), (504, b"")):
            agent.answer = first
            agent.seen.clear()
            asking = asyncio.ensure_future(post(served, rpc("GetExtendedAgentCard")))
            await until(lambda: len(agent.seen) > 1)
            agent.answer = (200, json.dumps(card).encode())
            assert (await asking).json()["result"]["name"] == "back"


async def test_the_extended_card_over_http_json_too() -> None:
    agent = FakeAgent()
    agent.answer = (200, json.dumps(agent_card() | {"name": "more"}).encode())
    async with serving(agent=agent, absent_s=0) as served, httpx.AsyncClient(headers=V1) as client:
        for path in ("/extendedAgentCard", "/acme/extendedAgentCard"):
            answer = await client.get(served.rest + path)
            assert answer.headers["content-type"] == "application/a2a+json"
            assert answer.json()["name"] == "more"
            assert [each["url"] for each in answer.json()["supportedInterfaces"]] == [served.rpc, served.rest]
            assert agent.seen[-1] == ("GET", "/a2a/rest" + path, b"")
        refusal = {"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "none", "details": []}}
        agent.answer = (400, json.dumps(refusal).encode())
        answer = await client.get(served.rest + "/extendedAgentCard")
        assert (answer.status_code, answer.json()) == (400, refusal)
        for nobody in (
            b"Bad Gateway",
            b'{"status":502,"detail":"what the way through says of an agent that is away"}',
        ):
            agent.answer = (502, nobody)
            answer = await client.get(served.rest + "/extendedAgentCard")
            assert (answer.status_code, answer.json()["error"]["status"]) == (500, "INTERNAL")
        asked = len(agent.seen)
        answer = await client.get(served.rest + "/extendedAgentCard", headers={"A2A-Version": "0.3"})
        assert answer.json()["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"
        assert len(agent.seen) == asked
