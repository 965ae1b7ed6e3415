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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bridge.handoff import Handoff
from bridge.journal import Draft, Entry, Fence, Tip, chain
from bridge.quorum import Append, Appended, Refusal, Refused
from sidecar.errors import RpcError, StoreError
from sidecar.ports import Clock, KeyRow, Observer, TaskView, Voter
from sidecar.runtime.hub import Hub
from sidecar.runtime.notes import notes_of

log = logging.getLogger(__name__)

OUTAGE_TOLD_AFTER_S = 3.0
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0


@dataclass(slots=True)
class _Batch:
    entries: list[Entry]
    view: TaskView | None
    keys: Sequence[KeyRow]
    inbox: Sequence[int]
    size: int


class OwnedJournal:
    """The writing end of one handoff's journal.

    Args:
        handoff: the fold of the journal so far; advanced with every write.
        fence: the fence under which this session owns the handoff.
        voter: where entries are made durable.
        hub: where committed entries are published.
        clock: for the entries' ``at``.
        observer: counts refused writes and outages.
        buffer_bytes_max: how much may wait for the store before ``room`` makes the writer wait.

    Attributes:
        lost: set once another session owns the handoff; nothing is written any more.
    """

    def __init__(
        self, handoff: Handoff, fence: Fence, voter: Voter, hub: Hub, clock: Clock, observer: Observer, *,
        buffer_bytes_max: int,
    ) -> None:  # fmt: skip
        self.handoff = handoff
        self.fence = fence
        self.lost = asyncio.Event()
        self.on_lost: Callable[[], None] | None = None
        self._voter, self._hub, self._clock, self._observer = voter, hub, clock, observer
        self._buffer_bytes_max = buffer_bytes_max
        self._waiting: deque[_Batch] = deque()
        self._waiting_bytes = 0
        self._sent: Tip = handoff.tip
        self.committed = handoff.tip.seq
        self._offering: asyncio.Task[None] | None = None
        self._progress: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def task_id(self) -> str:
        """The public task id."""
        return self.handoff.task_id

    def write(
        self,
        drafts: Sequence[Draft],
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
    ) -> int:
        """Append drafts; returns at once with the position of the last one.

        Args:
            drafts: what to append, checked against the handoff's state: an illegal one raises and changes nothing.
            view: the new row for reads, where it changed.
            keys: message keys that these entries establish or answer.
            inbox: ids of inbox rows that these entries take in.

        Raises:
            IllegalTransition: a draft may not stand where the handoff is.
        """
        if self.lost.is_set():
            self._observer.count("writes_refused")
            return self.handoff.tip.seq
        entries = chain(self.handoff.tip, self.fence, self._clock.wall_ms(), drafts)
        for entry in entries:
            self.handoff.apply(entry, trusted=True)
        batch = _Batch(entries, view, keys, inbox, sum(len(draft.body) for draft in drafts))
        self._waiting.append(batch)
        self._waiting_bytes += batch.size
        if self._offering is None:
            self._spawn(self._offer(batch))
        return self.handoff.tip.seq

    async def written(self, seq: int | None = None) -> bool:
        """Wait until a position (default: the newest) is committed; False if the journal was lost first."""
        goal = self.handoff.tip.seq if seq is None else seq
        while self.committed < goal and not self.lost.is_set():
            await self._moved()
        return self.committed >= goal

    async def room(self) -> None:
        """Wait while more than the buffer's bound waits for the store."""
        while self._waiting_bytes > self._buffer_bytes_max and not self.lost.is_set():
            await self._moved()

    def abandon(self) -> None:
        """Another session owns the handoff, or this one gives it up: write nothing more."""
        if not self.lost.is_set():
            self.lost.set()
            self._hub.release(self.task_id)
            self._wake()
            if self.on_lost is not None:
                self.on_lost()

    def _spawn(self, work) -> asyncio.Task[None]:  # type: ignore[no-untyped-def]
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _moved(self) -> asyncio.Future[None]:
        if self._progress is None or self._progress.done():
            self._progress = asyncio.get_running_loop().create_future()
        return asyncio.shield(self._progress)

    def _wake(self) -> None:
        if self._progress is not None and not self._progress.done():
            self._progress.set_result(None)

    async def _offer(self, batch: _Batch) -> None:
        """One pipelined append. Batches are offered and answered in order."""
        append = Append(
            self.task_id, self.fence, self._sent.seq, self._sent.hash, batch.entries, self._sent.seq
        )
        last = batch.entries[-1]
        self._sent = Tip(last.fence, last.seq, last.hash)
        try:
            answer = await self._voter.append(append, batch.view, batch.keys, batch.inbox)
        except StoreError as error:
            self._begin_outage(error)
            return
        if isinstance(answer, Appended):
            self._commit(batch)
        elif answer.reason is Refusal.GAP and self._offering is not None:
            return  # an earlier one failed: everything is offered again in order
        else:
            self._refused(answer)

    def _commit(self, batch: _Batch) -> None:
        if not self._waiting or self._waiting[0] is not batch:
            return  # the outage's own offer committed it already
        self._waiting.popleft()
        self._waiting_bytes -= batch.size
        self.committed = batch.entries[-1].seq
        if not self.lost.is_set():
            self._hub.channel(self.task_id).publish(notes_of(batch.entries), self.committed)
        self._wake()

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
            log.error("task %s: %s; its events wait", self.task_id, error, extra={"task": self.task_id})
            self._observer.count("store_outages")
            self._offering = self._spawn(self._offer_again())

    async def _offer_again(self) -> None:
        """Offer what waits, in order, until the store takes it: then the pipeline goes on."""
        pause, began, told = RETRY_FIRST_S, self._clock.monotonic(), False
        while self._waiting and not self.lost.is_set():
            batch = self._waiting[0]
            first = batch.entries[0]
            append = Append(self.task_id, self.fence, first.seq - 1, first.prev, batch.entries, first.seq - 1)
            try:
                answer = await self._voter.append(append, batch.view, batch.keys, batch.inbox)
            except StoreError as error:
                if not told and self._clock.monotonic() - began > OUTAGE_TOLD_AFTER_S:
                    told = True
                    self._hub.fail(self.task_id, RpcError(-32603, f"The journal cannot be written: {error}"))
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_MOST_S)
                continue
            if isinstance(answer, Appended):
                self._commit(batch)
                self._sent = Tip(batch.entries[-1].fence, batch.entries[-1].seq, batch.entries[-1].hash)
            else:
                self._refused(answer)
        self._offering = None
