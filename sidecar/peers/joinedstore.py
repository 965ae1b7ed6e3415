"""The store of a sidecar that belongs to a cluster and has no vote: its own file keeps no journal.

In the own file are its number of lives, its inbox and the cards of its group; everything about tasks is read at a
voter and written at a majority of them. The failure it prevents: *not found*, said by one voter that has not heard
of a task, for what a majority has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from bridge.journal import Entry
from bridge.placement import MEMBERS
from sidecar.errors import StoreUnavailable
from sidecar.peers.clusterstore import PIECE_BYTES, ClusterStore, cut
from sidecar.peers.link import PeerLink
from sidecar.peers.near import Near
from sidecar.peers.shapes import ROWS_MAX
from sidecar.peers.votertails import VoterTails
from sidecar.records import Caller, KeyRow, ListQuery, TaskView
from sidecar.store import HandoffRow

LOOK_S = 0.5
"""Where nothing was at work and nobody has come or gone, it is looked for no more often."""


class JoinedStore(ClusterStore):
    """A store that asks voters. ``settle`` completes it, before ``join``.

    Attributes:
        near: which voter is asked.
        tails: of what is followed here.
    """

    near: Near
    tails: VoterTails
    _says = 0

    def settle(self, near: Near) -> None:
        """Take in who is asked."""
        self.near, self.tails = near, VoterTails(near, self._news)
        self._looked: tuple[float, object] = (float("-inf"), None)

    async def close(self) -> None:
        """See ``Store.close``."""
        self.tails.close()
        await super().close()

    def _news(self, task: str) -> None:
        self.wake.told(frozenset((task,)))

    # --- reads ------------------------------------------------------------------------------------------------

    async def entries(
        self, task: str, after: int = 0, limit: int = 1000, bytes_max: int | None = None
    ) -> list[Entry]:
        """Committed entries: of what is owned here from memory, else from a voter."""
        hand = self.quorum.owned(task)
        if hand is not None and hand.committed > after:
            return cut(hand.log[after : min(hand.committed, after + limit)], bytes_max)
        found = await self._piece(task, after, limit, bytes_max or PIECE_BYTES)
        while bytes_max is None and found and len(found) < limit:
            more = await self._piece(task, found[-1].seq, limit - len(found), PIECE_BYTES)
            if not more:
                break
            found += more
        return found

    async def tailed(self, task: str, after: int, limit: int, bytes_max: int) -> list[Entry]:
        """Committed entries, as far as they have come for those who follow the task."""
        known = self.tails.since(task, after, limit)
        if known is None or (not known and self.quorum.owned(task) is not None):
            return await self.entries(task, after, limit, bytes_max)
        return cut(known, bytes_max)

    def watch(self, task: str = "", after: int = 0) -> AbstractContextManager[None]:
        """Somebody waits for what follows a position of a task."""
        return self.tails.waiting(task, after)

    async def view(self, task: str) -> TaskView | None:
        """The row that reads use.

        Raises:
            StoreUnavailable: something is written of it, and nobody who answers knows that it is committed.
        """
        what, hand = f"task {task}", self.quorum.owned(task)
        found = await self.near.ask(what, lambda peer: peer.view(task))
        if found is None and hand is not None:  # the voters hear a moment later what was committed here
            found = hand.baggage.view
        found = found or await self._elsewhere(what, lambda peer: peer.view(task))
        if found is None and await self._elsewhere(what, lambda peer: peer.row(task)) is not None:
            text = f"{what}: its last owner does not answer, and whether it was accepted is not known yet"
            raise StoreUnavailable(text, "ask again in a few seconds")
        return found

    async def handoff_row(self, task: str) -> HandoffRow | None:
        """A voter's row of a handoff."""
        what = f"task {task}"
        found = await self.near.ask(what, lambda peer: peer.row(task))
        return found or await self._elsewhere(what, lambda peer: peer.row(task))

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """Dispatches under a message key."""
        return await self._elsewhere("what became of this message", lambda peer: peer.keys(key_hash)) or []

    async def list_tasks(
        self, query: ListQuery, caller: Caller, body_max: int | None = None
    ) -> tuple[list[TaskView], int, tuple[int, str] | None]:
        """One page of a caller's tasks, as one voter has them."""
        return await self.near.ask("the list", lambda peer: peer.list_tasks(query, caller, body_max))

    async def open_handoffs(self) -> list[HandoffRow]:
        """None: what is open is at the voters."""
        return []

    async def handoffs_at_work(self, but_of: Collection[str] = (), promised: str = "") -> list[HandoffRow]:
        """What a sweep looks at, as one voter has it; what waits costs nothing.

        Raises:
            StoreUnavailable: no voter answers.
        """
        asked, now = (frozenset(but_of), promised), asyncio.get_running_loop().time()
        idle = self._looked[1] == asked and now - self._looked[0] < LOOK_S
        if idle or self.near.link() is None:  # that nobody is reached is told by what asks all the time
            return []
        rows: list[HandoffRow] = []
        while True:
            after = rows[-1].task if rows else ""
            page = await self.near.ask("what is at work", partial(_at_work, but_of, promised, after))
            rows += page
            if len(page) < ROWS_MAX:
                break
        self._looked = (now, None if rows else asked)
        return [row for row in rows if row.task != MEMBERS]

    async def _piece(self, task: str, after: int, limit: int, bytes_max: int) -> list[Entry]:
        return await self.near.ask(f"task {task}", lambda peer: peer.entries(task, after, limit, bytes_max))


def _at_work(
    but_of: Collection[str], promised: str, after: str, peer: PeerLink
) -> Coroutine[Any, Any, list[HandoffRow]]:
    return peer.at_work(sorted(but_of), promised, after)
