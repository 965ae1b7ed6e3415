"""The load generator: closed loops of requests and readers of streams, cheap enough not to be the bottleneck.

One asyncio protocol per kept-alive connection, httptools for HTTP, no JSON parsing while the clock runs. Its own
ceiling is measured in every run, against the canned agent. This file must not know what is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import httptools
import orjson

TERMINAL = b"TASK_STATE_COMPLETED"
MARK = b"data: "


def rpc_body(method: str, params: dict[str, object]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def send_body(method: str, text: str, message_id: str) -> bytes:
    message = {"role": "ROLE_USER", "messageId": message_id, "parts": [{"text": text}]}
    return rpc_body(method, {"message": message})


def head_of(url: str) -> bytes:
    """The head of a request, but for the length of its body."""
    parts = urlsplit(url)
    return (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nA2A-Version: 1.0\r\nContent-Length: %d\r\n\r\n"
    ).encode()


async def connect(url: str, protocol: asyncio.Protocol) -> None:
    parts = urlsplit(url)
    await asyncio.get_running_loop().create_connection(lambda: protocol, parts.hostname or "", parts.port or 80)


@dataclass(slots=True)
class Load:
    """What a closed loop saw.

    Attributes:
        seconds: from the end of the warm-up to the last answer.
        latencies_s: of every request that was begun after the warm-up, sorted.
        asked: requests in all, those of the warm-up too.
        refused: answers that are no results, with the first of them.
    """

    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    asked: int = 0
    refused: int = 0
    first_refusal: bytes = b""

    @property
    def rate(self) -> float:
        return len(self.latencies_s) / self.seconds if self.seconds else 0.0

    def percentile_ms(self, percent: float) -> float:
        values = self.latencies_s
        return values[min(len(values) - 1, int(len(values) * percent / 100))] * 1e3 if values else float("nan")


class _Loop:
    """What the connections of one closed loop share."""

    def __init__(
        self, url: str, body_of: Callable[[int], bytes], warm_s: float, seconds: float, count: int | None
    ) -> None:
        self._head, self._body_of, self._count = head_of(url), body_of, count
        self.load = Load()
        self._from = time.perf_counter() + warm_s
        self._until = self._from + seconds
        self._last = self._from

    def request(self) -> bytes | None:
        if time.perf_counter() >= self._until or self.load.asked == self._count:
            return None
        self.load.asked += 1
        body = self._body_of(self.load.asked)
        return self._head % len(body) + body

    def answered(self, began: float, body: bytes) -> None:
        now = time.perf_counter()
        if b'"result"' not in body:
            self.load.refused += 1
            self.load.first_refusal = self.load.first_refusal or body
        elif began >= self._from:
            self.load.latencies_s.append(now - began)
            self._last = now

    def finish(self) -> Load:
        self.load.seconds = self._last - self._from
        self.load.latencies_s.sort()
        return self.load


class _Lane(asyncio.Protocol):
    """One kept-alive connection with one request on its way at a time."""

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""
        self._began = 0.0
        self._busy = True
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            lost = ConnectionError(f"the server closed a connection: {exc}")
            self.over.set_exception(lost) if self._busy else self.over.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._loop.answered(self._began, self._body)
        self._body = b""
        self._next()

    def _next(self) -> None:
        request = self._loop.request()
        if request is None:
            self._busy = False
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(request)


async def closed_loop(
    url: str,
    body_of: Callable[[int], bytes],
    *,
    connections: int,
    seconds: float = 3600,
    warm_s: float = 0.0,
    count: int | None = None,
) -> Load:
    """Ask over and over on so many connections, for some seconds or so many times."""
    loop = _Loop(url, body_of, warm_s, seconds, count)
    lanes = [_Lane(loop) for _ in range(connections)]
    for lane in lanes:
        await connect(url, lane)
    await asyncio.gather(*(lane.over for lane in lanes))
    return loop.finish()


class Stream(asyncio.Protocol):
    """One streamed request: counts events, and notes when each arrived (``time.time``).

    Attributes:
        events: data lines so far.
        arrivals: time of each read that brought events, and how many had come by then.
        opened: the first event is there.
        over: the stream has ended, however it did.
    """

    def __init__(self, url: str, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.events = 0
        self.arrivals: list[tuple[float, int]] = []
        self.opened: asyncio.Future[None] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()
        self._request = head_of(url) % len(body) + body
        self._parser = httptools.HttpResponseParser(self)
        self._carry = self._seen = b""

    @property
    def complete(self) -> bool:
        return TERMINAL in self._seen

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._end()

    def data_received(self, data: bytes) -> None:
        before = self.events
        self._parser.feed_data(data)
        if self.events > before:
            self.arrivals.append((time.time(), self.events))
            if not self.opened.done():
                self.opened.set_result(None)

    def on_body(self, body: bytes) -> None:
        text = self._carry + body
        self.events += text.count(MARK)
        self._carry = b"" if text.endswith(MARK) else text[1 - len(MARK) :]
        self._seen = (self._seen + body)[-1000:]

    def on_message_complete(self) -> None:
        self._end()
        self._transport.close()

    def close(self) -> None:
        self._transport.close()

    def first_after(self, moment: float) -> float | None:
        """When the first event after a moment arrived."""
        return next((at for at, _ in self.arrivals if at > moment), None)

    def _end(self) -> None:
        for future in (self.opened, self.over):
            if not future.done():
                future.set_result(None)


async def stream(url: str, body: bytes) -> Stream:
    """Begin a streamed request."""
    opened = Stream(url, body)
    await connect(url, opened)
    return opened
