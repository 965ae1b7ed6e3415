"""The store of a sidecar that has peers: its own file, and what others have where its own does not.

To the runtime it is a ``Store``. What is written goes to a majority (``quorum``); reads come from the own file,
which holds what is committed, and the peers are asked only for what that has never heard of. What comes for a
handoff that another host owns is carried there; where that host does not answer it waits in the own inbox,
durable, until somebody owns the handoff.

This file must not decide who owns what. The failures it prevents: *not found* for a task that a majority has, and
a message that was accepted here and waits where nobody who could use it looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from bridge.catchup import Bounds, chunk
from bridge.journal import Entry, Fence
from bridge.placement import MEMBERS
from sidecar.errors import PeerUnavailable, StoreUnavailable
from sidecar.peers.link import PeerLink
from sidecar.peers.pair import AnyMembers
from sidecar.peers.quorum import QuorumVoter
from sidecar.records import Json, KeyRow, TaskView
from sidecar.store import HandoffRow, Store, inbox
from sidecar.store.sessions import AnySessions

T = TypeVar("T")

PIECE_BYTES = 1 << 20
TOLD_S, TOLD_LOOKS = 0.02, 25


def cut(entries: list[Entry], bytes_max: int | None) -> list[Entry]:
    """The first entries, as many as fit, and one at least."""
    return entries if bytes_max is None else [*chunk(entries, 0, Bounds(len(entries) or 1, bytes_max))]


class ClusterStore(Store):
    """A store among peers. ``join`` completes it.

    Attributes:
        links: peers by their voters' ids.
        guests: lines to sidecars without a vote, which may own a handoff all the same.
    """

    links: Mapping[str, PeerLink]
    guests: Sequence[PeerLink] = ()
    members: AnyMembers
    quorum: QuorumVoter
    _says = 1
    """How many voters have spoken once the own file has been read."""

    _of_file: AnySessions

    def join(
        self, voter: QuorumVoter, sessions: AnySessions, members: AnyMembers, links: Mapping[str, PeerLink]
    ) -> None:
        """Take the cluster in.

        Args:
            voter: writes to a majority.
            sessions: who is there.
            members: which voters there are.
            links: peers by voter id; it changes as they become known.
        """
        self.voter = self.quorum = voter
        self._of_file, self.sessions = self.sessions, sessions
        self.members, self.links = members, links

    async def close(self) -> None:
        """See ``Store.close``."""
        await super().close()
        await self._of_file.close()

    def names(self, task: str) -> Json:
        """See ``Members.names``."""
        return self.members.names(task)

    def holds(self, task: str) -> bool:
        """Whether this session still drives what it owns."""
        return self.quorum.owned(task) is not None

    def outdone(self, row: HandoffRow, fence: Fence) -> bool:
        """See ``Store.outdone``: what this host's voter alone has promised to another takes nothing away."""
        hand = self.quorum.owned(row.task)
        return hand is None or hand.fence != fence

    def step_back(self) -> Sequence[str]:
        """See ``QuorumVoter.step_back``."""
        return [task for task in self.quorum.step_back() if task != MEMBERS]

    def let_go(self, task: str) -> None:
        """See ``QuorumVoter.let_go``."""
        self.quorum.let_go(task)

    # --- reads ------------------------------------------------------------------------------------------------

    async def entries(
        self, task: str, after: int = 0, limit: int = 1000, bytes_max: int | None = None
    ) -> list[Entry]:
        """Committed entries, from the own file where that knows the task."""
        found = await super().entries(task, after, limit, bytes_max)
        hand = self.quorum.owned(task)
        if hand is not None and hand.committed > after + len(found):  # the own file hears of it a moment later
            return max(found, cut(hand.log[after : min(hand.committed, after + limit)], bytes_max), key=len)
        if found or await super().handoff_row(task) is not None:
            return found
        size = bytes_max or PIECE_BYTES
        return await self._elsewhere(f"task {task}", lambda peer: peer.entries(task, after, limit, size)) or []

    async def view(self, task: str) -> TaskView | None:
        """The row that reads use.

        Raises:
            StoreUnavailable: something is written of it, and nobody who answers knows that it is committed.
        """
        for _ in range(TOLD_LOOKS):  # a follower hears of a commit a moment after the owner's client
            found = await super().view(task) or await self._elsewhere(f"task {task}", lambda peer: peer.view(task))
            if found is not None or await self.handoff_row(task) is None:
                return found
            await asyncio.sleep(TOLD_S)
        text = f"task {task}: its last owner does not answer, and whether it was accepted is not known yet"
        raise StoreUnavailable(text, "ask again in a few seconds")

    async def handoff_row(self, task: str) -> HandoffRow | None:
        """The voter's row of a handoff."""
        return await super().handoff_row(task) or await self._elsewhere(
            f"task {task}", lambda peer: peer.row(task)
        )

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """Dispatches under a message key."""
        known = await super().keys(key_hash)
        return (
            known or await self._elsewhere("what became of this message", lambda peer: peer.keys(key_hash)) or []
        )

    async def open_handoffs(self) -> list[HandoffRow]:
        """All handoffs without an end; the members' journal is none."""
        return [row for row in await super().open_handoffs() if row.task != MEMBERS]

    async def handoffs_at_work(self, but_of: Collection[str] = (), promised: str = "") -> list[HandoffRow]:
        """What a sweep looks at."""
        return [row for row in await super().handoffs_at_work(but_of, promised) if row.task != MEMBERS]

    async def _elsewhere(self, what: str, ask: Callable[[PeerLink], Awaitable[T]]) -> T | None:
        """What a peer knows. What a majority has not heard of has never been committed.

        Raises:
            StoreUnavailable: too few answer to tell.
        """
        asked = [asyncio.ensure_future(ask(peer)) for peer in self.links.values()]
        said = self._says
        try:
            for each in asyncio.as_completed(asked):
                try:
                    found = await each
                except PeerUnavailable:
                    continue
                if found:
                    return found
                said += 1
        finally:
            for each in asked:
                each.cancel()
        voters = len(self.members.list.members) or len(self.links) + 1
        if 2 * said <= voters:
            raise StoreUnavailable(
                f"{what} is not known here, and {voters - said} of {voters} voters do not answer",
                "ask again later",
            )
        return None

    # --- what is another owner's ------------------------------------------------------------------------------

    def inbox_put(self, task: str, kind: str, body: bytes) -> Coroutine[Any, Any, int]:
        """Carry something to a handoff's owner, or keep it until there is one."""
        return self._carry(task, kind, body)

    async def forward(self) -> None:
        """Carry what waits in the own inbox to owners that live elsewhere by now, or to who could become one."""
        for task in await self.inbox_waiting():
            for peer in await self._takers(task):
                with suppress(PeerUnavailable):
                    for row in await self.inbox_take(task):
                        await peer.deliver(task, row.kind, row.body)
                        await inbox.done(self.writer, [row.id])
                    break

    async def _takers(self, task: str) -> list[PeerLink]:
        owner = await self.owner_of(task)
        if owner is not None:
            return [owner]
        # Nobody here leads to an owner. Who could run it claims it for this, unless its owner lives after all.
        sessions = await self.sessions.list()
        ready = [each.session for each in sessions if each.evidence is None and each.ready and not each.draining]
        return [each for each in (*self.links.values(), *self.guests) if any(map(each.leads_to, ready))]

    async def _carry(self, task: str, kind: str, body: bytes) -> int:
        peer = await self.owner_of(task)
        if peer is not None:
            with suppress(
                PeerUnavailable
            ):  # perhaps it was taken in: then the next one finds that it stands there
                return int(await peer.deliver(task, kind, body))
        return await super().inbox_put(task, kind, body)

    async def owner_of(self, task: str) -> PeerLink | None:
        """The peer whose session owns a handoff and lives, None where that is nobody or this sidecar."""
        row = await self.handoff_row(task)
        if row is None or row.released:
            return None
        return next((each for each in (*self.links.values(), *self.guests) if each.leads_to(row.owner)), None)
