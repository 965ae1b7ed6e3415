"""The control port: alive, ready or why not, and problems for everything else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

import sidecar
from sidecar.errors import StoreUnavailable
from sidecar.ops.control import control_app
from sidecar.ops.metrics import Metrics


class Health:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def reasons_not_ready(self) -> list[str]:
        return self.reasons


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
async def client(health: Health) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=control_app(health, Metrics()))
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        yield client


async def test_alive(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": sidecar.__version__}
    assert answer.headers["cache-control"] == "no-store"


async def test_ready_or_why_not(client: httpx.AsyncClient, health: Health) -> None:
    assert (await client.get("/readyz")).json() == {"status": "ready"}
    health.reasons = ["the agent at http://127.0.0.1:9000 refuses connections", "the store cannot be written"]
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "reasons": health.reasons}
    assert (await client.get("/healthz")).status_code == 200
    health.reasons = []
    assert (await client.get("/readyz")).status_code == 200


async def test_metrics(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'dhp_sidecar_build_info{{version="{sidecar.__version__}"}} 1.0' in answer.text


async def test_head_has_no_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/healthz")
    assert answer.status_code == 200
    assert answer.content == b""
    assert int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize("path", ["/", "/healthz/", "/v1/message:send"])
async def test_other_paths_are_problems(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 404
    assert "/readyz" in answer.json()["detail"]


async def test_what_is_known_of_the_cluster(health: Health) -> None:
    said: list[object] = [{"well": True}, StoreUnavailable("the file cannot be read", "look at the disk")]

    async def report() -> dict[str, object]:
        answer = said.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, dict)
        return answer

    transport = httpx.ASGITransport(app=control_app(health, Metrics(), report))
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        assert (await client.get("/cluster")).json() == {"well": True}
        answer = await client.get("/cluster")
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the file cannot be read (look at the disk)"
        assert (await client.post("/cluster")).status_code == 405


async def test_a_sidecar_without_peers_knows_no_cluster(client: httpx.AsyncClient) -> None:
    answer = await client.get("/cluster")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "this sidecar has no peers: it was started without --peers"


async def test_writing_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/readyz")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.json()["title"] == "Method Not Allowed"


async def test_lifespan_is_answered(health: Health) -> None:
    wanted = ["lifespan.startup", "lifespan.shutdown"]
    sent: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": wanted[len(sent)]}

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message["type"])

    await control_app(health, Metrics())({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
