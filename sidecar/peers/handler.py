"""What a sidecar does for its peers: the port calls this, the parts that know journals and owners provide it.

Requests of one connection begin in the order in which they came, if what they must not be overtaken by is done
before their first ``await``; ``append_soon`` does not await at all, so that the appends of one frame reach the
writer together and share a disk write. ``SidecarError`` is told to the asker by its code, as an unknown outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from bridge.journal import Entry, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.peers.handshake import Peer
from sidecar.peers.shapes import Page
from sidecar.peers.stands import Begun, Stand
from sidecar.peers.told import Told
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow


class Handler(Protocol):
    """One sidecar, as its peers may use it. ``to`` is the id of the voter that is meant (``bridge.voterid``)."""

    async def pre_vote(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        """What would be answered to this claim; nothing is changed."""
        ...

    async def claim(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        """A claim."""
        ...

    async def read_prefix(self, peer: Peer, to: str, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        """The next chunk of the prefix that ends in exactly this tip; None if it is gone."""
        ...

    def append_soon(
        self, peer: Peer, to: str, append: Append, riders: Riders
    ) -> asyncio.Future[Appended | Refused]:
        """An append, queued before this returns."""
        ...

    async def renew(self, peer: Peer, to: str, renewal: Renewal, card: SessionCard) -> bool:
        """A session lives; whether the voter stands by it."""
        ...

    async def release(self, peer: Peer, to: str, renewal: Renewal) -> None:
        """A session lets go of everything."""
        ...

    async def deliver(self, peer: Peer, task: str, kind: str, body: bytes) -> bytes:
        """Something for the handoff's owner, who is believed to be here."""
        ...

    async def row(self, peer: Peer, task: str) -> HandoffRow | None:
        """What the store knows of a handoff."""
        ...

    async def view(self, peer: Peer, task: str) -> TaskView | None:
        """The row that reads use."""
        ...

    async def keys(self, peer: Peer, key_hash: str) -> list[KeyRow]:
        """Dispatches under a message key."""
        ...

    async def entries(self, peer: Peer, task: str, after: int, limit: int, bytes_max: int) -> Sequence[Entry]:
        """Committed entries after a position, at least one if there is any."""
        ...

    async def list_tasks(self, peer: Peer, query: ListQuery, caller: Caller, body_max: int | None) -> Page:
        """One page of a caller's tasks."""
        ...

    async def card(self, peer: Peer, group: str, digest: bytes) -> bytes | None:
        """The card of a group's agents; None if it is the one whose digest this is, b"" if none is known here."""
        ...

    async def behind(self, peer: Peer, stands: Sequence[Stand]) -> list[str]:
        """Of which of these handoffs this host has more committed."""
        ...

    async def begun(self, peer: Peer, after: int) -> Sequence[Begun]:
        """What this host has heard of since a number of its own, oldest first."""
        ...

    async def sessions(self, peer: Peer) -> Sequence[Told]:
        """The sessions that this host has heard of, its own included."""
        ...

    async def at_work(self, peer: Peer, but_of: Sequence[str], promised: str, after: str) -> Sequence[HandoffRow]:
        """What a sweep looks at of what is committed here, but what these sessions own, after a task by its id."""
        ...

    def tail(self, peer: Peer, task: str, after: int) -> AsyncIterator[Sequence[Entry]]:
        """Committed entries after a position, and all that follow, until it ends or is closed."""
        ...

    async def gossip(self, peer: Peer, payload: bytes) -> bytes:
        """A message of the gossip, and what is to be said to it."""
        ...

    async def other(self, peer: Peer, kind: str, payload: bytes) -> bytes:
        """Anything else that the two sidecars know of."""
        ...
