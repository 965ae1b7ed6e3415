"""A journal that this session owns: drafts in, committed entries out, in order, under one fence.

Appends are pipelined: the chain goes on in memory while earlier entries are on their way to disk, and what was
committed is published in order. When the store cannot be written the entries wait here, bounded, and are offered
again until it can; nothing is shown meanwhile. When another session turns out to own the handoff, this journal is
lost: it writes nothing more and says so.

This file must not know why something is written. The failure it prevents: an event reaching a client, or an
agent being called, before the entry that records it is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bridge.handoff import Handoff
from bridge.journal import TERMINAL, Draft, Entry, Fence, Tip, chain
from bridge.quorum import Append, Appended, Refusal, Refused
from sidecar import failpoints
from sidecar.errors import StoreError, StoreUnavailable
from sidecar.ports import Voter
from sidecar.records import KeyRow, TaskView
from sidecar.runtime.lastwords import tell_end
from sidecar.runtime.node import Node
from sidecar.runtime.notes import notes_of

T = TypeVar("T")

log = logging.getLogger(__name__)

OUTAGE_TOLD_AFTER_S = 3.0
PIPELINED_BYTES = 256 << 10
RETRY_FIRST_S = 0.05
TOLD_AFTER_S = 0.001
RETRY_MOST_S = 1.0


@dataclass(slots=True)
class _Batch:
    entries: list[Entry]
    view: TaskView | None
    keys: Sequence[KeyRow]
    inbox: Sequence[int]
    size: int
    offered: float


class OwnedJournal:
    """The writing end of one handoff's journal.

    Args:
        node: what this sidecar holds in common.
        handoff: the fold of the journal so far; advanced with every write.
        fence: the fence under which this session owns the handoff.

    Attributes:
        lost: set once another session owns the handoff; nothing is written any more.
        committed: position up to which the journal is known to be durable.
        on_lost: called when ``lost`` is set.
        claim: why it was claimed, until that has led to a run.
    """

    def __init__(self, node: Node, handoff: Handoff, fence: Fence) -> None:
        self.handoff = handoff
        self.fence = fence
        self.lost = asyncio.Event()
        self.on_lost: Callable[[], None] | None = None
        self.claim = ""
        self._voter: Voter = node.store.voter
        self._hub, self._clock, self._observer = node.hub, node.clock, node.observer
        self._buffer_bytes_max = node.config.journal.buffered_bytes_max
        self._waiting: deque[_Batch] = deque()
        self._waiting_bytes = 0
        self._sent: Tip = handoff.tip
        self.committed = handoff.tip.seq
        self._offering: asyncio.Task[None] | None = None
        self._progress: asyncio.Future[None] | None = None
        self._told = asyncio.Event()
        self._beside: dict[str, asyncio.Future[Any]] = {}

    @property
    def task_id(self) -> str:
        """The public task id."""
        return self.handoff.task_id

    @property
    def settled(self) -> bool:
        """Everything that was written is committed, or nothing more will be."""
        return not self._waiting or self.lost.is_set()

    def claimed(self, reason: str) -> None:
        """It was claimed by this session just now."""
        self.claim = reason
        told = "task %s: claimed under fence %d (%s)"
        log.info(told, self.task_id, self.fence.n, reason, extra=self._extra())

    def write(
        self,
        drafts: Sequence[Draft],
        view_of: Callable[[Handoff], TaskView | None] | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
        *,
        may_wait: bool = False,
    ) -> int:
        """Append drafts; returns at once with the position of the last one.

        Args:
            drafts: what to append, checked against the handoff's state: an illegal one raises and changes nothing.
            view_of: makes the new row for reads once the drafts are applied; None where it did not change.
            keys: message keys that these entries establish or answer.
            inbox: ids of inbox rows that these entries take in.
            may_wait: see ``ports.Voter.append_soon``.

        Raises:
            IllegalTransition: a draft may not stand where the handoff is.
        """
        if self.lost.is_set():
            self._observer.count("writes_refused", len(drafts))
            return self.handoff.tip.seq
        entries = chain(self.handoff.tip, self.fence, self._clock.wall_ms(), drafts)
        for entry in entries:
            self.handoff.apply(entry, trusted=True)
        view = view_of(self.handoff) if view_of is not None else None
        size = sum(len(draft.body) for draft in drafts)
        batch = _Batch(entries, view, keys, inbox, size, self._clock.monotonic())
        _pass(entries, "before_commit")
        self._waiting.append(batch)
        self._waiting_bytes += batch.size
        if self._offering is None:
            self._offer(batch, may_wait=may_wait)
        return self.handoff.tip.seq

    async def written(self, seq: int | None = None) -> bool:
        """Wait until a position (default: the newest) is committed; False if the journal was lost first."""
        goal = self.handoff.tip.seq if seq is None else seq
        while self.committed < goal and not self.lost.is_set():
            await self._moved()
        return self.committed >= goal

    async def in_time(self, what: str, work: Coroutine[Any, Any, T]) -> T:
        """Do what waits for this journal on behalf of a client, who is told of an outage before it gives up.

        Args:
            what: names the wish. A repeat joins the work for it that is still waiting.
            work: what is to be done.

        Raises:
            StoreUnavailable: the journal cannot be written; the work goes on beside, and its outcome is unknown.
        """
        working = self._beside.get(what)
        if working is None:
            working = self._beside[what] = asyncio.ensure_future(work)
            working.add_done_callback(lambda _: self._beside.pop(what))
        else:
            work.close()
        telling = asyncio.ensure_future(self._told.wait())
        try:
            await asyncio.wait((working, telling), return_when=asyncio.FIRST_COMPLETED)
        finally:
            telling.cancel()
        if not working.done():
            text = "The journal cannot be written, the outcome is unknown"
            raise StoreUnavailable(text, "ask the same again later")
        done: T = working.result()
        return done

    async def room(self) -> None:
        """Give everybody else a turn, and wait while too much is on its way to the store.

        In an outage more may wait: up to the operator's bound, then the agent has to.
        """
        await asyncio.sleep(0)
        while not self.lost.is_set():
            bound = PIPELINED_BYTES if self._offering is None else self._buffer_bytes_max
            if self._waiting_bytes <= bound:
                return
            await self._moved()

    def abandon(self) -> None:
        """Another session owns the handoff, or this one gives it up: write nothing more."""
        if not self.lost.is_set():
            self.lost.set()
            self._hub.release(self.task_id)
            self._wake()
            if self.on_lost is not None:
                self.on_lost()

    def _moved(self) -> asyncio.Future[None]:
        if self._progress is None or self._progress.done():
            self._progress = asyncio.get_running_loop().create_future()
        return asyncio.shield(self._progress)

    def _wake(self) -> None:
        if self._progress is not None and not self._progress.done():
            self._progress.set_result(None)

    def _offer(self, batch: _Batch, *, may_wait: bool) -> None:
        """One pipelined append. Batches are offered and answered in order."""
        sent, last = self._sent, batch.entries[-1]
        append = Append(self.task_id, self.fence, sent.seq, sent.hash, batch.entries, sent.seq)
        self._sent = Tip(last.fence, last.seq, last.hash)
        answer = self._voter.append_soon(append, batch.view, batch.keys, batch.inbox, may_wait=may_wait)
        answer.add_done_callback(partial(self._answered, batch))

    def _answered(self, batch: _Batch, future: asyncio.Future[Appended | Refused]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if isinstance(error, StoreError):
            self._begin_outage(error)
        elif error is not None:
            log.error("task %s: an append failed", self.task_id, exc_info=error, extra=self._extra())
            self.abandon()
        elif isinstance(answer := future.result(), Appended):
            self._commit(batch)
        elif answer.reason is Refusal.GAP and self._offering is not None:
            pass  # an earlier one failed: everything is offered again in order
        else:
            self._refused(answer)

    def _commit(self, batch: _Batch) -> None:
        if not self._waiting or self._waiting[0] is not batch:
            return  # the outage's own offer committed it already
        self._waiting.popleft()
        self._waiting_bytes -= batch.size
        self.committed = batch.entries[-1].seq
        self._observer.observe("append", self._clock.monotonic() - batch.offered)
        _pass(batch.entries, "after_commit")
        self._hub.publish(self.task_id, notes_of(batch.entries), self.committed)
        self._wake()
        _pass(batch.entries, "after_publish")
        if self.handoff.terminal is not None:
            # Whoever waits for the end is answered first.
            asyncio.get_running_loop().call_later(TOLD_AFTER_S, tell_end, self.handoff, batch.entries)

    def _refused(self, answer: Refused) -> None:
        log.warning(
            "task %s: a write under fence %d was refused (%s): another session owns it under fence %d",
            self.task_id, self.fence.n, answer.reason, answer.promised.n,
            extra={"task": self.task_id, "fence": self.fence.n},
        )  # fmt: skip
        self._observer.count("writes_refused", sum(len(batch.entries) for batch in self._waiting))
        self._waiting.clear()
        self.abandon()

    def _begin_outage(self, error: StoreError) -> None:
        if self._offering is None and not self.lost.is_set():
            log.error("task %s: %s; its events wait", self.task_id, error, extra=self._extra())
            self._observer.count("store_outages")
            self._offering = asyncio.get_running_loop().create_task(self._offer_again())

    async def _offer_again(self) -> None:
        """Offer what waits, in order, until the store takes it: then the pipeline goes on."""
        pause, began = RETRY_FIRST_S, self._clock.monotonic()
        while self._waiting and not self.lost.is_set():
            batch = self._waiting[0]
            first = batch.entries[0]
            append = Append(self.task_id, self.fence, first.seq - 1, first.prev, batch.entries, first.seq - 1)
            try:
                answer = await self._voter.append(append, batch.view, batch.keys, batch.inbox)
            except StoreError as error:
                if not self._told.is_set() and self._clock.monotonic() - began > OUTAGE_TOLD_AFTER_S:
                    self._told.set()
                    self._hub.fail(self.task_id, StoreUnavailable(f"The journal cannot be written: {error}"))
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_MOST_S)
                continue
            if isinstance(answer, Appended):
                self._commit(batch)
                self._sent = Tip(batch.entries[-1].fence, batch.entries[-1].seq, batch.entries[-1].hash)
            else:
                self._refused(answer)
        self._told.clear()
        self._offering = None

    def _extra(self) -> dict[str, object]:
        return {"task": self.task_id, "fence": self.fence.n}


def _pass(entries: Sequence[Entry], moment: str) -> None:
    if failpoints.ARMED:
        names = ["terminal" if entry.kind in TERMINAL else entry.kind.value for entry in entries]
        failpoints.reach_each(names, moment)
