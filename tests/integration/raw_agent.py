"""A fake agent on bare sockets: says exactly the bytes that a script tells it to, right or wrong.

Real servers cannot be made to answer half a JSON document or to end a line never. In a test's own loop::

    async with RawAgent(half_json) as agent:
        ... agent.url, agent.requests ...

or as a process: ``python -m tests.integration.raw_agent --port P --script half_json``. The card is always
answered properly unless the script is started with ``card=False``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

Json = dict[str, Any]
EVENT_STREAM = "text/event-stream"
JSON = "application/json"


@dataclass
class Exchange:
    """One request, and the bytes to answer it with."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter = field(repr=False)
    number: int = 0  # counts the requests that are not for the card, from 0
    whole: bool = False  # the answer has ended as HTTP wants it; the connection can be used again

    @property
    def rpc(self) -> Json:
        """The JSON-RPC request."""
        request: Json = json.loads(self.body)
        return request

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, content_type: str = EVENT_STREAM, **headers: str) -> None:
        """Status line and headers; the body is chunked unless a Content_Length or Connection is given."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if not {"Content-Length", "Connection"} & headers.keys():
            headers["Transfer-Encoding"] = "chunked"
        lines = [
            f"HTTP/1.1 {status} X",
            f"Content-Type: {content_type}",
            *(f"{k}: {v}" for k, v in headers.items()),
        ]
        await self.write("\r\n".join([*lines, "", ""]).encode())

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        """The last chunk: a clean end."""
        await self.write(b"0\r\n\r\n")
        self.whole = True

    def frame(self, result: Json | None = None, error: Json | None = None) -> bytes:
        """A JSON-RPC answer to this request."""
        member = {"error": error} if error is not None else {"result": result}
        return json.dumps({"jsonrpc": "2.0", "id": self.rpc["id"], **member}).encode()

    async def event(self, result: Json | None = None, error: Json | None = None) -> None:
        """One SSE event."""
        await self.chunk(b"data: " + self.frame(result, error) + b"\n\n")

    async def answer(self, body: bytes, status: int = 200, content_type: str = JSON) -> None:
        """A whole answer."""
        await self.head(status, content_type, Content_Length=str(len(body)))
        await self.write(body)
        self.whole = True

    def reset(self) -> None:
        """Break the connection with RST."""
        with suppress(OSError):
            self.writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        self.writer.transport.abort()


Script = Callable[[Exchange], Awaitable[None]]


class RawAgent:
    """Serves a script on a free port of 127.0.0.1 for as long as the context lasts.

    Attributes:
        url: where it listens.
        requests: every request that was not for the card, in order of arrival.
        open: connections that are open now.
    """

    def __init__(
        self, script: Script, *, streaming: bool = True, card: bool = True, port: int = 0, **more: Any
    ) -> None:
        self.script = script
        self.requests: list[Exchange] = []
        self.open = 0
        self.url = ""
        self._answers_card, self._streaming, self._port, self._more = card, streaming, port, more
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def card(self) -> Json:
        """Its host is deliberately wrong: the path of the URL is what counts."""
        places = {"/rpc": "JSONRPC", "/rest": "HTTP+JSON"}
        named = {"name": "raw", "description": "raw", "version": "1", "skills": []}
        return {
            **named,
            "supportedInterfaces": [
                {"url": f"http://agent.invalid:1{path}", "protocolBinding": binding, "protocolVersion": "1.0"}
                for path, binding in places.items()
            ],
            "capabilities": {"streaming": self._streaming},
            **self._more,
        }

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=2**24)
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
        self.open += 1
        try:
            while await self._serve(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
        body = await self._body(reader, headers)
        exchange = Exchange(method, path, headers, body, writer, len(self.requests))
        if method == "GET" and path.endswith("agent-card.json") and self._answers_card:
            await exchange.answer(json.dumps(self.card).encode())
            return True
        self.requests.append(exchange)
        answering = asyncio.ensure_future(self.script(exchange))
        gone = asyncio.ensure_future(_hung_up(reader))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering
        return exchange.whole and not writer.is_closing()

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(parts)


async def _hung_up(reader: asyncio.StreamReader) -> None:
    # Looked for without reading: the first byte of the next request must not be lost.
    while not reader.at_eof() and reader.exception() is None:
        await asyncio.sleep(0.01)


async def main() -> None:
    from tests.integration.raw_scripts import SCRIPTS

    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--script", choices=SCRIPTS, required=True)
    parser.add_argument("--no-streaming", action="store_true")
    args = parser.parse_args()
    async with RawAgent(SCRIPTS[args.script], port=args.port, streaming=not args.no_streaming):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
