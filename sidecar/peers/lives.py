"""The newest life in which each voter's file was met: one that comes in an older life has forgotten something.

A file numbers its lives, durably, before anybody hears of a new one. So where a disk was set back in place (a
snapshot, a backup written over the file), which the file itself cannot notice (``bridge.voterid``), it comes under
a number that was used already. Whoever remembers that refuses it: what it promised or stored since is gone, and
its votes count for nothing. A file that was set back within one life is not noticed.

The failure this prevents: an acknowledged entry that a majority "has" while one of them has lost it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from sidecar.errors import StoreError
from sidecar.peers.sealing import Identity, Rejected, Rejection

log = logging.getLogger(__name__)

PREFIX = "life of "
AGAIN_S = 1.0


class Keeping(Protocol):
    """Small values that outlive the process (``store.kept``)."""

    async def keep(self, name: str, value: str) -> None:
        """Keep a value; durable once this returns."""
        ...

    async def kept(self, name: str) -> str | None:
        """The value that was kept under a name."""
        ...

    async def kept_names(self, prefix: str) -> set[str]:
        """What follows a prefix in the names under which something was kept."""
        ...


class Lives:
    """Whom one sidecar has met.

    Args:
        keeping: its own store.
    """

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._newest: dict[str, tuple[int, str]] = {}
        self._unkept: set[str] = set()
        self._news = asyncio.Event()

    async def recall(self) -> None:
        """Remember what earlier processes have met.

        Raises:
            StoreError: the store cannot be read.
        """
        for voter in await self._keeping.kept_names(PREFIX):
            life, _, session = (await self._keeping.kept(PREFIX + voter) or "").partition(" ")
            if life.isdecimal():
                self._newest[voter] = int(life), session

    def met(self, peer: Identity) -> None:
        """A peer has proven itself.

        Raises:
            Rejected: its voter's file is older than itself.
        """
        known = self._newest.get(peer.voter)
        life = peer.incarnation, peer.session
        if not peer.voter or life == known:
            return
        if known is not None and peer.incarnation <= known[0]:
            raise Rejected(Rejection.OLD_COPY, f"that of {peer.member}, which was met in a later life")
        self._newest[peer.voter] = life
        self._unkept.add(peer.voter)
        self._news.set()

    async def run_forever(self) -> None:
        """Keep what is new: one small write for each start of a peer."""
        while True:
            await self._news.wait()
            self._news.clear()
            for voter in sorted(self._unkept):
                life, session = self._newest[voter]
                try:
                    await self._keeping.keep(PREFIX + voter, f"{life} {session}")
                except StoreError as error:
                    log.debug("which life of voter %s was met could not be kept yet: %s", voter, error)
                    self._news.set()
                    await asyncio.sleep(AGAIN_S)
                    continue
                if self._newest[voter] == (life, session):
                    self._unkept.discard(voter)
                else:
                    self._news.set()
