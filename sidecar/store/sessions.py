"""Sessions: which sidecars use this store, and what shows that one is gone.

Here are only facts (ages, locks, newer boots, releases) as data, and the asynchronous face of the file that keeps
them; what they mean is ``bridge.lease``'s. The failures it prevents: a healthy owner that looks dead because the
journal is busy, and a dead one that looks alive until a timer runs out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from sidecar.store.deathwatch import DeathWatch, OnDeath
from sidecar.store.sessionfile import SessionFile
from sidecar.store.sessionrow import Renewal, Session, SessionRow
from sidecar.store.wake import Wake

T = TypeVar("T")


class AnySessions(Protocol):
    """Who uses a store: the processes of one host (``Sessions``), or a cluster."""

    async def register(self, name: str, *, group: str = "", role: str = "", url: str = "") -> Session:
        """Begin a session; older ones of this name are over from now on."""
        ...

    async def renew(
        self, session: Session, *, ready: bool = True, draining: bool = False, capacity: int = 0,
        group: str | None = None,
    ) -> Renewal:  # fmt: skip
        """Say that a session lives, and how its sidecar is. StoreError: whether that counts is unknown."""
        ...

    async def list(self) -> list[SessionRow]:
        """All sessions, those that are gone included."""
        ...

    async def row(self, session: str) -> SessionRow | None:
        """One session."""
        ...

    def on_death(self, listener: OnDeath) -> None:
        """Have a listener called when another session is known to be over."""
        ...

    async def release(self, session: Session) -> None:
        """End a session that owns nothing any more."""
        ...

    async def close(self) -> None:
        """Nothing is renewed any more."""
        ...


class Sessions:
    """The sessions of a store, for the event loop.

    Args:
        files: the blocking side.
        wake: learns from every renewal who else is there.
    """

    def __init__(self, files: SessionFile, wake: Wake) -> None:
        self._files = files
        self._wake = wake
        # A thread of its own: a renewal must not queue behind whatever else blocks in this process.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-sessions")
        self._deaths = DeathWatch(files.wait_for_death)
        self._mine: set[str] = set()

    async def register(self, name: str, *, group: str = "", role: str = "", url: str = "") -> Session:
        """See ``SessionFile.register``."""
        address = self._wake.address
        session = await self._run(self._files.register, name, group=group, role=role, url=url, address=address)
        self._mine.add(session.session)
        await self.list()
        return session

    async def renew(
        self, session: Session, *, ready: bool = True, draining: bool = False, capacity: int = 0,
        group: str | None = None,
    ) -> Renewal:  # fmt: skip
        """See ``SessionFile.renew``."""
        renewal = await self._run(
            self._files.renew, session.session, ready=ready, draining=draining, capacity=capacity, group=group
        )
        await self.list()
        return renewal

    async def list(self) -> list[SessionRow]:
        """All sessions, those that are gone included."""
        rows = await self._run(self._files.rows)
        living = [row for row in rows if row.evidence is None]
        self._wake.set_peers(row.address for row in living)
        self._deaths.watch(row.session for row in living if row.session not in self._mine)
        return rows

    def on_death(self, listener: OnDeath) -> None:
        """Have a listener called when the process of another session dies."""
        self._deaths.on_death(listener)

    async def row(self, session: str) -> SessionRow | None:
        """One session."""
        rows = await self._run(self._files.rows, session)
        return rows[0] if rows else None

    async def release(self, session: Session) -> None:
        """See ``SessionFile.release``."""
        await self._run(self._files.release, session.session)

    async def close(self) -> None:
        """Let go of all sessions of this process."""
        await self._run(self._files.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[..., T], /, *values: object, **named: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *values, **named))
