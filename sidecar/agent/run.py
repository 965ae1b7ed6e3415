"""A streamed request to the agent.

Lives here: reading one answer to the end, whatever the agent makes of it, and giving its connection back. The
file must not know what events mean. It prevents leaked connections (case 75): the request belongs to a task of
its own that a run can always end, whether it is still connecting, streaming, or was never read at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import aiohttp

from sidecar.agent.answers import FAULTS, end_of, events_of, is_event
from sidecar.agent.sse import SseParser
from sidecar.agent.wire import encoding_problem, failure_of, read_answer
from sidecar.ports import EndKind, RunEnd
from sidecar.records import Json

T = TypeVar("T")

Noticed = Callable[[RunEnd], None]


class Closed(Exception):
    """The run was closed by us while it waited. Stays inside the agent side."""


class Run:
    """What streamed and polled runs share: one pending wait that ``close`` can end, and how it all ended.

    Args:
        first: the request; it is sent at once, not when somebody reads.
        noticed: told the end, once, unless we closed the run ourselves.
    """

    def __init__(self, first: Coroutine[Any, Any, Any], noticed: Noticed) -> None:
        self.end: RunEnd | None = None
        self._noticed = noticed
        self._pending: asyncio.Task[Any] = asyncio.ensure_future(first)
        self._pending.add_done_callback(self._settle)
        self._closed = False
        self._ended = RunEnd(EndKind.CLOSED)

    def batches(self) -> AsyncIterator[list[Json]]:
        """StreamResponse objects in order of arrival; all that one read brought is one batch.

        Afterwards ``end`` is set. Never raises for anything that the agent does. Iterate once.
        """
        return self._iterate()

    async def close(self) -> None:
        """End the request and give up its connection. May be called at any time and repeatedly."""
        self._abandon()
        if not self._pending.done():
            await asyncio.wait({self._pending})

    async def _iterate(self) -> AsyncIterator[list[Json]]:
        end = RunEnd(EndKind.CLOSED)
        try:
            async with aclosing(self._receive()) as received:
                async for batch in received:
                    yield batch
                    if self._closed:
                        return
            end = self._ended
        except Closed:
            pass
        finally:
            if self.end is None:
                self.end = end
                if end.kind is not EndKind.CLOSED:
                    self._noticed(end)
            self._abandon()

    def _receive(self) -> AsyncGenerator[list[Json]]:
        """Batches until the agent's part is over, then ``_ended`` is set. Raises ``Closed``."""
        raise NotImplementedError

    async def _wait(self, pending: asyncio.Task[T]) -> T:
        """Wait for what ``close`` may cancel. Raises ``Closed`` where it did."""
        await asyncio.wait({pending})
        if self._closed or pending.cancelled():
            raise Closed
        return pending.result()

    async def _next(self, work: Coroutine[Any, Any, T]) -> T:
        if self._closed:
            work.close()
            raise Closed
        pending = self._pending = asyncio.ensure_future(work)
        pending.add_done_callback(self._settle)
        return await self._wait(pending)

    def _abandon(self) -> None:
        self._closed = True
        if self.end is None:
            self.end = RunEnd(EndKind.CLOSED)
        self._pending.cancel()
        self._settle(self._pending)

    def _settle(self, pending: asyncio.Task[Any]) -> None:
        """Whatever a request of a closed run still brings is closed, and no exception goes unread."""
        if pending.done() and not pending.cancelled() and pending.exception() is None and self._closed:
            result = pending.result()
            if isinstance(result, aiohttp.ClientResponse):
                result.close()


class EndedRun:
    """A run that never began.

    Args:
        end: why not.
    """

    def __init__(self, end: RunEnd) -> None:
        self.end: RunEnd | None = end

    async def batches(self) -> AsyncIterator[list[Json]]:
        """Nothing."""
        return
        yield []

    async def close(self) -> None:
        """Nothing to close."""


class StreamRun(Run):
    """A request answered with a stream of events.

    Args:
        opening: sends the request and returns the answer's header.
        event_bytes_max: limit of one event.
        noticed: told how it ended.
    """

    def __init__(
        self, opening: Coroutine[Any, Any, aiohttp.ClientResponse], event_bytes_max: int, noticed: Noticed
    ) -> None:
        super().__init__(opening, noticed)
        self._limit = event_bytes_max

    async def _receive(self) -> AsyncGenerator[list[Json]]:
        try:
            response: aiohttp.ClientResponse = await self._wait(self._pending)
        except FAULTS as fault:
            self._ended = end_of(fault)
            return
        if response.status != 200:
            self._ended = await self._until_closed(failure_of(response))
        elif (problem := encoding_problem(response)) is not None:
            self._ended = problem
        elif response.content_type == "text/event-stream":
            async with aclosing(self._stream(response.content)) as streamed:
                async for batch in streamed:
                    yield batch
        else:
            answer = await self._until_closed(read_answer(response, self._limit))
            if isinstance(answer, RunEnd):
                self._ended = answer
            elif is_event(answer):
                self._ended = RunEnd(EndKind.CLEAN, "one JSON answer instead of a stream")
                yield [answer]
            else:
                self._ended = RunEnd(EndKind.MALFORMED, "the answer is not a StreamResponse")

    async def _until_closed(self, reading: Awaitable[T]) -> T:
        result = await reading
        if self._closed:
            raise Closed
        return result

    async def _stream(self, content: aiohttp.StreamReader) -> AsyncGenerator[list[Json]]:
        parser = SseParser(self._limit)
        while True:
            broken: RunEnd | None = None
            try:
                chunk = await content.readany()
            except FAULTS as fault:
                if self._closed:
                    raise Closed from None
                broken, chunk = end_of(fault), _arrived(content)
            payloads = parser.feed(chunk)
            if not chunk and broken is None and (cut_off := parser.finish()):
                payloads.append(cut_off)
            events, refusal = events_of(payloads)
            if events:
                yield events
            if self._closed:
                raise Closed
            if refusal is not None:
                self._ended = refusal
                return
            if parser.too_large:
                self._ended = RunEnd(EndKind.TOO_LARGE, f"an event above {self._limit} bytes")
                return
            if broken is not None or not chunk:
                self._ended = broken or RunEnd(EndKind.CLEAN)
                return


def _arrived(content: aiohttp.StreamReader) -> bytes:
    """What had arrived before a stream broke and nobody had read yet.

    The library refuses to hand it out once the connection is gone; without it a slow reader would lose events
    that the agent did send, checkpoints among them. A test breaks if this stops working.
    """
    content._exception = None  # noqa: SLF001
    try:
        return content.read_nowait()
    except FAULTS:
        return b""
