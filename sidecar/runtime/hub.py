"""Tails: everybody who follows a task hears the same committed events in the same order.

The owner publishes what was committed; followers on this sidecar read it from a short memory, everybody else, and
whoever is too slow, from the store. Nothing enters here before its commit, so nothing can be shown before it is
durable. A follower that goes away takes only itself along: it is no parent of anything that works on the task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice

from bridge.journal import Entry
from sidecar.errors import RpcError, SidecarError
from sidecar.records import Frame
from sidecar.runtime.notes import Note, notes_of

READ_LIMIT = 500
READ_BYTES = 1 << 20
MEMORY_BYTES_MAX = 1 << 20

Read = Callable[[str, int, int, int], Awaitable[list[Entry]]]
Watch = Callable[[str, int], AbstractContextManager[None]]


class Channel:
    """What this process knows of one task's tail.

    Attributes:
        live: this process owns the handoff, so ``head`` is its newest committed position.
        base: everything after this position, up to ``head``, is in memory.
        head: newest committed position that was published here.
        version: grows with every change; followers wait for it to differ.
    """

    __slots__ = ("_changed", "_size", "base", "failure", "followers", "head", "live", "notes", "version")

    def __init__(self) -> None:
        self.live = False
        self.base = 0
        self.head = 0
        self.version = 0
        self.followers = 0
        self.failure: SidecarError | None = None
        self.notes: deque[Note] = deque()
        self._size = 0
        self._changed: asyncio.Future[None] | None = None

    def publish(self, notes: Sequence[Note], head: int) -> None:
        """Add committed notes and wake the followers."""
        for note in notes:
            self.notes.append(note)
            self._size += len(note.event or b"") + 64
        self.head = head
        while self._size > MEMORY_BYTES_MAX:
            dropped = self.notes.popleft()
            self.base = dropped.seq
            self._size -= len(dropped.event or b"") + 64
        self.wake()

    def open_at(self, head: int) -> None:
        """This process owns the handoff from here on."""
        self.notes.clear()
        self._size = 0
        self.base = self.head = head
        self.live = True
        self.wake()

    def since(self, after: int) -> list[Note] | None:
        """Notes after a position, None where memory does not reach back that far."""
        if not self.live or after < self.base:
            return None
        if after >= self.head:
            return []
        fresh = sum(1 for _ in _newer(self.notes, after))
        return list(islice(self.notes, len(self.notes) - fresh, None))

    def wake(self) -> None:
        """Let every follower look again."""
        self.version += 1
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
        self._changed = None

    async def changed(self, seen: int) -> None:
        """Return once ``version`` differs from ``seen``."""
        if self.version != seen:
            return
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)


def _newer(notes: deque[Note], after: int) -> Iterable[Note]:
    for note in reversed(notes):
        if note.seq <= after:
            return
        yield note


class Hub:
    """All tails of this process.

    Args:
        read: reads committed entries of a task after a position, at most so many and so many bytes.
        watch: holds the store's change notices while somebody waits for what follows a position of a task that
            another process owns.
    """

    def __init__(self, read: Read, watch: Watch) -> None:
        self._read, self._watch = read, watch
        self._channels: dict[str, Channel] = {}

    def channel(self, task_id: str) -> Channel:
        """The channel of a task, made if missing."""
        channel = self._channels.get(task_id)
        if channel is None:
            channel = self._channels[task_id] = Channel()
        return channel

    def release(self, task_id: str) -> None:
        """This process owns the handoff no longer; followers go on from the store."""
        channel = self._channels.get(task_id)
        if channel is not None:
            channel.live = False
            channel.notes.clear()
            channel.wake()
            self._forget(task_id, channel)

    def publish(self, task_id: str, notes: Sequence[Note], head: int) -> None:
        """This process committed entries: followers on this sidecar hear of them, if there is any."""
        channel = self._channels.get(task_id)
        if channel is None:
            return
        if channel.live:
            channel.publish(notes, head)
        else:
            channel.wake()

    def poke(self, task_ids: Iterable[str] | None) -> None:
        """Another process committed something: followers of these tasks (None: of any) look again."""
        names = list(self._channels) if task_ids is None else task_ids
        for task_id in names:
            channel = self._channels.get(task_id)
            if channel is not None and not channel.live:
                channel.wake()

    def fail(self, task_id: str, error: SidecarError) -> None:
        """End the tails that are open now with an error; later ones start afresh."""
        channel = self._channels.get(task_id)
        if channel is not None:
            channel.failure = error
            channel.wake()

    @contextmanager
    def _following(self, task_id: str) -> Iterator[Channel]:
        channel = self.channel(task_id)
        channel.followers += 1
        try:
            yield channel
        finally:
            channel.followers -= 1
            self._forget(task_id, channel)

    def _forget(self, task_id: str, channel: Channel) -> None:
        if not channel.followers and not channel.live:
            self._channels.pop(task_id, None)

    async def tail(self, task_id: str, after: int, *, past_questions: bool = False) -> AsyncIterator[list[Frame]]:
        """Committed events after a position; see ``ports.Tasks.tail``."""
        with self._following(task_id) as channel:
            cursor = after
            failures_before = channel.failure
            while True:
                seen = channel.version
                notes = channel.since(cursor)
                head = channel.head
                if notes is None:
                    entries = await self._read(task_id, cursor, READ_LIMIT, READ_BYTES)
                    notes = notes_of(entries)
                    head = entries[-1].seq if entries else cursor
                frames, over, error = _frames(notes, after, past_questions=past_questions)
                if frames:
                    yield frames
                if error is not None:
                    raise error
                if over:
                    return
                if head > cursor:
                    cursor = head
                    continue
                if channel.failure is not failures_before and channel.failure is not None:
                    raise channel.failure
                if channel.live:
                    await channel.changed(seen)
                else:
                    with self._watch(task_id, cursor):
                        await channel.changed(seen)


def _frames(
    notes: Sequence[Note], started_after: int, *, past_questions: bool
) -> tuple[list[Frame], bool, RpcError | None]:
    frames: list[Frame] = []
    for index, note in enumerate(notes):
        if note.error is not None:
            if note.answers in (0, started_after):
                code, text = note.error.get("code", -32603), note.error.get("message", "")
                return frames, True, RpcError(code, text, note.error.get("data"))
            continue
        if note.event is not None:
            frames.append(Frame(note.seq, note.event, note.ends))
        # A question ends the stream only while it is the last word: who catches up later reads on.
        ends = note.ends or (note.pauses and not past_questions and index == len(notes) - 1)
        if ends:
            if frames and not frames[-1].ends:
                frames[-1] = frames[-1]._replace(ends=True)
            return frames, True, None
    return frames, False, None
