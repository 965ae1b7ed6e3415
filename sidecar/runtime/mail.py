"""Taking in what other sidecars received for a handoff: messages, cancels, notes that an answer was written out.

They left it in the store's inbox, because somebody else owned the handoff; whoever owns it now takes it into the
journal, in one transaction with its deletion. This file must not know when to look (``supervisor``). The failures
it prevents: a message that is journalled twice, by an owner that had read the inbox before an earlier one emptied
it; and a handoff that is claimed for its mail by somebody who then does nothing else for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge.handoff import State
from bridge.journal import Draft, Kind
from bridge.jsontext import parse_stored, write
from sidecar.errors import Fenced
from sidecar.records import KeyRow
from sidecar.runtime.node import Node
from sidecar.runtime.owner import Owner
from sidecar.runtime.ownership import Ownership
from sidecar.store import InboxRow


class Mail:
    """The inbox as this session empties it.

    Args:
        node: what this sidecar holds in common.
        ownership: claims handoffs and knows who is owned here.
    """

    def __init__(self, node: Node, ownership: Ownership) -> None:
        self._node, self._ownership = node, ownership

    async def cancels(self, task: str) -> bool:
        """Whether a wish to cancel waits: then the handoff is claimed to carry it out, and not resumed before."""
        return any(row.kind == "cancel" for row in await self._node.store.inbox_take(task))

    async def take_in(self, task: str) -> bool:
        """Fold in what waits for a handoff that is owned here, or by nobody living.

        Returns:
            Whether the handoff is owned here now and has more to be done for it, which nothing does yet.
        """
        waiting = await self._node.store.inbox_take(task)
        if not waiting:
            return False
        owner = await self._ownership.own(task) or await self._claim_for(task, waiting)
        if owner is None:
            return False
        # Only owners take mail in: what an earlier one has taken is known once this session is the owner.
        await owner.journal.written()
        for row in await self._node.store.inbox_take(task):
            await self._take(owner, row)
        await owner.journal.written()
        return not owner.working and not owner.rests

    async def brought(self, task: str, kind: str, body: bytes) -> int:
        """Take in what another sidecar brings, if the handoff is owned here or this should own it; else refuse it.

        Returns:
            The journal position that it has led to.

        Raises:
            Fenced: it is not owned here.
            StoreError: the outcome is unknown.
        """
        row = InboxRow(0, task, kind, body)
        owner = await self._ownership.own(task) or await self._claim_for(task, [row])
        position = 0 if owner is None else await self._take(owner, row)
        if owner is None or not await owner.journal.written(position or None):
            raise Fenced(f"task {task} is not owned by sidecar {self._node.name}", "look who owns it now")
        return position or owner.journal.committed

    async def _take(self, owner: Owner, row: InboxRow) -> int:
        body, inbox = parse_stored(row.body), [row.id] if row.id else []
        if row.kind == "answered":
            owner.note_answered(body["answered"]["messageId"], KeyRow(**body["key"]), inbox)
        elif owner.over:
            # It ended meanwhile, and whoever sent this follows its journal and has been told so.
            if inbox:
                owner.write([Draft(Kind.ANSWERED, write({"messageId": "late"}))], (), inbox)
        elif row.kind == "input":
            return await owner.take_input(body["input"], KeyRow(**body["key"]), {}, inbox) or 0
        else:
            await owner.cancel(body, inbox)
        return 0

    async def _claim_for(self, task: str, waiting: Sequence[InboxRow]) -> Owner | None:
        """Claim a handoff for what waits in its inbox, unless whoever runs it will take that in."""
        row = await self._node.store.handoff_row(task)
        if row is None:
            return None
        at_rest = row.terminal or row.state in (State.SUSPENDED, State.REVIEW)
        to_cancel = any(each.kind == "cancel" for each in waiting)
        # What this session owns and has let go of is nobody else's to claim.
        mine = row.owner == self._node.session and not row.released
        if to_cancel or (at_rest and (mine or await self._ownership.may_run())):
            return await self._ownership.own(task, "inbox")
        return None
