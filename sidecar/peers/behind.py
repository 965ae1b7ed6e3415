"""Journals of which a peer has more committed than this host: found after an absence, settled by a claim.

An owner brings every voter up to date for as long as it lives. What a host missed while it was away, of an owner
that has died since, nobody sends any more; if the task waits or has ended, nobody claims it either, and this host
would show it as it was for ever. So whenever a connection is made or lost, this host says what it has of each open
handoff, and hears of which the peer has more.

This file must not decide who may own what. The failure it prevents: a task that has ended everywhere but here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.link import PeerLink
from sidecar.peers.stands import BEHIND_MAX, Stand
from sidecar.store import HandoffRow
from sidecar.store.reads import Reads
from sidecar.store.stands import committed

log = logging.getLogger(__name__)

GATHER_S = 0.5
AGAIN_S, AGAIN_MOST_S = 1.0, 60.0


SEEN = "seen "
"""Under this and a voter's id is kept how far its file was compared."""


class Own(Protocol):
    """This host's own file (``Store``)."""

    @property
    def reads(self) -> Reads:
        """Reading it."""
        ...

    async def open_handoffs(self) -> list[HandoffRow]:
        """Those without a committed end."""
        ...

    async def kept(self, name: str) -> str | None:
        """See ``kept.kept``."""
        ...

    async def keep(self, name: str, value: str) -> None:
        """See ``kept.keep``."""
        ...


class Behind:
    """Compares this host with its peers when something may have been missed.

    Args:
        links: to the peers.
        own: this host's file.
        session: of this sidecar: what it owns itself it knows best.
        mine: whether this host is a voter of a handoff that it has never heard of.
        learn: claims a handoff, to know how it stands, unless somebody living owns it.
    """

    def __init__(
        self,
        links: Sequence[PeerLink],
        own: Own,
        session: str,
        mine: Callable[[str], bool],
        learn: Callable[[str], Awaitable[None]],
    ) -> None:
        self._links, self._own, self._session = links, own, session
        self._mine, self._learn = mine, learn
        self._due = asyncio.Event()

    def look(self, in_s: float = 0.0) -> None:
        """Something may have been missed, or will have been by then."""
        asyncio.get_running_loop().call_later(in_s, self._due.set)

    async def run_forever(self) -> None:
        """Look when told to, and again as long as something is behind, until cancelled."""
        while True:
            await self._due.wait()
            await asyncio.sleep(GATHER_S)  # several connections are made at once, and several sessions end
            self._due.clear()
            pause = AGAIN_S
            while not self._due.is_set() and await self._settle():
                await asyncio.sleep(pause)
                pause = min(2 * pause, AGAIN_MOST_S)

    async def _settle(self) -> bool:
        """Whether there is anything left that another look may settle."""
        try:
            behind = await self._open_ones() | await self._unheard_of()
        except StoreError as error:
            log.warning("what this host has missed could not be looked for: %s", error)
            return True
        for task in sorted(behind):
            await self._learn(task)
        return bool(behind)

    async def _open_ones(self) -> set[str]:
        rows = await self._own.open_handoffs()
        stands = [(row.task, row.voter.committed) for row in rows if row.owner != self._session]
        found: set[str] = set()
        for link in self._links:
            with _answering(link):
                for part in _parts(stands) if link.connected else ():
                    found.update(await link.behind(part))
        return found

    async def _unheard_of(self) -> set[str]:
        found: set[str] = set()
        for link in self._links:
            with _answering(link):
                if link.connected and not link.itself:
                    found |= await self._unheard_of_from(link)
        return found

    async def _unheard_of_from(self, link: PeerLink) -> set[str]:
        """Each of its handoffs is looked at once: as soon as this host has anything of it, ``_open_ones`` does."""
        name, found = SEEN + link.voter, set[str]()
        at = kept = seen = int(await self._own.kept(name) or 0)
        while begun := await link.begun(at):
            known = await committed(self._own.reads, [task for _, task, _ in begun])
            for number, task, _ in begun:
                if not known.get(task) and self._mine(task):
                    found.add(task)
                seen = number if not found else seen
            at = begun[-1][0]
            if len(found) >= BEHIND_MAX:
                break
        if seen != kept:
            await self._own.keep(name, str(seen))
        return found


@contextmanager
def _answering(link: PeerLink) -> Iterator[None]:
    try:
        yield
    except PeerUnavailable as error:  # it may be of an earlier version; if it is away, it comes back
        log.debug("peer at %s has not said what this host lacks: %s", link.url, error)


def _parts(stands: Sequence[Stand]) -> Iterator[Sequence[Stand]]:
    return (stands[begin : begin + BEHIND_MAX] for begin in range(0, len(stands), BEHIND_MAX))
