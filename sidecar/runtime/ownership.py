"""Which handoffs this session owns, and how it comes to own them.

A handoff is claimed under a higher fence, its journal adopted up to the granted tip, and the claim committed: only
then may anything be done. Everything else in the runtime asks here for an owner and never claims by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from bridge.a2a.fold import TaskFold
from bridge.a2a.refold import advance, refold
from bridge.a2a.shown import Shown
from bridge.handoff import Handoff, State
from bridge.journal import Draft, Entry, Fence, Kind, chain
from bridge.jsontext import write
from bridge.quorum import Append, Claim, Granted, Refusal, Refused
from sidecar.failpoints import reach
from sidecar.records import Caller, Json, KeyRow, SendCall, Sent
from sidecar.runtime.beginning import CLAIM_TRIES, begin
from sidecar.runtime.node import Node
from sidecar.runtime.oneatatime import OneAtATime
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.owner import Owner
from sidecar.runtime.requests import Ask, Request, Requests
from sidecar.runtime.views import Viewer, row_of
from sidecar.store import HandoffRow

READ_CHUNK = 2000
IDLE_KEPT_S = 5.0
RESTING_KEPT_S = 1.0


class Ownership:
    """The handoffs that this session owns.

    Args:
        node: what this sidecar holds in common.

    Attributes:
        owners: by task id; an idle one is let go after a while and loaded again when needed.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.owners: dict[str, Owner] = {}
        self._one_at_a_time = OneAtATime()

    # --- new handoffs -----------------------------------------------------------------------------------------

    async def dispatch(self, task: str, body: Json, key: KeyRow, call: SendCall) -> bool:
        """Begin a handoff: journal it, claim it, have its agent called.

        Returns:
            False if a journal of that id exists already.

        Raises:
            StoreError: nothing was written; the agent heard nothing.
        """
        node = self._node
        ready = node.link.ready and not node.draining
        drafts = [
            Draft(Kind.DISPATCHED, write(body)),
            Draft(Kind.CLAIMED, write({"owner": node.name, "attempt": 0, "reason": "accepted"})),
        ]
        # Without an agent here, and with one elsewhere, the task is given up in the same breath: one commit.
        given_up = not ready and await node.others_ready()
        if ready:
            endpoint = {"endpoint": node.endpoint, "task": "", "context": "", "fresh": True}
            drafts.append(Draft(Kind.BOUND, write(endpoint)))
        elif given_up:
            drafts.append(Draft(Kind.ORPHANED, write({"reason": "no_agent_here", "by": node.name})))
        fold = advance(TaskFold(), Kind.DISPATCHED, body)
        context = body["context"] or ""
        reach("accept.before_commit")
        # The sweep may read the commit before its answer is here: it must not find a handoff without an owner.
        async with self._one_at_a_time(task):
            handoff = await begin(
                node,
                task,
                drafts,
                lambda begun: row_of(begun, fold, call.caller, context, node.clock.wall_ms()),
                key,
            )
            if handoff is None:
                return False
            reach("accept.after_commit")
            if not given_up:
                owner = self._install(handoff, handoff.fence, Shown(), fold, call.caller, context)
                node.hub.channel(task).base = 0  # whoever follows from there has missed nothing
                owner.start(Request(Ask.BEGIN, headers=call.headers))
        return True

    # --- handoffs that exist ----------------------------------------------------------------------------------

    async def own(self, task: str, reason: str = "") -> Owner | None:
        """The owner of a handoff in this session; None if another one has it, or nobody.

        Args:
            task: public task id.
            reason: why it should be claimed if nobody living owns it; without one it is not claimed. Whoever
                claims has to do what is due: a claim for a trifle would keep those away who could run the task.
        """
        if self._node.superseded:
            return None
        owner = self.owners.get(task)
        if owner is not None and not owner.journal.lost.is_set():
            return owner
        async with self._one_at_a_time(task):
            owner = self.owners.get(task)
            if owner is not None and not owner.journal.lost.is_set():
                return owner
            row = await self._node.store.handoff_row(task)
            if row is None or (not reason and row.owner != self._node.session):
                return None
            entries = await self.journal(task)
            if not entries and not reason:
                return None
            handoff = Handoff.fold(task, entries)
            # What this session gave up is nobody's: it is claimed anew, under a fence of its own.
            given_up = row.released or handoff.state is State.ORPHANED
            mine = handoff.tip.fence.session == self._node.session and self._node.store.holds(task)
            if mine and not given_up:
                return self._install_from(handoff, handoff.fence, entries)
            seen = max(handoff.fence, row.voter.tip.fence)
            return await self._claim(handoff, entries, seen, reason) if reason else None

    async def journal(self, task: str) -> list[Entry]:
        """The whole committed journal of a task."""
        entries: list[Entry] = []
        # Another host sends as much as fits into one message: a short answer is not the end.
        while more := await self._node.store.entries(task, entries[-1].seq if entries else 0, READ_CHUNK):
            entries.extend(more)
        return entries

    def let_go(self) -> None:
        """Forget owners that have had nothing to do for a while; their handoffs stay owned."""
        now = self._node.clock.monotonic()
        for task, owner in list(self.owners.items()):
            lost = owner.journal.lost.is_set()
            kept_s = RESTING_KEPT_S if owner.rests else IDLE_KEPT_S
            if lost or (now - owner.idle_since > kept_s and owner.quiet):
                self._remove(task, owner)

    async def yield_claimed(self) -> None:
        """Give up what another session has claimed: an owner whose agent is silent would not notice by writing."""
        for task, owner in list(self.owners.items()):
            row = await self._node.store.handoff_row(task)
            if row is not None and self._node.store.outdone(row, owner.journal.fence):
                owner.journal.abandon()

    async def release_all(self, reason: str) -> None:
        """Hand every handoff over (drain)."""
        await asyncio.gather(*(owner.hand_over(reason) for owner in list(self.owners.values())))

    async def close(self) -> None:
        """Stop whatever runs for owned handoffs, without a word to their journals."""
        await asyncio.gather(*(owner.close() for owner in list(self.owners.values())))

    async def _claim(self, handoff: Handoff, entries: list[Entry], seen: Fence, reason: str) -> Owner | None:
        node, task = self._node, handoff.task_id
        n = handoff.fence.n + 1
        for _ in range(CLAIM_TRIES):
            fence = Fence(n, node.session)
            answer = await node.store.voter.claim(Claim(task, fence, node.session, seen))
            if isinstance(answer, Granted):
                reach("claim.granted")
                return await self._adopt(handoff, entries, fence, answer, reason)
            if answer.reason is not Refusal.FENCED:
                return None
            n = answer.promised.n + 1
        return None

    async def _adopt(
        self, handoff: Handoff, entries: list[Entry], fence: Fence, granted: Granted, reason: str
    ) -> Owner | None:
        """Bring the fold up to exactly the granted tip, then commit the claim: only now may anything be done."""
        node = self._node
        task = handoff.task_id
        if granted.tip.seq > handoff.tip.seq:
            more = await node.store.voter.read(task, handoff.tip.seq, granted.tip.seq - handoff.tip.seq)
            for entry in more:
                handoff.apply(entry)
            entries = [*entries, *more]
        if handoff.tip.seq != granted.tip.seq or handoff.tip.hash != granted.tip.hash or not entries:
            return None  # nothing is there: it was never accepted
        body = {"owner": node.name, "attempt": handoff.attempts, "reason": reason}
        claimed = chain(handoff.tip, fence, node.clock.wall_ms(), [Draft(Kind.CLAIMED, write(body))])
        tip = handoff.tip
        for entry in claimed:
            handoff.apply(entry, trusted=True)
        caller, context, fold = _whose(handoff, entries)
        view = row_of(handoff, fold, caller, context, node.clock.wall_ms())
        reach("claim.before_commit")
        answer = await node.store.voter.append(Append(task, fence, tip.seq, tip.hash, claimed, tip.seq), view)
        if isinstance(answer, Refused):
            return None
        reach("claim.after_commit")
        owner = self._install_from(handoff, fence, entries, fold)
        owner.journal.claimed(reason)
        return owner

    def _install_from(
        self, handoff: Handoff, fence: Fence, entries: Sequence[Entry], fold: TaskFold | None = None
    ) -> Owner:
        caller, context, fold = (*_whose(handoff, entries)[:2], fold or refold(entries))
        return self._install(handoff, fence, Shown.fold(entries), fold, caller, context)

    def _install(
        self, handoff: Handoff, fence: Fence, shown: Shown, fold: TaskFold, caller: Caller, context: str
    ) -> Owner:
        node = self._node
        journal = OwnedJournal(node, handoff, fence)
        extensions = handoff.dispatched.get("extensions") or ()
        viewer = Viewer(fold, caller, context, node.clock, extensions)
        owner = Owner(node, journal, Requests(node, shown), viewer, self._idle)
        node.hub.channel(handoff.task_id).open_at(handoff.tip.seq)
        self.owners[handoff.task_id] = owner
        return owner

    def _idle(self, owner: Owner) -> None:
        if owner.journal.lost.is_set() or owner.journal.handoff.state is State.ORPHANED:
            self._remove(owner.task_id, owner)

    def _remove(self, task: str, owner: Owner) -> None:
        if self.owners.get(task) is owner:
            del self.owners[task]
            # It holds its owner, which holds it: whole tasks would stay until the collector looks.
            owner.journal.on_lost = None
            self._node.hub.release(task)
            self._node.store.let_go(task)

    # --- what comes for an existing task ----------------------------------------------------------------------

    async def deliver_input(self, handoff: HandoffRow, body: Json, key: KeyRow, headers: Mapping[str, str]) -> int:
        """Have a later message journalled by whoever owns the task.

        Args:
            handoff: as it was before the message's key was looked up: whatever it leads to stands after that.
            body: of its ``input`` entry.
            key: of the message, unless it stands there already.
            headers: that its client sent.

        Returns:
            The journal position after which its events stand.
        """
        task, waits = handoff.task, handoff.state == State.SUSPENDED
        owner = await self.own(task, "input" if waits and await self.may_run() else "")
        if owner is not None:
            what = f"input {key.key_hash} {key.intent}"
            position = await owner.journal.in_time(what, owner.take_input(body, key, headers))
            if position is not None:
                return position
        position = await self._leave(task, "input", {"input": body, "key": asdict(key)})
        return position or handoff.voter.tip.seq

    async def cancel(self, task: str, body: Json) -> bool:
        """Have a task canceled by whoever owns it; False where that is another session, which was told."""
        owner = await self.own(task, "cancel")
        if owner is not None and await owner.journal.in_time("cancel", owner.cancel(body)):
            return owner.ended
        await self._leave(task, "cancel", body)
        return False

    async def answered(self, sent: Sent) -> None:
        """Record that a response was written out, so that its messageId is free for a new message."""
        done = replace(sent.key, answered=True)
        owner = await self.own(sent.task_id)
        if owner is None:
            body: Json = {"messageId": sent.message_id, "generation": done.generation}
            await self._leave(sent.task_id, "answered", {"answered": body, "key": asdict(done)})
        else:
            owner.note_answered(sent.message_id, done)

    async def may_run(self) -> bool:
        """This sidecar should claim what has to be run: it has an agent, or nobody else has."""
        node = self._node
        return not node.draining and (node.link.ready or not await node.others_ready())

    async def _leave(self, task: str, kind: str, body: Json) -> int:
        reach("inbox.before_commit")
        position = await self._node.store.inbox_put(task, kind, write(body))
        reach("inbox.after_commit")
        return position


def _whose(handoff: Handoff, entries: Sequence[Entry]) -> tuple[Caller, str, TaskFold]:
    key = handoff.dispatched["key"]
    fold = refold(entries)
    context = fold.task().get("contextId") if fold.exists else None
    return Caller(key["tenant"], key["principal"]), context or handoff.dispatched.get("context") or "", fold
