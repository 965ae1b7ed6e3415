"""What a client may cost before its request is understood: heads, connections, descriptors."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sidecar import listen
from sidecar.front.asgi import Receive, Send, read_body, respond


async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    await respond(send, 200, b"%d" % len(await read_body(scope, receive, 1 << 24)))


@asynccontextmanager
async def listening(limit: int | None = None) -> AsyncIterator[int]:
    listener = listen.bind("127.0.0.1", 0, "the test")
    server = listen.server(app)
    if limit is not None:
        server.config.limit_concurrency = limit
    running = asyncio.ensure_future(server.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running


async def told(port: int, *chunks: bytes, wait_s: float = 5.0) -> bytes:
    """Everything that is answered until the server closes, or once whatever it takes was written."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        async with asyncio.timeout(wait_s):
            for each in chunks:
                writer.write(each)
                await writer.drain()
            while more := await reader.read(1 << 16):
                answer += more
    except ConnectionError:
        return answer or b"cut"
    finally:
        writer.close()
    return answer


START = b"GET / HTTP/1.1\r\nhost: x\r\n"
ENDLESS = {
    "many headers": START + b"x-a: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 3000,
    "one long header": START + b"x: " + b"y" * 100_000,
    "a long address": b"GET /" + b"y" * 100_000,
    "lines before a request": b"\r\n" * 50_000,
    "trailers": START.replace(b"GET", b"POST")
    + b"transfer-encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n"
    + b"x-a: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 3000,
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_a_head_has_a_bound(kind: str) -> None:
    async with listening() as port:
        answer = await told(port, ENDLESS[kind])
        assert answer in {b"cut", b""} or answer.startswith(b"HTTP/1.1 431 ")
        # Slowly, so that nothing more is under way when the connection closes: the answer is read.
        if kind != "trailers":
            short = ENDLESS[kind][: listen.HEAD_BYTES_MAX + 1]
            assert (await told(port, short)).startswith(b"HTTP/1.1 431 ")


async def test_bodies_and_pipelined_requests_are_no_heads() -> None:
    body = START.replace(b"GET", b"POST") + b"content-length: 3000000\r\n\r\n" + b"z" * 3_000_000
    last = START + b"connection: close\r\n\r\n"
    async with listening() as port:
        answer = await told(port, body, (START + b"\r\n") * 4000, last, wait_s=20)
        assert answer.count(b"HTTP/1.1 200 OK") == 4002
        assert b"3000000" in answer
        large = START + b"x: " + b"y" * 60_000 + b"\r\nconnection: close\r\n\r\n"
        assert (await told(port, large)).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"\r\n", START + b"\r\n" + b"GET / HT"])
async def test_a_head_that_never_ends_is_waited_for_only_so_long(
    begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "HEAD_WITHIN_S", 0.2)  # divided by 150
    async with listening() as port:
        assert b"HTTP/1.1 408 " in await told(port, begun)


async def test_clients_above_the_limit_are_refused_at_once_and_others_served() -> None:
    async with listening(limit=4) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        assert (await told(port)).startswith(b"HTTP/1.1 503 ")
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(5):
            while not (await told(port, START + b"connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200"):
                await asyncio.sleep(0.01)


def test_descriptors_are_taken_up_to_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(256, 900)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    listen.bind("127.0.0.1", 0, "the test").close()
    assert limits[-1] == (900, 900)
    assert 2 * listen.connections_max() < 900 - listen.DESCRIPTORS_KEPT
