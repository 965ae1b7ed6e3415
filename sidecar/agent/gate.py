"""The way through to the agent for requests that are not A2A, as an ASGI application.

This file must not look into what passes. The failure it prevents: a client's departure that leaves the agent's
connection open, or an agent that breaks off looking like one that finished.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Protocol

from sidecar.agent.passthrough import Passed
from sidecar.records import Json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class ClientLeft(Exception):
    """The client went away before its request body was complete."""


class Reached(Protocol):
    """What the gate needs of the agent's side."""

    card: Json | None

    async def raw(
        self,
        method: str,
        path: str,
        headers: Iterable[tuple[bytes, bytes]],
        body: AsyncIterable[bytes] | bytes | None = None,
    ) -> Passed:
        """Pass a request on."""
        ...


class AgentGate:
    """The agent as a front sees it: its card, and a way through.

    Args:
        link: the agent.
    """

    def __init__(self, link: Reached) -> None:
        self._link = link

    @property
    def card(self) -> Json | None:
        """The last card that was read."""
        return self._link.card

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request through to the agent, untouched, and its answer back."""
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        names = {name for name, _ in scope["headers"]}
        has_body = b"content-length" in names or b"transfer-encoding" in names
        body = _body(receive) if has_body else None
        try:
            passed = await self._link.raw(
                scope["method"], f"{path}?{query}" if query else path, scope["headers"], body
            )
        except ClientLeft:
            return
        try:
            start = {"type": "http.response.start", "status": passed.status, "headers": passed.headers}
            await send(start)
            async for chunk in passed.body:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await passed.close()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            # A body that is cut short must not look whole to the agent: its request breaks off as well.
            raise ClientLeft
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return
