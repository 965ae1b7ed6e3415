"""The same over HTTP+JSON: what an SDK agent refuses, the front refuses in the same way; answers look alike."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from sidecar.front import Front, FrontSettings
from tests.integration.agents import Long
from tests.unit.front.fake_tasks import FakeTasks
from tests.unit.front.serving import MESSAGE, V1, CountingObserver, FakeAgent, agent_card

REST = "/a2a/rest"
SEND = {"message": MESSAGE | {"parts": [{"text": "steps=1 pace=0"}]}}
Answer = tuple[int, str, Any]


@pytest.fixture(params=[REST, ""])
async def both(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> AsyncIterator[list[Any]]:
    """An SDK agent and a front, at a path and at the root; each as a function that asks it."""
    caplog.set_level(logging.CRITICAL)
    url = {"url": f"http://agent{request.param}", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    card = agent_card()
    card |= {"capabilities": {"streaming": True}, "supportedInterfaces": [*card["supportedInterfaces"][:1], url]}
    message = ParseDict(card, pb.AgentCard())
    handler = DefaultRequestHandler(Long(None), InMemoryTaskStore(), message)
    agent = Starlette(routes=create_rest_routes(handler, path_prefix=request.param))
    front = Front(FakeTasks(), FakeAgent(card), FrontSettings(public_url="http://x"), CountingObserver())

    async with (
        httpx.AsyncClient(transport=httpx.ASGITransport(app=agent), base_url=f"http://x{request.param}") as first,
        httpx.AsyncClient(transport=httpx.ASGITransport(app=front), base_url=f"http://x{request.param}") as second,
    ):
        yield [first, second]
    await front.close()
    await handler.aclose()


async def ask(
    client: httpx.AsyncClient, verb: str, path: str, body: Any = None, headers: dict[str, str] = V1
) -> Answer:
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    answer = await client.request(verb, path, content=content, headers=headers)
    return answer.status_code, answer.headers["content-type"], answer.json()


SAME = [
    ("GET", "/tasks/none", None),
    ("GET", "/tasks/none/", None),
    ("GET", "/tasks/none?historyLength=0&unknown=1", None),
    ("GET", "/tasks/none?historyLength=-1", None),
    ("GET", "/tasks/a:b", None),
    ("GET", "/tasks/none:cancel", None),
    ("GET", "/tasks/none?id=other", None),
    ("POST", "/tasks/none:cancel", None),
    ("POST", "/tasks/none:cancel", {}),
    ("POST", "/tasks/none:cancel", {"id": "none", "metadata": {"a": 1}}),
    ("GET", "/tasks/none:subscribe", None),
    ("POST", "/tasks/none:subscribe", None),
    ("POST", "/tasks/none:subscribe", {}),
]


@pytest.mark.parametrize(("verb", "path", "body"), SAME)
async def test_the_same_refusal_word_for_word(both: list[Any], verb: str, path: str, body: Any) -> None:
    agent, front = [
        await ask(client, verb, path if client is both[1] else path.rstrip("/"), body) for client in both
    ]
    assert front == agent
    assert front[:2] == (front[2]["error"]["code"], "application/json")


#: Only codes are compared: what is said differs, and ours says more.
SAME_CODE = [
    ("POST", "/message:send", b""),
    ("POST", "/message:send", b"{"),
    ("POST", "/message:send", b"[1]"),
    ("POST", "/message:send", b"5"),
    ("POST", "/message:send", b"null"),
    ("POST", "/message:send", {}),
    ("POST", "/message:send", {"message": {}}),
    ("POST", "/message:send", {"message": 5}),
    ("POST", "/message:send", {"message": MESSAGE | {"parts": []}}),
    ("POST", "/message:send", {"message": MESSAGE | {"parts": [{"text": 5}]}}),
    ("POST", "/message:send", {"message": MESSAGE | {"taskId": "none"}}),
    ("POST", "/message:stream", b"{"),
    ("POST", "/message:stream", {"message": {}}),
    ("POST", "/message:stream", {"message": MESSAGE | {"parts": []}}),
    ("GET", "/tasks?pageSize=0", None),
    ("GET", "/tasks?pageSize=101", None),
    ("GET", "/tasks?pageSize=x", None),
    ("GET", "/tasks?historyLength=-1", None),
    ("GET", "/tasks?historyLength=", None),
    ("GET", "/tasks?pageToken=nonsense", None),
    ("GET", "/tasks/none?historyLength=1.5", None),
    ("GET", "/tasks/none/pushNotificationConfigs", None),
    ("GET", "/tasks/none/pushNotificationConfigs/1", None),
    ("DELETE", "/tasks/none/pushNotificationConfigs/1", None),
    ("POST", "/tasks/none/pushNotificationConfigs", {"url": "http://x"}),
]


@pytest.mark.parametrize(("verb", "path", "body"), SAME_CODE)
async def test_the_same_code(both: list[Any], verb: str, path: str, body: Any) -> None:
    agent, front = [await ask(client, verb, path, body) for client in both]
    assert front[:2] == agent[:2]
    ours, theirs = front[2]["error"], agent[2]["error"]
    assert (ours["code"], ours["status"]) == (theirs["code"], theirs["status"])
    kind, reason, domain = (ours["details"][0][name] for name in ("@type", "reason", "domain"))
    assert (kind, reason, domain) == tuple(theirs["details"][0][name] for name in ("@type", "reason", "domain"))


@pytest.mark.parametrize("version", ["", "0.3", "99.0", "2.0", "nonsense", "1.0", "1.0.1"])
@pytest.mark.parametrize(("verb", "path"), [("GET", "/tasks/none"), ("POST", "/tasks/none:subscribe")])
async def test_versions(both: list[Any], version: str, verb: str, path: str) -> None:
    """Case 100."""
    headers = {"A2A-Version": version}
    agent, front = [await ask(client, verb, path, headers=headers) for client in both]
    assert front[0] == agent[0] == (404 if version.startswith("1.0") else 400)
    assert front[2]["error"]["details"] == agent[2]["error"]["details"]


@pytest.mark.parametrize("media", ["application/json", "application/a2a+json", "text/plain", ""])
async def test_content_types_are_not_looked_at(both: list[Any], media: str) -> None:
    headers = V1 | {"Content-Type": media}
    agent, front = [await ask(client, "POST", "/message:send", {}, headers) for client in both]
    assert front[:2] == agent[:2]
    agent, front = [await ask(client, "POST", "/message:send", SEND, headers) for client in both]
    assert front[:2] == agent[:2] == (200, "application/a2a+json")
    assert front[2].keys() == agent[2].keys() == {"task"}


async def test_answers_have_the_same_form(both: list[Any]) -> None:
    seen: list[list[Answer]] = []
    for client in both:
        sent = await ask(client, "POST", "/message:send", SEND)
        path = f"/tasks/{sent[2]['task']['id']}"
        seen.append([
            sent,
            await ask(client, "GET", path + "?historyLength=0"),
            await ask(client, "GET", path + "?historyLength=99"),
            await ask(client, "GET", "/tasks"),
            await ask(client, "GET", "/tasks?status=3&includeArtifacts=true&pageSize=1"),
            await ask(client, "POST", path + ":subscribe"),
        ])  # fmt: skip
    for theirs, ours in zip(*seen, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2].keys() == theirs[2].keys() - {"history"}  # the fake runtime keeps none
    assert [each[3][2]["totalSize"] for each in seen] == [1, 1]


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_tenant_in_the_path(both: list[Any], place: str) -> None:
    """The SDK's clients put it after the interface's path, its servers mount it before: at the root both agree."""
    base = both[0].base_url.path.rstrip("/")
    path = f"/acme{base}" if place == "before" else f"{base}/acme"
    asked = [("GET", "/tasks/none"), ("GET", "/tasks?pageSize=0"), ("POST", "/message:send")]
    answers = [
        [
            await ask(client, verb, f"http://x{path}{below}", SEND if verb == "POST" else None)
            for verb, below in asked
        ]
        for client in both[1:] + (both[:1] if place == "before" or not base else [])
    ]
    assert [each[0] for each in answers[0]] == [404, 400, 200]
    for found in answers[1:]:
        assert [each[:2] for each in found] == [each[:2] for each in answers[0]]
