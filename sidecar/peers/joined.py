"""A sidecar that belongs to a cluster without a vote, put together: a gateway, or a standby.

It writes at the voters as they do and reads at one of them; what it knows of others it asks for, at the same pace
at which they renew. It listens, too, so that voters can bring what comes for a handoff that it owns. Nothing is
decided here. The failure it prevents: a fourth file that counts in a majority of three.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from bridge.journal import Entry
from sidecar.config import Config
from sidecar.errors import PeerUnavailable
from sidecar.peers.cluster import Cluster
from sidecar.peers.joinedmembers import JoinedMembers
from sidecar.peers.joinedstore import JoinedStore
from sidecar.peers.near import Near
from sidecar.peers.pair import AnyMembers
from sidecar.ports import Clock, Observer

log = logging.getLogger(__name__)

HEAR_MISSING_S = 0.1


class Joined(Cluster):
    """One sidecar's part of a cluster whose voters are others; see ``Cluster``."""

    store: JoinedStore

    def __init__(
        self, config: Config, store: JoinedStore, observer: Observer, clock: Clock, listener: socket.socket
    ) -> None:
        super().__init__(config, store, observer, clock, listener)
        self._news = asyncio.Event()
        self._near = Near(self.links, lambda: self.members.list.members)
        store.settle(self._near)

    def _list(self) -> AnyMembers:
        return JoinedMembers(self._config.name, self.session.session, self.reach, self._clock)

    async def _read(self, task: str, after: int, limit: int) -> list[Entry]:
        return await self.store.entries(task, after, limit)

    def _parts(self) -> Sequence[Coroutine[Any, Any, None]]:
        return [self._hear_forever(), self.store.tails.compare_forever()]

    def _look_behind(self, in_s: float = 0.0) -> None:  # noqa: ARG002 - who came or went is asked for at once
        self._news.set()

    def _url(self) -> str:
        host, port = self._listener.getsockname()[:2]
        if ipaddress.ip_address(host).is_unspecified:  # as the voters see it: by the way to them
            host = next((link.from_host for link in self.links if link.from_host), "")
        return f"http://{f'[{host}]' if ':' in host else host}:{port}" if host else ""

    async def _hear_forever(self) -> None:
        """Ask a voter who is there: it hears of them itself."""
        while True:
            pause = HEAR_MISSING_S
            link = self._near.link()
            if link is not None:
                try:
                    for card, age_ms, released in await link.sessions():
                        self._heard.told(card, age_ms, released=released)
                    pause = self._config.lease.ttl_ms / 4000
                except PeerUnavailable as error:
                    log.debug("%s has not said who is there: %s", link.name, error)
                    self._near.leave(link)
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.wait()
