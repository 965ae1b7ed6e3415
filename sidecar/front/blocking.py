"""One JSON value as the answer, kept alive with white space while it is being found.

JSON may begin with white space, and a client that reads some does not time out: so a blocking send outlives a
takeover without the client's noticing. This file must not know what the value is. The failures it prevents: a
stock client that gives up after five silent seconds on work that is going on, and an error that is taken for a
result because the status 200 was written before anybody knew of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sidecar.front.asgi import JSON, Send, respond
from sidecar.front.errors import Failure


class BlockingAnswer:
    """One JSON response.

    Args:
        send: of the request.
        keep_alive_s: silence after which the response begins, and between two spaces.
        media: the content type of the value; errors are ``application/json``.
        headers: further response headers.
    """

    __slots__ = (
        "_ended",
        "_headers",
        "_keep_alive_s",
        "_loop",
        "_media",
        "_send",
        "_started",
        "_writing",
        "_written_at",
    )

    def __init__(
        self,
        send: Send,
        *,
        keep_alive_s: float,
        media: tuple[bytes, bytes] = JSON,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        self._send = send
        self._keep_alive_s = keep_alive_s
        self._media = media
        self._headers = headers
        self._loop = asyncio.get_running_loop()
        self._written_at = self._loop.time()
        self._writing = asyncio.Lock()
        self._started = self._ended = False

    async def pulse(self) -> float:
        """Write a space if one is due; returns when to look again."""
        if self._writing.locked():
            return self._keep_alive_s
        due_s = self._written_at + self._keep_alive_s - self._loop.time()
        if due_s > 0:
            return due_s
        async with self._writing:
            if self._ended:
                return self._keep_alive_s
            if not self._started:
                self._started = True
                headers = [
                    self._media,
                    *self._headers,
                    (b"cache-control", b"no-cache"),
                    (b"x-accel-buffering", b"no"),
                ]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": b" ", "more_body": True})
            self._written_at = self._loop.time()
        return self._keep_alive_s

    async def finish(self, body: bytes) -> None:
        """Write the value and end the response."""
        async with self._writing:
            self._ended = True
            if self._started:
                await self._send({"type": "http.response.body", "body": body})
            else:
                await respond(self._send, 200, body, (self._media, *self._headers))

    async def fail(self, failure: Failure) -> bool:
        """Write an error and end the response.

        Where the response has begun with another status than the error's, the body is left unfinished: no client
        can take it for a result, and those who look find the error in it (decision 0005).

        Returns:
            Whether the client was told in a way that it understands.
        """
        async with self._writing:
            self._ended = True
            if not self._started:
                await respond(self._send, failure.status, failure.body, (JSON, *self._headers))
                return True
            whole = failure.status == 200
            await self._send({"type": "http.response.body", "body": failure.body, "more_body": not whole})
            return whole
