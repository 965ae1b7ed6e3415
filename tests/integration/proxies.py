"""What stands between clients and sidecars: TCP proxies that cut idle connections, or collect before they pass on.

Small models of what load balancers and gateways do, so that no test needs one installed. This file must not know
HTTP beyond where a header ends.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

PIECE = 65536


class Proxy:
    """A TCP proxy on a free port of 127.0.0.1, for as long as the context lasts.

    Args:
        target: URL of what stands behind it.
        idle_s: cut a connection on which nothing has come from the target for so long; None for never.
        collect_bytes: pass an answer on in blocks of so many bytes (as with ``proxy_buffering on``), unless its
            header says ``X-Accel-Buffering: no``.

    Attributes:
        url: where it listens.
        cut: connections that it has cut.
    """

    def __init__(self, target: str, *, idle_s: float | None = None, collect_bytes: int = 0) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 80)
        self._idle_s, self._collect_bytes = idle_s, collect_bytes
        self.url = ""
        self.cut = 0
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        upstream, downstream = await asyncio.open_connection(*self._target)
        pumps = [
            asyncio.ensure_future(self._pump(reader, downstream)),
            asyncio.ensure_future(self._answer(upstream, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass
        finally:
            for pump in pumps:
                pump.cancel()
            for end in (writer, downstream):
                end.transport.abort()
            self._connections.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(PIECE):
                sink.write(piece)
                await sink.drain()

    async def _answer(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        held = b""
        collecting = self._collect_bytes > 0
        with suppress(OSError):
            while True:
                try:
                    async with asyncio.timeout(self._idle_s):
                        piece = await source.read(PIECE)
                except TimeoutError:
                    self.cut += 1
                    return
                held += piece
                if b"x-accel-buffering: no" in held.lower():
                    collecting = False
                if not collecting or not piece or len(held) >= self._collect_bytes:
                    sink.write(held)
                    await sink.drain()
                    held = b""
                if not piece:
                    return
