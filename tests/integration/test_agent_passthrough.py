"""Everything that is not A2A passes to the agent, streamed both ways."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack

import orjson
import pytest

from sidecar.agent import AgentSettings, HttpAgentLink, Passed
from sidecar.errors import AgentError
from sidecar.ports import EndKind
from tests.integration import raw_scripts as scripts
from tests.integration.agent_side import Linked, until
from tests.integration.raw_agent import Exchange, RawAgent, Script


async def whole(passed: Passed) -> bytes:
    try:
        return b"".join([chunk async for chunk in passed.body])
    finally:
        await passed.close()


async def mirror(exchange: Exchange) -> None:
    lines = [
        b"HTTP/1.1 418 Teapot",
        b"content-encoding: gzip",
        b"set-cookie: a=1",
        b"Set-Cookie: b=2",
        b"x-latin: \xe4",
        b"connection: x-hop",
        b"x-hop: 1",
        b"content-length: %d" % len(exchange.body),
    ]
    await exchange.write(b"\r\n".join([*lines, b"", b""]) + exchange.body)
    exchange.whole = True


async def test_method_path_headers_and_body_arrive_and_the_answer_comes_back_as_it_is() -> None:
    async with Linked(mirror) as (link, agent):
        headers = [(b"X-A", "ü".encode()), (b"connection", b"x-b"), (b"x-b", b"1"), (b"host", b"sidecar")]
        passed = await link.raw("PUT", "/a%2Fb/../c?x=%20&y", headers, b"\x00body")
        assert passed.status == 418
        assert await whole(passed) == b"\x00body"  # not decompressed, though the header says so
        assert passed.headers == [
            (b"content-encoding", b"gzip"),
            (b"set-cookie", b"a=1"),
            (b"Set-Cookie", b"b=2"),
            (b"x-latin", b"\xe4"),
            (b"content-length", b"5"),
        ]
        (seen,) = agent.requests
        assert (seen.method, seen.path, seen.body) == ("PUT", "/a%2Fb/../c?x=%20&y", b"\x00body")
        assert seen.headers["x-a"] == "ü".encode().decode("latin-1")
        assert seen.headers["host"] == agent.url.removeprefix("http://")
        assert not {"x-b", "user-agent", "accept", "accept-encoding", "content-type"} & seen.headers.keys()


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
async def test_no_body_stays_no_body(method: str) -> None:
    async with Linked(mirror) as (link, agent):
        assert await whole(await link.raw(method, "/x", [])) == b""
        assert "transfer-encoding" not in agent.requests[0].headers


@pytest.mark.parametrize("declared", [True, False])
async def test_a_streamed_body_keeps_its_length_or_is_chunked(declared: bool) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x" * 100_000

    async with Linked(mirror) as (link, agent):
        headers = [(b"content-length", b"1000000")] if declared else []
        assert len(await whole(await link.raw("POST", "/x", headers, body()))) == 1_000_000
        assert ("content-length" in agent.requests[0].headers) is declared


async def test_an_answer_is_passed_on_while_it_is_written() -> None:
    go_on = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunk(b"first")
        await go_on.wait()
        await exchange.chunk(b"second")
        await exchange.end()

    async with Linked(script) as (link, _):
        passed = await link.raw("GET", "/x", [])
        assert await anext(passed.body) == b"first"
        go_on.set()
        assert await anext(passed.body) == b"second"
        await passed.close()


async def test_an_answer_that_breaks_off_does_not_look_whole() -> None:
    async with Linked(scripts.hang_up) as (link, _):
        passed = await link.raw("POST", "/x", [], b'{"id": 1}')
        with pytest.raises(AgentError, match="broke off"):
            await whole(passed)


async def test_an_answer_that_is_given_up_gives_its_connection_back() -> None:
    async with Linked(scripts.silent, AgentSettings(connections_max=2)) as (link, agent):
        for _ in range(20):
            passed = await link.raw("POST", "/x", [], b'{"id": 1}')
            await passed.close()
        await until(lambda: agent.open == 0)
        assert agent.requests


@pytest.mark.parametrize("script", [scripts.reset_at_once, scripts.garbage])
async def test_no_answer_is_a_problem_502(script: Script) -> None:
    async with Linked(script) as (link, _):
        passed = await link.raw("GET", "/x", [])
        assert passed.status == 502
        assert (b"content-type", b"application/problem+json") in passed.headers
        assert orjson.loads(await whole(passed))["title"] == "Bad Gateway"


async def test_an_absent_agent_is_a_problem_502() -> None:
    async with RawAgent(scripts.good) as agent:
        url = agent.url
    link = HttpAgentLink(url)
    passed = await link.raw("GET", "/x", [])
    assert passed.status == 502
    assert "refused" in orjson.loads(await whole(passed))["detail"]
    await link.close()


async def test_no_connection_in_time_is_a_problem_504() -> None:
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(3):  # nobody accepts: with a full queue the kernel leaves handshakes unanswered
            knock = waiting.enter_context(socket.socket())
            knock.setblocking(False)
            knock.connect_ex(address)
        link = HttpAgentLink(f"http://127.0.0.1:{address[1]}", AgentSettings(connect_timeout_s=0.2))
        passed = await link.raw("GET", "/x", [])
        assert passed.status == 504
        assert orjson.loads(await whole(passed))["title"] == "Gateway Timeout"
        run = await link.start({"message": {}}, {})
        assert run.end is not None
        assert run.end.kind is EndKind.REFUSED  # the card could not be read either
        await link.close()
