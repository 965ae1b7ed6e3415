"""The store of one sidecar: opens the files, wires writer, voter, reads, sessions and wake-ups together.

One SQLite file holds the journals, shared by any number of processes of one host; beside it stand the sessions'
file, the queue of writers, the lock files and the sockets of wake-ups (``<db>-sessions``, ``-turns``, ``-locks``,
``-open``, ``-use``, ``-wake``). This file must not contain SQL or a rule. The failure it prevents: parts of one
store that were opened on different terms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Self

from bridge.journal import Entry, Fence
from bridge.lease import LEASE_MARGIN_MS, LEASE_TTL_MS
from sidecar.errors import StoreUnavailable
from sidecar.ports import Voter
from sidecar.records import Caller, Json, KeyRow, ListQuery, TaskView
from sidecar.store import inbox, kept
from sidecar.store.connect import beside, path_of
from sidecar.store.engine import check, prepare, recognise
from sidecar.store.faults import translated
from sidecar.store.hosttime import boot_id
from sidecar.store.identity import Use
from sidecar.store.localvoter import Heard, LocalVoter
from sidecar.store.reads import HandoffRow, InboxRow, Reads
from sidecar.store.sessionfile import SessionFile
from sidecar.store.sessions import AnySessions, Sessions
from sidecar.store.voter import HolderBlocks, SqlVoter
from sidecar.store.wake import OnChange, Wake
from sidecar.store.writer import Writer


class Store:
    """An open store. Made by ``open``; belongs to the event loop that opened it.

    Attributes:
        path: the database.
        voter_id: the id under which it votes (``bridge.voterid``).
        voter: this store as a voter.
        sessions: who uses the store.
        reads: reading, never behind the writer.
        wake: change notices between processes.
        writer: the one writer of this process.
    """

    def __init__(self, path: Path, opened: _Opened, holder_blocks: HolderBlocks | None, *, alone: bool) -> None:
        boot, files = boot_id(), opened.files
        self.path, self.voter_id, self._use = path, opened.voter_id, opened.use
        self.reads = Reads(path, boot)
        self.wake = Wake(beside(path, "wake"))
        self.writer = Writer(path, boot, self.wake.committed, replaceable=alone)
        self.wake.look = self.writer.look
        self.voter: Voter = SqlVoter(
            self.writer, self.reads.entries, holder_blocks or _by_sessions(files), alone=alone
        )
        self.sessions: AnySessions = Sessions(files, self.wake)
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str | Path,
        *,
        ttl_ms: int = LEASE_TTL_MS,
        margin_ms: int = LEASE_MARGIN_MS,
        holder_blocks: HolderBlocks | None = None,
        alone: bool = True,
        restored: bool = False,
    ) -> Self:
        """Open a store, creating or migrating it.

        Args:
            url: ``sqlite:///relative``, ``sqlite:////absolute`` or a path.
            ttl_ms: how long a session's renewal lasts.
            margin_ms: what others add to it.
            holder_blocks: whether a session keeps others from what it owns; by default by this store's sessions.
            alone: this store is the only voter of its handoffs, and any number of processes may use it. If not,
                it is one voter of several (``local_voter``), in this process only.
            restored: whoever put the file there says that it is an old copy: as a voter it is another one.

        Raises:
            StoreError: see the subclasses. ConfigError: the url names no SQLite file.
        """
        path = path_of(url)
        opened = await asyncio.to_thread(
            _opened, path, lambda: SessionFile(path, ttl_ms, margin_ms), alone=alone, restored=restored
        )
        return cls(path, opened, holder_blocks, alone=alone)

    def local_voter(self, heard: Heard, *, listed: bool = True) -> LocalVoter:
        """This store as one voter among several.

        Args:
            heard: what this host has heard of sessions.
            listed: handoffs are placed by the member list that this store holds; if not, in a pair.
        """
        return LocalVoter(self.voter_id, self.writer, self.reads, heard, listed=listed)

    async def close(self) -> None:
        """Commit what is queued, finish reads, let go of sessions that were not released."""
        if not self._closed:
            self._closed = True
            await self.writer.close()
            self.wake.close()
            await self.reads.close()
            await self.sessions.close()
            self._use.end()

    def names(self, task: str) -> Json:  # noqa: ARG002 - one store keeps everything
        """What a ``dispatched`` of a task says of its voters."""
        return {"voters": ["self"]}

    def holds(self, task: str) -> bool:  # noqa: ARG002
        """Whether what a session owned last is still its own without a new claim: as long as nobody claims it."""
        return True

    def outdone(self, row: HandoffRow, fence: Fence) -> bool:
        """Whether who owned a handoff under a fence does so no more, because another session was promised it."""
        return row.voter.promised > fence

    def step_back(self) -> Sequence[str]:
        """Give up what this session owns under a fence that leads nowhere any more; it may claim it anew."""
        return ()

    def let_go(self, task: str) -> None:
        """Nobody here has anything to do for a handoff at the moment."""

    async def entries(
        self, task: str, after: int = 0, limit: int = 1000, bytes_max: int | None = None
    ) -> list[Entry]:
        """See ``Reads.entries``."""
        return await self.reads.entries(task, after, limit, bytes_max)

    async def view(self, task: str) -> TaskView | None:
        """See ``Reads.view``."""
        return await self.reads.view(task)

    async def handoff_row(self, task: str) -> HandoffRow | None:
        """See ``Reads.handoff_row``."""
        return await self.reads.handoff_row(task)

    async def open_handoffs(self) -> list[HandoffRow]:
        """See ``Reads.open_handoffs``."""
        return await self.reads.open_handoffs()

    async def handoffs_at_work(self, but_of: Collection[str] = (), promised: str = "") -> list[HandoffRow]:
        """See ``Reads.handoffs_at_work``."""
        return await self.reads.handoffs_at_work(but_of, promised)

    async def list_tasks(
        self, query: ListQuery, caller: Caller, body_max: int | None = None
    ) -> tuple[list[TaskView], int, tuple[int, str] | None]:
        """See ``Reads.list_tasks``."""
        return await self.reads.list_tasks(query, caller, body_max)

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """See ``Reads.keys``."""
        return await self.reads.keys(key_hash)

    def inbox_put(self, task: str, kind: str, body: bytes) -> Coroutine[Any, Any, int]:
        """See ``inbox.put``.

        Returns:
            The journal position that it has led to, where somebody has taken it in already; 0 where it waits.
        """
        return inbox.put(self.writer, task, kind, body)

    def attempt(self) -> Coroutine[Any, Any, None]:
        """See ``kept.attempt``."""
        return kept.attempt(self.writer)

    def keep(self, name: str, value: str) -> Coroutine[Any, Any, None]:
        """See ``kept.keep``."""
        return kept.keep(self.writer, name, value)

    async def kept(self, name: str) -> str | None:
        """See ``kept.kept``."""
        return await kept.kept(self.reads, name)

    async def kept_names(self, prefix: str) -> set[str]:
        """See ``kept.kept_names``."""
        return await kept.kept_names(self.reads, prefix)

    async def inbox_take(self, task: str) -> list[InboxRow]:
        """See ``Reads.inbox_take``."""
        return await self.reads.inbox_take(task)

    async def inbox_waiting(self) -> list[str]:
        """See ``Reads.inbox_waiting``."""
        return await self.reads.inbox_waiting()

    def on_change(self, listener: OnChange) -> None:
        """See ``Wake.on_change``."""
        self.wake.on_change(listener)

    async def tailed(self, task: str, after: int, limit: int, bytes_max: int) -> list[Entry]:
        """The same as ``entries``, for those that follow a task and are told when to look again (``watch``)."""
        return await self.entries(task, after, limit, bytes_max)

    def watch(self, task: str = "", after: int = 0) -> AbstractContextManager[None]:  # noqa: ARG002
        """Have changes noticed while somebody waits for what follows a position of a task; see ``Wake.watch``."""
        return self.wake.watch()


class _Opened(NamedTuple):
    voter_id: str
    files: SessionFile
    use: Use


def _opened(path: Path, files: Callable[[], SessionFile], *, alone: bool, restored: bool) -> _Opened:
    check(path)
    use = Use(path, shared=alone)
    try:
        return _Opened(prepare(path, restored=restored), files(), use)
    except BaseException:
        use.end()
        raise


def _by_sessions(files: SessionFile) -> HolderBlocks:
    return lambda holder, _: files.blocks(holder)


def open_readonly(url: str | Path) -> Reads:
    """A store's journals and rows for verification and export; writes nothing, creates nothing.

    Raises:
        StoreUnavailable: there is no such file. StoreCorrupt, SchemaNewer: it is not a store this release reads.
    """
    path = path_of(url)
    with translated(f"reading the store {path}"):
        there = path.exists()
    if not there:
        raise StoreUnavailable(
            f"{path}: no such store", "no sidecar has run with this store; give --store or DHP_SIDECAR_STORE"
        )
    recognise(path)
    return Reads(path)
