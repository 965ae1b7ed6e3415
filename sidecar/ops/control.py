"""The control port: is it alive, is it ready, what has it counted, what does it know of its cluster.

An ASGI application for operators and orchestrators, on a port of its own so that it is never exposed with the A2A
port by accident. This file must not know what readiness depends on: it asks ``Health``. The failure it prevents: a
supervisor that sends clients to a sidecar which cannot serve them, or that cannot say why not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

import orjson

import sidecar
from sidecar.errors import SidecarError
from sidecar.ops.metrics import CONTENT_TYPE

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_JSON, _PROBLEM = "application/json", "application/problem+json"
CLUSTER = "/cluster"
READING = ("GET", "HEAD")
PATHS = ("/healthz", "/readyz", "/metrics", CLUSTER)


class Health(Protocol):
    """What readiness is asked of."""

    def reasons_not_ready(self) -> list[str]:
        """Sentences that say why no client should be sent here; empty when ready."""
        ...


class Page(Protocol):
    """What ``/metrics`` shows."""

    def page(self) -> bytes:
        """The metrics in Prometheus' text format."""
        ...


Report = Callable[[], Awaitable[Mapping[str, Any]]]


class Answer(NamedTuple):
    """A response before it is sent."""

    status: int
    content_type: str
    body: bytes


def control_app(health: Health, metrics: Page, cluster: Report | None = None) -> App:
    """The ASGI application of the control port.

    Args:
        health: asked at every ``/readyz``; must answer at once.
        metrics: asked at every ``/metrics``.
        cluster: asked at every ``/cluster``; None where there are no peers.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            method, path = scope["method"], scope["path"]
            about_cluster = path == CLUSTER and method in READING
            found = await _cluster(cluster) if about_cluster else answer(method, path, health, metrics)
            await _respond(scope, send, found)

    return app


def answer(method: str, path: str, health: Health, metrics: Page) -> Answer:
    """The response to one request; everything but the pages is a problem (RFC 9457)."""
    if path not in PATHS:
        return _problem(HTTPStatus.NOT_FOUND, f"{path} is not here; the pages are {', '.join(PATHS)}")
    if method not in READING:
        return _problem(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} can only be read")
    if path == "/metrics":
        return Answer(200, CONTENT_TYPE, metrics.page())
    if path == "/healthz":
        return Answer(200, _JSON, orjson.dumps({"status": "ok", "version": sidecar.__version__}))
    reasons = health.reasons_not_ready()
    if reasons:
        return Answer(503, _JSON, orjson.dumps({"status": "not ready", "reasons": reasons}))
    return Answer(200, _JSON, orjson.dumps({"status": "ready"}))


async def _cluster(report: Report | None) -> Answer:
    if report is None:
        return _problem(HTTPStatus.NOT_FOUND, "this sidecar has no peers: it was started without --peers")
    try:
        return Answer(200, _JSON, orjson.dumps(await report()))
    except SidecarError as error:
        return _problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))


def _problem(status: HTTPStatus, detail: str) -> Answer:
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return Answer(status.value, _PROBLEM, orjson.dumps(body))


async def _respond(scope: Scope, send: Send, response: Answer) -> None:
    status, content_type, body = response
    headers = [
        (b"content-type", content_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
