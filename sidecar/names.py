"""Names of hosts, looked up; where the name server is slow or away, the address that was good a while ago.

A container that dies has the engine's name server reload, and whoever asks in that moment waits for seconds: just
then a standby has to call its agent. A changed address is found as soon as the name server answers at all.
This file must not know who is called. The failure it prevents: a takeover that waits for a name which was known.
"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from typing import Any

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

PATIENCE_S = 0.2
"""A name server nearby answers within milliseconds."""

KEPT_S = 300.0

Asked = tuple[str, int, int]


@dataclass(slots=True)
class _Answer:
    found: list[ResolveResult]
    at: float


class RememberingResolver(AbstractResolver):
    """A resolver for one session of a client. Belongs to one event loop.

    Args:
        asks: the name server behind it; the system's by default.
        patience_s: how long an answer is waited for where an older one is known.
    """

    def __init__(self, asks: AbstractResolver | None = None, patience_s: float = PATIENCE_S) -> None:
        self._asks = asks or ThreadedResolver()
        self._patience_s = patience_s
        self._known: dict[Asked, _Answer] = {}
        self._asking: dict[Asked, asyncio.Task[list[ResolveResult]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Addresses of a host.

        Raises:
            OSError: there is none, and none was known lately.
        """
        asked = (host, port, int(family))
        known = self._lately(asked)
        asking = self._asking.get(asked) or self._ask(asked, family)
        if known is None:
            return await asyncio.shield(asking)
        done, _ = await asyncio.wait((asking,), timeout=self._patience_s)
        if not done or asking.cancelled() or asking.exception() is not None:
            return known
        return asking.result()

    async def close(self) -> None:
        """Ask no more."""
        for asking in self._asking.values():
            asking.cancel()
        await self._asks.close()

    def _lately(self, asked: Asked) -> list[ResolveResult] | None:
        answer = self._known.get(asked)
        return answer.found if answer is not None and time.monotonic() - answer.at < KEPT_S else None

    def _ask(self, asked: Asked, family: socket.AddressFamily) -> asyncio.Task[list[ResolveResult]]:
        asking = self._asking[asked] = asyncio.ensure_future(self._asks.resolve(asked[0], asked[1], family))
        asking.add_done_callback(lambda done: self._answered(asked, done))
        return asking

    def _answered(self, asked: Asked, done: asyncio.Future[Any]) -> None:
        self._asking.pop(asked, None)
        if not done.cancelled() and done.exception() is None:
            self._known[asked] = _Answer(done.result(), time.monotonic())
