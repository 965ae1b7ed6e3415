"""One peer, as the rest of this sidecar uses it: a remote voter, and reads, deliveries and gossip.

Every method may raise ``PeerUnavailable``: no answer came, and nobody knows what became of what was asked. That is
never a refusal. The failure this prevents: a silent peer that is counted as one that said no, or yes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from bridge.journal import Entry, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.peers import kinds
from sidecar.peers.line import Line
from sidecar.peers.shapes import Page, TaskQuery
from sidecar.peers.stands import Begun, Stand
from sidecar.peers.told import Told
from sidecar.records import NO_RIDERS, Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow


class PeerLink(Line):
    """One peer; see ``Line`` for how it is made and kept."""

    def leads_to(self, session: str) -> bool:
        """Whether this session is at the other end."""
        return self.connected and self.peer is not None and self.peer.identity.session == session

    async def pre_vote(self, claim: Claim) -> Granted | Refused:
        """What it would answer to this claim."""
        return await self.ask(kinds.PRE_VOTE, kinds.ClaimAsk(self.voter, claim))

    async def claim(self, claim: Claim) -> Granted | Refused:
        """Claim a handoff there."""
        return await self.ask(kinds.CLAIM, kinds.ClaimAsk(self.voter, claim))

    async def read_prefix(self, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        """The next chunk of the prefix that ends in exactly this tip; None if it is gone."""
        return await self.ask(kinds.READ_PREFIX, kinds.PrefixAsk(self.voter, task, tip, after))

    def append_soon(self, append: Append, riders: Riders = NO_RIDERS) -> asyncio.Future[Appended | Refused]:
        """Continue a journal there; queued before this returns, in order."""
        return self.ask(kinds.APPEND, kinds.AppendAsk(self.voter, append, riders))

    async def renew(self, renewal: Renewal, card: SessionCard) -> bool:
        """Say that a session lives; whether the voter stands by it."""
        return await self.ask(kinds.RENEW, kinds.RenewAsk(self.voter, renewal, card))

    async def release(self, renewal: Renewal) -> None:
        """Say that a session lets go of everything."""
        await self.ask(kinds.RELEASE, kinds.ReleaseAsk(self.voter, renewal))

    async def deliver(self, task: str, kind: str, body: bytes) -> bytes:
        """Give the owner, who is believed to be there, something for a handoff."""
        return await self.ask(kinds.DELIVER, kinds.Delivery(task, kind, body))

    async def row(self, task: str) -> HandoffRow | None:
        """What its store knows of a handoff."""
        return await self.ask(kinds.ROW_OF, task)

    async def view(self, task: str) -> TaskView | None:
        """Its row for reads."""
        return await self.ask(kinds.VIEW_OF, task)

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """What it knows of a message key."""
        return await self.ask(kinds.KEYS_OF, key_hash)

    async def entries(self, task: str, after: int = 0, limit: int = 1000, bytes_max: int = 1 << 20) -> list[Entry]:
        """Committed entries after a position; fewer than ``limit`` do not mean the end, none do."""
        return await self.ask(kinds.ENTRIES_OF, kinds.EntriesAsk(task, after, limit, bytes_max))

    async def list_tasks(self, query: ListQuery, caller: Caller, body_max: int | None = None) -> Page:
        """One page of a caller's tasks, as its store has them."""
        return await self.ask(kinds.LIST, TaskQuery(query, caller, body_max))

    async def card(self, group: str, digest: bytes) -> bytes | None:
        """The card of a group's agents; None if it is the one whose digest this is, b"" if none is known there."""
        return await self.ask(kinds.CARD, kinds.CardAsk(group, digest))

    async def behind(self, stands: Sequence[Stand]) -> list[str]:
        """Of which of these handoffs it has more committed."""
        return await self.ask(kinds.BEHIND, stands)

    async def begun(self, after: int) -> Sequence[Begun]:
        """What it has heard of since a number of its own, oldest first; as much as one answer takes."""
        return await self.ask(kinds.BEGUN, after)

    async def sessions(self) -> list[Told]:
        """The sessions that it has heard of, its own included."""
        return await self.ask(kinds.SESSIONS, None)

    async def at_work(self, but_of: Sequence[str], promised: str, after: str = "") -> list[HandoffRow]:
        """See ``Reads.handoffs_at_work``: of its file, after a task by its id, as many as one answer takes."""
        return await self.ask(kinds.AT_WORK, kinds.WorkAsk(but_of, promised, after))

    def tail(self, task: str, after: int) -> AsyncIterator[list[Entry]]:
        """Committed entries after a position, and all that follow.

        Pieces are sent only as fast as they are taken. Close it (``aclosing``) to end the subscription; it raises
        where the connection breaks, and goes on elsewhere from the last position that was taken.
        """
        return self.subscribe(kinds.TAIL, kinds.TailAsk(task, after))

    async def gossip(self, payload: bytes, timeout_s: float | None = None) -> bytes:
        """A message of the gossip, and what is said to it."""
        return await self.ask(kinds.GOSSIP, payload, timeout_s)

    async def call(self, kind: str, payload: bytes, timeout_s: float | None = None) -> bytes:
        """Anything else; *unsupported* where the peer does not know it."""
        return await self.ask(kinds.OTHER, kinds.Other(kind, payload), timeout_s)
