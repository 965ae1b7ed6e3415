"""The store of one of two hosts: a host keeps what the other one dispatched, and of its own only how it began.

So whatever this host has committed in its file is whole and is told from there. Of what it dispatched itself the
session that owns it knows the newest, and the other host all. What the own file has of those is their first
entries, which are never told: they only keep a message from being dispatched twice.

This file must not decide who owns what. The failure it prevents: a task that is told as it was when it began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar

from bridge.journal import Entry
from sidecar.errors import PeerUnavailable, StoreUnavailable
from sidecar.peers.clusterstore import PIECE_BYTES, ClusterStore, cut
from sidecar.peers.link import PeerLink
from sidecar.peers.pair import AnyMembers
from sidecar.peers.quorum import QuorumVoter
from sidecar.peers.shapes import Page
from sidecar.peers.tails import Tails
from sidecar.records import Caller, KeyRow, ListQuery, TaskView
from sidecar.store import HandoffRow, elsewhere
from sidecar.store.sessions import AnySessions

T = TypeVar("T")

HERE_KEPT = 20_000
ASKED_S = 0.3
"""How long a look for orphans waits for the other host: far below a lease."""


class PairStore(ClusterStore):
    """A store of one of two hosts. ``join`` completes it."""

    def join(
        self, voter: QuorumVoter, sessions: AnySessions, members: AnyMembers, links: Mapping[str, PeerLink]
    ) -> None:
        """See ``ClusterStore.join``."""
        super().join(voter, sessions, members, links)
        self._here: dict[str, None] = {}
        self._tails = Tails(links, lambda task: self.wake.told(frozenset({task})))

    async def close(self) -> None:
        """See ``Store.close``."""
        self._tails.close()
        await super().close()

    def watch(self, task: str = "", after: int = 0) -> AbstractContextManager[None]:
        """What this host keeps is noticed by itself; what the other one keeps is followed there."""
        return super().watch(task, after) if task in self._here else self._tails.watch(task, after)

    # --- one handoff ------------------------------------------------------------------------------------------

    async def entries(
        self, task: str, after: int = 0, limit: int = 1000, bytes_max: int | None = None
    ) -> list[Entry]:
        """Committed entries: of the session that owns it, of the own file, of the other host."""
        hand = self.quorum.owned(task)
        if hand is not None:
            return cut(hand.log[after : min(hand.committed, after + limit)], bytes_max)
        if await self._kept_here(task):
            return await self.reads.entries(task, after, limit, bytes_max)
        size = bytes_max or PIECE_BYTES
        return await self._there(f"task {task}", lambda peer: peer.entries(task, after, limit, size)) or []

    async def view(self, task: str) -> TaskView | None:
        """The row that reads use."""
        hand = self.quorum.owned(task)
        if hand is not None and hand.baggage.view is not None:
            return hand.baggage.view
        if await self._kept_here(task):
            return await self.reads.view(task)
        found = await self._there(f"task {task}", lambda peer: peer.view(task))
        if found is None and await self.handoff_row(task) is not None:
            text = f"task {task}: the host that keeps it does not know it yet, or came back with another file"
            raise StoreUnavailable(text, "ask again in a few seconds")
        return found

    async def handoff_row(self, task: str) -> HandoffRow | None:
        """Its only voter's row; where that has none, how far its dispatch has come here."""
        own = await self.reads.handoff_row(task)
        if own is not None and own.voter.committed:
            return own
        return await self._there(f"task {task}", lambda peer: peer.row(task)) or own

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """Dispatches under a message key: both hosts know of each, and its voter whether it was answered."""
        rows: dict[int, KeyRow] = {}
        own = await self.reads.keys(key_hash)
        try:
            there = await self._there("what became of this message", lambda peer: peer.keys(key_hash)) or []
        except StoreUnavailable:
            if not own:
                raise
            there = []
        for row in (*own, *there):
            if row.generation not in rows or row.answered:
                rows[row.generation] = row
        return [rows[generation] for generation in sorted(rows)]

    async def _kept_here(self, task: str) -> bool:
        """Whether the own file is the voter's: only there anything is known to be committed."""
        if task in self._here:
            return True
        row = await self.reads.handoff_row(task)
        if row is None or not row.voter.committed:
            return False
        if len(self._here) >= HERE_KEPT:
            self._here.clear()
        self._here[task] = None
        return True

    # --- many -------------------------------------------------------------------------------------------------

    async def open_handoffs(self) -> list[HandoffRow]:
        """Those that this host keeps."""
        return [row for row in await super().open_handoffs() if row.voter.committed]

    async def handoffs_at_work(self, but_of: Collection[str] = (), promised: str = "") -> list[HandoffRow]:
        """What a sweep looks at, of both files, as far as the other one can be asked.

        What began here and is kept there is passed by in the own file from the first look on. A host that stands
        still is not waited for: what it owned is in the own file, and is what this look is for.
        """
        found: list[HandoffRow] = []
        begun: list[HandoffRow] = []
        for row in await super().handoffs_at_work(but_of, promised):
            (found if row.voter.committed else begun).append(row)
        peer = next(iter(self.links.values()), None)
        if peer is None or not peer.connected:
            return found
        try:
            async with asyncio.timeout(ASKED_S):
                there = await asyncio.gather(*(self._taken_there(peer, row) for row in begun))
                found += await peer.at_work(sorted(but_of), promised)
        except (PeerUnavailable, TimeoutError):
            return found
        kept = [row.task for row, taken in zip(begun, there, strict=True) if taken]
        if kept:
            await elsewhere.mark(self.writer, kept)
        return [*found, *(row for row, taken in zip(begun, there, strict=True) if not taken)]

    async def _taken_there(self, peer: PeerLink, row: HandoffRow) -> bool:
        hand = self.quorum.owned(row.task)
        return (hand is not None and hand.committed > 0) or await peer.row(row.task) is not None

    async def list_tasks(self, query: ListQuery, caller: Caller, body_max: int | None = None) -> Page:
        """One page out of both files.

        Raises:
            StoreUnavailable: the other host does not answer, and half of the tasks are not known here.
        """
        views, total, more = await self.reads.list_tasks(query, caller, body_max)
        there = await self._there("what began at this host", lambda peer: peer.list_tasks(query, caller, body_max))
        if there is None:
            return views, total, more
        both = sorted((*views, *there[0]), key=lambda view: (view.status_at, view.task_id), reverse=True)
        page = both[: query.page_size]
        rest = len(both) > len(page) or more is not None or there[2] is not None
        return page, total + there[1], (page[-1].status_at, page[-1].task_id) if rest and page else None

    async def _there(self, what: str, ask: Callable[[PeerLink], Awaitable[T]]) -> T | None:
        """What the other host answers.

        Raises:
            StoreUnavailable: it does not.
        """
        try:
            for peer in list(self.links.values()):
                return await ask(peer)
        except PeerUnavailable as error:
            raise StoreUnavailable(f"{what} is kept at the other host, which does not answer", _LATER) from error
        raise StoreUnavailable(f"{what} is kept at the other host, which was not met yet", _LATER)


_LATER = "ask again later"
