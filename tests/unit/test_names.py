"""Names are looked up; a name server that is slow or away does not keep anybody from an address that was known."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from sidecar import names
from sidecar.names import RememberingResolver


class NameServer(AbstractResolver):
    """Answers with ``address``, once ``open``; fails where there is none."""

    def __init__(self) -> None:
        self.address = "10.0.0.1"
        self.open = asyncio.Event()
        self.open.set()
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        await self.open.wait()
        if not self.address:
            raise OSError("Name or service not known")
        return [ResolveResult(hostname=host, host=self.address, port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        self.address = ""


async def address(resolver: RememberingResolver) -> str:
    return (await resolver.resolve("agent-b", 9000))[0]["host"]


async def test_a_name_server_that_is_slow_or_away_costs_a_moment() -> None:
    server = NameServer()
    resolver = RememberingResolver(server, patience_s=0.05)
    assert await address(resolver) == "10.0.0.1"
    server.open.clear()
    began = time.monotonic()
    assert [await address(resolver) for _ in range(3)] == ["10.0.0.1"] * 3
    assert time.monotonic() - began < 2
    assert server.asked == 2, "one question is under way, however many wait"
    server.address = "10.0.0.2"
    server.open.set()
    assert await address(resolver) == "10.0.0.2"
    server.address = ""
    assert await address(resolver) == "10.0.0.2"
    await resolver.close()


async def test_what_was_known_long_ago_or_never_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    server = NameServer()
    resolver = RememberingResolver(server, patience_s=0.05)
    server.address = ""
    with pytest.raises(OSError, match="not known"):
        await address(resolver)
    server.address = "10.0.0.1"
    assert await address(resolver) == "10.0.0.1"
    monkeypatch.setattr(names, "KEPT_S", 0.0)
    server.address = ""
    with pytest.raises(OSError, match="not known"):
        await address(resolver)
    await resolver.close()
