"""What goes over a stock SDK client's wire, seen from below it: the SDK drops SSE ids, a history needs them.

The client is not changed: only its httpx client is given, with this transport and httpx's own defaults. This file
must not know what the frames mean.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import httpx
import orjson

Json = dict[str, Any]


CODES = {"TASK_NOT_FOUND": -32001, "TASK_NOT_CANCELABLE": -32002, "UNSUPPORTED_OPERATION": -32004}
"""HTTP+JSON names errors by reasons; histories by JSON-RPC's codes. Others count as internal."""


class Tap:
    """Takes down the response of one operation.

    Args:
        frame: called with (SSE id or None, StreamResponse) for each event.
        wrapped: results and errors stand in JSON-RPC's envelopes.

    Attributes:
        answer: the result of a plain response.
        error: {code, message}, if there was one.
        silence: the longest time without a byte while the response was open.
        frames: how many events came.
    """

    def __init__(self, frame: Callable[[int | None, Json], None], *, wrapped: bool) -> None:
        self.frame, self._wrapped = frame, wrapped
        self.answer: Json | None = None
        self.error: Json | None = None
        self.silence = 0.0
        self.frames = 0
        self._heard_at = time.monotonic()
        self._buffer = b""
        self._id: int | None = None

    def hear(self) -> None:
        """Bytes have come."""
        now = time.monotonic()
        self.silence = max(self.silence, now - self._heard_at)
        self._heard_at = now

    def sse(self, data: bytes) -> None:
        """More bytes of an event stream."""
        self.hear()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            name, _, value = line.partition(b": ")
            if name == b"id":
                self._id = int(value)
            elif name == b"data":
                self._take(orjson.loads(value))
                self._id = None

    def plain(self, data: bytes) -> None:
        """More bytes of a plain response."""
        self.hear()
        self._buffer += data

    def end(self) -> None:
        """A plain response is complete, or will never be: an error that comes late is a body cut short."""
        try:
            body: Any = orjson.loads(self._buffer)
        except orjson.JSONDecodeError:
            return
        if "error" in body:
            self.error = _error(body["error"])
        else:
            # What is no A2A at all (a gateway that has not seen its group yet answers 503) is the SDK's to judge.
            self.answer = body.get("result") if self._wrapped else body

    def _take(self, body: Json) -> None:
        if "error" in body:
            self.error = _error(body["error"])
        else:
            self.frames += 1
            self.frame(self._id, body["result"] if self._wrapped else body)


def _error(error: Json) -> Json:
    reason = next((each["reason"] for each in error.get("details", []) if "reason" in each), None)
    rest = "status" in error
    return {"code": CODES.get(str(reason), -32603) if rest else error["code"], "message": error.get("message", "")}


TAP: ContextVar[Tap | None] = ContextVar("TAP", default=None)
"""Of the operation that this coroutine carries out."""


class TappedTransport(httpx.AsyncBaseTransport):
    """httpx's own transport, overheard."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        tap = TAP.get()
        response = await self._inner.handle_async_request(request)
        if tap is not None and not request.url.path.endswith("agent-card.json"):
            tap.hear()
            assert isinstance(response.stream, httpx.AsyncByteStream)
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Overheard(response.stream, tap, events=events)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Overheard(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, tap: Tap, *, events: bool) -> None:
        self._inner, self._tap, self._events = inner, tap, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        take = self._tap.sse if self._events else self._tap.plain
        async for data in self._inner:
            take(data)
            yield data
        if not self._events:
            self._tap.end()

    async def aclose(self) -> None:
        await self._inner.aclose()
