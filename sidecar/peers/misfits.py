"""What peers ask for that does not belong here: counted each time, and told once for each life of a peer.

The voter's rules refuse another voter's requests and other lists' placings. One thing is turned away before the
voter sees it: another cluster's member list, which differs from what is committed here, so that the voter would
have to stop. The failure this prevents: a cluster that a wrongly configured peer can stop, or that it bothers and
nobody learns which peer that is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from bridge.placement import MEMBERS
from bridge.quorum import Append, Appended, Refusal, Refused
from sidecar.errors import PeerUnavailable
from sidecar.peers.handshake import Peer
from sidecar.peers.reach import CLUSTER_ID, ID_SHOWN
from sidecar.ports import Observer

log = logging.getLogger(__name__)

T = TypeVar("T")

TOLD_MAX = 256
_WORDS = {
    Refusal.UNKNOWN_VOTER: "means another voter than this one, {mine}: the file behind this address was replaced",
    Refusal.MISPLACED: "places tasks by another version of the member list than this sidecar holds",
}


class Misfits:
    """One sidecar's.

    Args:
        voter: id of its voter.
        cluster: which cluster it belongs to, "" as long as it knows none.
        observer: counts.
    """

    def __init__(self, voter: str, cluster: Callable[[], str], observer: Observer) -> None:
        self._voter, self._cluster, self._observer = voter, cluster, observer
        self._told: set[tuple[str, str]] = set()

    def foreign(self, peer: Peer, append: Append) -> asyncio.Future[Appended | Refused] | None:
        """The answer to an append that begins the member list of another cluster; None if it does not."""
        first = append.entries[0] if append.entries and append.task == MEMBERS else None
        mine = self._cluster()
        if first is None or first.seq != 1 or not mine or first.hash[:CLUSTER_ID] == mine:
            return None
        theirs = first.hash[:ID_SHOWN]
        self._tell(peer, "cluster", f"sends the member list of cluster {theirs}, and this is {mine[:ID_SHOWN]}")
        answer: asyncio.Future[Appended | Refused] = asyncio.get_running_loop().create_future()
        answer.set_exception(PeerUnavailable("it belongs to another cluster"))
        return answer

    def answered(self, peer: Peer, done: asyncio.Future[Appended | Refused]) -> None:
        """An append was answered by the voter."""
        if not done.cancelled() and done.exception() is None:
            self.seen(peer, done.result())

    def seen(self, peer: Peer, answer: T) -> T:
        """The answer of the voter to anything, as it is."""
        if isinstance(answer, Refused) and answer.reason in _WORDS:
            self._tell(peer, str(answer.reason), _WORDS[answer.reason].format(mine=self._voter[:ID_SHOWN]))
        return answer

    def _tell(self, peer: Peer, code: str, words: str) -> None:
        self._observer.count("peers.unfit", code=code)
        told = peer.identity.session, code
        if told in self._told:
            return
        if len(self._told) >= TOLD_MAX:
            self._told.clear()
        self._told.add(told)
        log.warning(
            "peer %s at %s %s; it is refused", peer.identity.member, peer.address, words, extra={"why": code}
        )
