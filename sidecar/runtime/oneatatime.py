"""One at a time per key: whoever comes second waits, and sees what the first has done.

A lock is forgotten only when nobody holds or awaits it. The failure this prevents: a third that finds no lock and
runs beside the second, so that one handoff gets two owners in one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class OneAtATime:
    """Locks by key, kept while they are wanted."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def __call__(self, key: str) -> AsyncIterator[None]:
        """Hold the key's lock."""
        lock, wanted = self._locks.get(key) or (asyncio.Lock(), 0)
        self._locks[key] = (lock, wanted + 1)
        try:
            async with lock:
                yield
        finally:
            _, wanted = self._locks.pop(key)
            if wanted > 1:
                self._locks[key] = (lock, wanted - 1)
