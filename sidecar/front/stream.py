"""Server-sent events, written by hand: journalled bytes are spliced into frames, never parsed or written again.

What this file must not know: which operation is streamed, and by which protocol binding (the text before and
after an event's bytes is given). The failures it prevents:

- an event that a parser sees twice or empty: a keep-alive is a comment line *without* a blank line after it (a
  blank line makes some parsers dispatch an empty event once an ``id:`` was seen), and stands only between events;
- a stream that starts with 200 and then has nothing to say but an error: the response starts with its first frame,
  or with the first keep-alive, whichever is due first;
- proxies that buffer, compress or count: the headers forbid all three.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sidecar.front.asgi import JSON, Headers, Send, respond
from sidecar.front.errors import Failure
from sidecar.records import Frame

KEEP_ALIVE = b": keep-alive\n"

_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """One SSE response.

    Args:
        send: of the request.
        before: what precedes an event's bytes in its data line.
        after: what follows them.
        keep_alive_s: silence after which a comment is sent.
        headers: further response headers.
    """

    __slots__ = (
        "_after",
        "_before",
        "_ended",
        "_headers",
        "_keep_alive_s",
        "_loop",
        "_send",
        "_started",
        "_writing",
        "_written_at",
    )

    def __init__(
        self,
        send: Send,
        *,
        before: bytes,
        after: bytes,
        keep_alive_s: float,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        self._send = send
        self._before = b"\ndata: " + before
        self._after = after + b"\n\n"
        self._keep_alive_s = keep_alive_s
        self._headers = [*_HEADERS, *headers]
        self._loop = asyncio.get_running_loop()
        self._written_at = self._loop.time()
        self._writing = asyncio.Lock()
        self._started = self._ended = False

    async def frames(self, batch: Sequence[Frame]) -> None:
        """Write events: one SSE event each, all in one chunk."""
        before, after = self._before, self._after
        await self._write(
            b"".join([b"id: %d%b%b%b" % (seq, before, _one_line(event), after) for seq, event, _ in batch])
        )

    async def pulse(self) -> float:
        """Write a keep-alive if the stream has been silent; returns when to look again."""
        if self._writing.locked():  # bytes are on their way already
            return self._keep_alive_s
        due_s = self._written_at + self._keep_alive_s - self._loop.time()
        if due_s > 0:
            return due_s
        await self._write(KEEP_ALIVE)
        return self._keep_alive_s

    async def close(self) -> None:
        """End the response."""
        async with self._writing:
            await self._start()
            await self._end(b"")

    async def fail(self, failure: Failure) -> None:
        """End the response with an error: as the whole answer if nothing was sent, else as a last frame.

        An error is no journalled event: its frame has no id.
        """
        async with self._writing:
            if self._started:
                await self._end(b"event: error\ndata: " + failure.body + b"\n\n")
            else:
                self._ended = True
                await respond(self._send, failure.status, failure.body, (JSON,))

    async def _write(self, chunk: bytes) -> None:
        async with self._writing:
            if self._ended:
                return
            await self._start()
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._written_at = self._loop.time()

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})

    async def _end(self, chunk: bytes) -> None:
        self._ended = True
        await self._send({"type": "http.response.body", "body": chunk})


def _one_line(event: bytes) -> bytes:
    """The same JSON text without anything that a reader may take for the end of a line.

    CR and LF are white space in JSON; in an SSE frame they would end the data. The separators of Unicode are
    escaped: SSE does not end lines there, but httpx's ``aiter_lines`` does, and the SDK's client reads with it.
    """
    if b"\n" in event or b"\r" in event:
        event = event.translate(_BREAKS_TO_SPACE)
    if not event.isascii():
        for raw, escaped in _SEPARATORS:
            event = event.replace(raw, escaped)
    return event


_BREAKS_TO_SPACE = bytes.maketrans(b"\r\n", b"  ")
_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
