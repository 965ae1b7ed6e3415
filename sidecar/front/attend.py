"""Responses that take time: silence is filled, departures are noticed, a closing front ends them all.

A response is produced by a task of its own; beside it only the clock and the client's connection are watched, so
a busy stream pays nothing for either. This file must not know what the response is. The failures it prevents: a
client that takes silence for death, and a producer that goes on for a client that has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any

from sidecar.front.asgi import Receive


class Outcome(Enum):
    """How a response ended."""

    DONE = "done"
    CLIENT_LEFT = "client_left"
    DRAINED = "drained"


class Attendance:
    """All responses of a front that take time."""

    def __init__(self) -> None:
        self._open: set[asyncio.Future[None]] = set()
        self._draining = False

    def __len__(self) -> int:
        return len(self._open)

    def drain(self) -> None:
        """End every open response at once, and every later one before it begins."""
        self._draining = True
        for each in tuple(self._open):
            each.cancel()

    async def attend(
        self, work: Coroutine[Any, Any, None], receive: Receive, pulse: Callable[[], Awaitable[float]]
    ) -> Outcome:
        """Do the work of one response while watching its client.

        Args:
            work: writes the response; cancelled when the client leaves or the front drains.
            receive: of the request, whose body has been read.
            pulse: writes a keep-alive if one is due; returns the seconds until the next one may be.

        Raises:
            Exception: what ``work`` raised.
        """
        if self._draining:
            work.close()
            return Outcome.DRAINED
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(departure(receive))
        self._open.add(working)
        try:
            while True:
                wait_s = await pulse()
                await asyncio.wait((working, leaving), timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                if working.cancelled() and self._draining:
                    return Outcome.DRAINED
                if working.done():
                    working.result()
                    return Outcome.DONE
                if leaving.done():
                    return Outcome.CLIENT_LEFT
        finally:
            self._open.discard(working)
            await end(working, leaving)


async def departure(receive: Receive) -> None:
    """Return when the client has left. The request's body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel what still runs and wait until it has let go of what it held."""
    pending = [each for each in tasks if not each.done()]
    for each in pending:
        each.cancel()
    if pending:
        await asyncio.wait(pending)
