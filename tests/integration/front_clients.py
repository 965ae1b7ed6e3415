"""Stock SDK clients of a front, for either binding."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.types import a2a_pb2 as pb

from tests.unit.front.serving import Served

BINDINGS = ("JSONRPC", "HTTP+JSON")


class ClientOf(Protocol):
    """Makes a client of a front."""

    def __call__(
        self, served: Served, *, streaming: bool = True, timeout_s: float = 5.0
    ) -> AbstractAsyncContextManager[Client]: ...


def clients_over(binding: str) -> ClientOf:
    """Clients that speak one binding."""

    @asynccontextmanager
    async def client_of(
        served: Served, *, streaming: bool = True, timeout_s: float = 5.0
    ) -> AsyncIterator[Client]:
        async with httpx.AsyncClient(timeout=timeout_s) as http:
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
            yield await create_client(served.url, config)

    return client_of


def message(text: str = "hi", task_id: str = "") -> pb.SendMessageRequest:
    part = pb.Part(text=text)
    return pb.SendMessageRequest(
        message=pb.Message(message_id="m", role=pb.ROLE_USER, parts=[part], task_id=task_id)
    )
