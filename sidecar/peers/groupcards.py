"""The cards of agents that a gateway stands for, as its peers keep them: fetched into its own file.

A gateway has no agent and, among peers, a file of its own: what the sidecars of its group know of their agents'
card has to reach it. It asks one of them now and then and says which card it has, so that a card travels only
where it is another one. Kept, it also serves while everybody else is away. A peer of an earlier version does not
know the question: the next one is asked. The failure this prevents: a gateway that can read every task and does
not know under which path anybody asks for one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from typing import Protocol

from bridge.a2a.card import rewrite
from bridge.jsontext import parse, write
from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.link import PeerLink
from sidecar.peers.sessions import Keeping
from sidecar.runtime.cards import of_group
from sidecar.store import SessionRow

log = logging.getLogger(__name__)

LOOK_S = 2.0
LOOK_MISSING_S = 0.1
TOLD_MAX = 100
_ANYWHERE = "http://sidecar.invalid"


class Sessions(Protocol):
    """Who is there (``ClusterSessions``)."""

    async def list(self) -> Sequence[SessionRow]:
        """All sessions."""
        ...


class GroupCards:
    """Keeps the card of every group that somebody of the cluster has an agent of.

    Args:
        links: to the peers, in one list or several, which may change.
        sessions: tells which group each of them is of.
        keeping: this sidecar's own store.
    """

    def __init__(self, links: Sequence[Sequence[PeerLink]], sessions: Sessions, keeping: Keeping) -> None:
        self._links, self._sessions, self._keeping = links, sessions, keeping
        self._told: set[str] = set()

    async def run_forever(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                whole = await self.look()
            except StoreError as error:
                log.warning("the card of a group could not be kept and will be asked for again: %s", error)
                whole = True
            await asyncio.sleep(LOOK_S if whole else LOOK_MISSING_S)

    async def look(self) -> bool:
        """Ask for the card of each group once; whether every group's is known.

        Raises:
            StoreError: one could not be kept.
        """
        groups: dict[str, list[PeerLink]] = {}
        for row in sorted(await self._sessions.list(), key=lambda row: (not row.ready, row.name)):
            link = next((each for each in chain(*self._links) if each.leads_to(row.session)), None)
            if link is not None and row.group and row.role != "gateway" and row.evidence is None:
                groups.setdefault(row.group, []).append(link)
        known = [await self._known(group, links) for group, links in groups.items()]
        return bool(known) and all(known)

    async def _known(self, group: str, links: Sequence[PeerLink]) -> bool:
        kept = await self._keeping.kept(of_group(group))
        digest = b"" if kept is None else sha256(kept.encode()).digest()
        for link in links:
            try:
                card = await link.card(group, digest)
            except PeerUnavailable as error:
                self._tell(f"{link.name} does not tell the card of group {group}: {error}")
                continue
            if card is None:
                return True
            if not card:  # none was read there yet
                continue
            if (problem := problem_of(card)) is None:
                await self._keeping.keep(of_group(group), card.decode())
                return True
            self._tell(f"{link.name} has a card of group {group} that cannot be served: {problem}")
        return kept is not None

    def _tell(self, what: str) -> None:
        if what not in self._told:
            self._told = {*list(self._told)[-TOLD_MAX:], what}
            log.warning("%s; it is asked again", what)


def problem_of(card: bytes) -> str | None:
    """Why a card cannot be served to clients; None if it can."""
    try:
        write(rewrite(parse(card), _ANYWHERE).card)
    except Exception as fault:  # noqa: BLE001 - whatever stands in it
        return repr(fault)
    return None
