"""Lines to sidecars without a vote: what comes for a handoff that one of them owns is brought to it.

Nobody configures their addresses: each tells its own with every renewal. They come and go, and none of them is
asked for anything that counts. The failure it prevents: a client's answer that waits at a voter for an owner which
only ever asks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from sidecar.peers.link import PeerLink
from sidecar.store import SessionRow

log = logging.getLogger(__name__)

LOOK_S = 0.25
GUESTS_MAX = 128


class Guests:
    """One sidecar's.

    Args:
        configured: lines to voters.
        rows: who is there.
        own: this sidecar's session.
        dial: makes a line.

    Attributes:
        links: to those that are there.
    """

    def __init__(
        self,
        configured: Sequence[PeerLink],
        rows: Callable[[], Iterable[SessionRow]],
        own: str,
        dial: Callable[[str], PeerLink],
    ) -> None:
        self.links: list[PeerLink] = []
        self._configured, self._rows, self._own, self._dial = configured, rows, own, dial
        self._dialling: dict[str, asyncio.Task[None]] = {}

    async def run_forever(self) -> None:
        """Look who is there, until cancelled."""
        try:
            while True:
                self._look()
                await asyncio.sleep(LOOK_S)
        finally:
            for each in self._dialling.values():
                each.cancel()

    def _look(self) -> None:
        addresses = {link.url for link in self._configured}
        sessions = {link.peer.identity.session for link in self._configured if link.peer is not None}
        wanted = {
            row.address
            for row in self._rows()
            if row.session not in (*sessions, self._own) and row.address and row.address not in addresses
        }
        for url in self._dialling.keys() - wanted:
            self._dialling.pop(url).cancel()
        for url in sorted(wanted - self._dialling.keys())[: GUESTS_MAX - len(self._dialling)]:
            link = self._dial(url)
            self.links.append(link)
            self._dialling[url] = asyncio.get_running_loop().create_task(link.run_forever())
        self.links[:] = [link for link in self.links if link.url in self._dialling]
