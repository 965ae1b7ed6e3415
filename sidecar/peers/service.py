"""What this sidecar does for its peers: it votes, serves what its file holds, and takes in what is for its owners.

This file must not contain a rule, and must not know how a request came. The failure it prevents: a peer that gets
more out of a store than its reads show, or puts in something that its voter did not decide on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from hashlib import sha256

from bridge.journal import Entry, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.errors import PeerUnavailable
from sidecar.peers.handshake import Peer
from sidecar.peers.misfits import Misfits
from sidecar.peers.shapes import ROWS_MAX, Page
from sidecar.peers.stands import BEHIND_MAX, Begun, Stand
from sidecar.peers.told import Told, told
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.runtime.cards import of_group
from sidecar.store import HandoffRow
from sidecar.store.localvoter import LocalVoter
from sidecar.store.stands import begun_after, committed
from sidecar.store.store import Store

TAIL_ENTRIES = 500
TAIL_BYTES = 1 << 20

Deliver = Callable[[str, str, bytes], Awaitable[int]]


class PeerService:
    """A ``Handler``.

    Args:
        voter: of this host.
        store: its own file, without anything that is asked elsewhere.
        deliver: has an owner here take something in (``Mail.brought``).
        misfits: looks at what does not belong here.
    """

    def __init__(self, voter: LocalVoter, store: Store, deliver: Deliver, misfits: Misfits) -> None:
        self._voter, self._store, self._deliver, self._misfits = voter, store, deliver, misfits
        self._waiting: dict[str, list[asyncio.Event]] = {}
        store.on_change(self._changed)

    async def pre_vote(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        """See ``LocalVoter``."""
        return self._misfits.seen(peer, await self._voter.pre_vote(claim, asked=to))

    async def claim(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        """See ``LocalVoter``."""
        return self._misfits.seen(peer, await self._voter.claim(claim, asked=to))

    async def read_prefix(self, peer: Peer, to: str, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        """See ``LocalVoter``."""
        return await self._voter.read_prefix(task, tip, after, asked=to)

    def append_soon(
        self, peer: Peer, to: str, append: Append, riders: Riders
    ) -> asyncio.Future[Appended | Refused]:
        """See ``LocalVoter``; what belongs to another cluster does not get there."""
        if (foreign := self._misfits.foreign(peer, append)) is not None:
            return foreign
        answer = self._voter.append_soon(append, riders, asked=to)
        answer.add_done_callback(lambda done: self._misfits.answered(peer, done))
        return answer

    async def renew(self, peer: Peer, to: str, renewal: Renewal, card: SessionCard) -> bool:
        """See ``LocalVoter``; nobody renews in another one's name."""
        if not renewal.session == card.session == peer.identity.session:
            return False
        return await self._voter.renew(renewal, card, asked=to)

    async def release(self, peer: Peer, to: str, renewal: Renewal) -> None:
        """See ``LocalVoter``."""
        if renewal.session == peer.identity.session:
            await self._voter.release(renewal)

    async def deliver(self, peer: Peer, task: str, kind: str, body: bytes) -> bytes:
        """To the handoff's owner, if that is here: the journal position that it has led to, in decimal digits."""
        return b"%d" % await self._deliver(task, kind, body)

    async def row(self, peer: Peer, task: str) -> HandoffRow | None:
        """See ``Reads.handoff_row``."""
        return await self._store.reads.handoff_row(task)

    async def view(self, peer: Peer, task: str) -> TaskView | None:
        """See ``Reads.view``."""
        return await self._store.reads.view(task)

    async def keys(self, peer: Peer, key_hash: str) -> list[KeyRow]:
        """See ``Reads.keys``."""
        return await self._store.reads.keys(key_hash)

    async def entries(self, peer: Peer, task: str, after: int, limit: int, bytes_max: int) -> Sequence[Entry]:
        """See ``Reads.entries``."""
        return await self._store.reads.entries(task, after, limit, bytes_max)

    async def list_tasks(self, peer: Peer, query: ListQuery, caller: Caller, body_max: int | None) -> Page:
        """See ``Reads.list_tasks``."""
        return await self._store.reads.list_tasks(query, caller, body_max)

    async def card(self, peer: Peer, group: str, digest: bytes) -> bytes | None:
        """As it was kept last (``Cards.keep``)."""
        card = (await self._store.kept(of_group(group)) or "").encode()
        return card if not card or sha256(card).digest() != digest else None

    async def behind(self, peer: Peer, stands: Sequence[Stand]) -> list[str]:
        """By its own file."""
        known = await committed(self._store.reads, [task for task, _ in stands])
        return [task for task, seq in stands if known.get(task, 0) > seq]

    async def begun(self, peer: Peer, after: int) -> Sequence[Begun]:
        """By its own file."""
        return await begun_after(self._store.reads, after, BEHIND_MAX)

    async def sessions(self, peer: Peer) -> Sequence[Told]:
        """See ``ClusterSessions.list``; who has been silent for long is of no use to anybody."""
        return told(await self._store.sessions.list())

    async def at_work(self, peer: Peer, but_of: Sequence[str], promised: str, after: str) -> Sequence[HandoffRow]:
        """By its own file: what is not committed here is not the asker's to settle."""
        rows = await self._store.reads.handoffs_at_work(but_of, promised)
        return [row for row in rows if row.voter.committed and row.task > after][:ROWS_MAX]

    async def tail(self, peer: Peer, task: str, after: int) -> AsyncIterator[Sequence[Entry]]:
        """Committed entries, now and as they come."""
        changed = asyncio.Event()
        waiting = self._waiting.setdefault(task, [])
        waiting.append(changed)
        try:
            while True:
                changed.clear()
                while more := await self._store.reads.entries(task, after, TAIL_ENTRIES, TAIL_BYTES):
                    after = more[-1].seq
                    yield more
                await changed.wait()
        finally:
            waiting.remove(changed)
            if not waiting:
                self._waiting.pop(task, None)

    def _changed(self, tasks: frozenset[str] | None, _: bool) -> None:
        for task in list(self._waiting) if tasks is None else tasks:
            for changed in self._waiting.get(task, ()):
                changed.set()

    async def gossip(self, peer: Peer, payload: bytes) -> bytes:
        """Not spoken yet."""
        raise PeerUnavailable("this sidecar does not gossip")

    async def other(self, peer: Peer, kind: str, payload: bytes) -> bytes:
        """Nothing else is known."""
        raise PeerUnavailable(f"this sidecar knows nothing of {kind}")
