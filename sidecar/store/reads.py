"""Reading a store, on connections of its own and never behind the writer.

Journals, the rows that GetTask and ListTasks use, message keys, the inbox, and what the supervisor sweeps. Every
answer is of committed entries only. This file must not write, and must not know what an entry means. The failure
it prevents: a read that waits for an fsync, or shows what is not durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, TextClause, and_, case, func, select, text, tuple_

from bridge.journal import Entry, Tip
from bridge.quorum import VoterView
from sidecar.failpoints import reach
from sidecar.records import Caller, KeyRow, ListQuery, TaskView
from sidecar.store.connect import reading_engine
from sidecar.store.faults import translated
from sidecar.store.held import held_of
from sidecar.store.pieces import entries, piece
from sidecar.store.prefix import prefix
from sidecar.store.schema import AT_WORK, LISTED, OPEN, finished, handoffs, inbox, tasks

READERS = 2

T = TypeVar("T")

# A handoff that was claimed but never written to is nobody's work: the claim's caller was told nothing yet.
_OPEN_AND_BEGUN = text(f"{OPEN} AND handoffs.tip_seq > 0")


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """What the store knows of a handoff without reading its journal.

    Attributes:
        task: task id.
        voter: what the voter remembers: promised fence, tip, committed.
        owner: session that owns it: of the last entry's fence; "" before the first claim.
        released: its owner gave it up (``orphaned``) and nobody has claimed it since.
        terminal: a terminal entry is committed.
        state: the handoff's state, as a sweep sees it (``bridge.gist``): of all entries, committed or not.
        task_state: A2A's state of the task, "" if none.
        status_at: milliseconds since 1970 UTC of the last status, 0 if none.
        shown_seq: at a voter among several: position that the row for reads was made at, 0 if it has none.
    """

    task: str
    voter: VoterView
    owner: str
    released: bool
    terminal: bool
    state: str
    task_state: str
    status_at: int
    shown_seq: int = 0


@dataclass(frozen=True, slots=True)
class InboxRow:
    """Something that a non-owner received for a handoff: the owner folds it in, or its receiver claims.

    Attributes:
        id: to be named in the append that takes it in.
        task: task id.
        kind: what it is (``input``, ``cancel`` …).
        body: JSON text.
    """

    id: int
    task: str
    kind: str
    body: bytes


class Reads:
    """Read access to one store.

    Args:
        path: the database; it must exist.
        boot: the host's boot id (grants of an earlier boot do not count).
    """

    def __init__(self, path: Path, boot: str = "") -> None:
        self._path = path
        self._boot = boot
        self._engine = reading_engine(path, READERS)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")

    async def entries(
        self, task: str, after: int = 0, limit: int = 1000, bytes_max: int | None = None
    ) -> list[Entry]:
        """Committed entries with a position greater than ``after``, at most ``limit``, in order.

        Args:
            task: task id.
            after: position.
            limit: how many at most.
            bytes_max: how much at most, at least one entry: then fewer than ``limit`` do not mean the end.
        """
        if bytes_max is not None:
            return (await self.run(lambda connection: piece(connection, task, after, limit, bytes_max)))[0]
        return await self.run(lambda connection: entries(connection, task, after, limit))

    async def prefix(self, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        """A chunk of the journal up to exactly this tip, committed or not; None where that is not here."""
        return await self.run(lambda connection: _prefix(connection, self._boot, task, tip, after))

    async def view(self, task: str) -> TaskView | None:
        """The row that reads use, with the final Task once there is one."""
        return await self.run(lambda connection: _view(connection, task))

    async def handoff_row(self, task: str) -> HandoffRow | None:
        """The voter's row of a handoff; None for one it has never heard of."""
        rows = await self.run(lambda connection: _handoffs(connection, self._boot, handoffs.c.task == task))
        return rows[0] if rows else None

    async def open_handoffs(self) -> list[HandoffRow]:
        """All handoffs with entries and without a terminal one. Costs nothing per finished handoff."""
        return await self.run(lambda connection: _handoffs(connection, self._boot, _OPEN_AND_BEGUN))

    async def handoffs_at_work(self, but_of: Collection[str] = (), promised: str = "") -> list[HandoffRow]:
        """Open handoffs that are not waiting for a client or an operator. Costs nothing per waiting one.

        One of which something is not known to be committed waits for nobody: perhaps nobody living can tell, and
        whoever claims it learns it.

        Args:
            but_of: leave out what these sessions own and have not given up.
            promised: but not what this session was promised and wrote nothing of: that keeps others off.
        """
        found = and_(text(AT_WORK), handoffs.c.tip_seq > 0)
        if but_of:
            pending = (handoffs.c.promised_session == promised) & (handoffs.c.tip_session != promised)
            found &= (handoffs.c.released == 1) | handoffs.c.tip_session.not_in(sorted(but_of)) | pending
        return await self.run(lambda connection: _handoffs(connection, self._boot, found))

    async def list_tasks(
        self, query: ListQuery, caller: Caller, body_max: int | None = None
    ) -> tuple[list[TaskView], int, tuple[int, str] | None]:
        """One page of a caller's tasks, newest status first.

        Args:
            query: filters.
            caller: whose.
            body_max: finished Tasks that are larger are left out (``finished`` is None), to be read one by one.

        Returns:
            The page, how many match in all, and the cursor of the next page (None on the last).
        """
        return await self.run(lambda connection: _list(connection, query, caller, body_max))

    async def keys(self, key_hash: str) -> list[KeyRow]:
        """Dispatches under a message key, oldest generation first."""
        return await self.run(lambda connection: _keys(connection, key_hash))

    async def inbox_take(self, task: str) -> list[InboxRow]:
        """What waits for a handoff, oldest first. It stays until an append names its ids."""
        statement = select(inbox).where(inbox.c.task == task).order_by(inbox.c.id)
        return await self.run(
            lambda connection: [
                InboxRow(row.id, row.task, row.kind, row.body) for row in connection.execute(statement)
            ]
        )

    async def inbox_waiting(self) -> list[str]:
        """Tasks for which something waits."""
        statement = select(inbox.c.task).distinct().order_by(inbox.c.task)
        return await self.run(lambda connection: list(connection.execute(statement).scalars()))

    async def task_ids(self, after: str = "", limit: int = 1000) -> list[str]:
        """Every handoff of which something is committed, by its id, in pages: for verification and export."""
        there = (handoffs.c.task > after) & (handoffs.c.committed > 0)
        statement = select(handoffs.c.task).where(there).order_by(handoffs.c.task).limit(limit)
        return await self.run(lambda connection: list(connection.execute(statement).scalars()))

    async def close(self) -> None:
        """Finish running reads and close."""
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()

    async def run(self, read: Callable[[Connection], T]) -> T:
        """Run a reading function on a connection of the readers' threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._reading, read)

    def _reading(self, read: Callable[[Connection], T]) -> T:
        reach("store.before_read")
        with translated(f"reading from {self._path}"), self._engine.connect() as connection:
            return read(connection)


# What every request asks is written out: building a statement costs ten times as much as running it.
_KEYS = "SELECT key_hash, generation, task, intent, answered FROM keys WHERE key_hash = ? ORDER BY generation"
_ONE_VIEW = """
SELECT t.task, t.tenant, t.principal, t.context_id, t.state, t.task_state, t.status_at, t.listed, f.body
FROM handoffs h JOIN tasks t ON t.handoff = h.id LEFT JOIN finished f ON f.handoff = h.id WHERE h.task = ?
"""


def _keys(connection: Connection, key_hash: str) -> list[KeyRow]:
    rows = connection.exec_driver_sql(_KEYS, (key_hash,))
    return [
        KeyRow(of, generation, task, intent, bool(answered)) for of, generation, task, intent, answered in rows
    ]


def _view(connection: Connection, task: str) -> TaskView | None:
    row = connection.exec_driver_sql(_ONE_VIEW, (task,)).first()
    if row is None:
        return None
    id_, tenant, principal, context, state, task_state, status_at, listed, body = row
    return TaskView(id_, tenant, principal, context, state, task_state, status_at, bool(listed), body)


def _prefix(connection: Connection, boot: str, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
    with _snapshot(connection):
        rows = _handoffs(connection, boot, handoffs.c.task == task)
        view = rows[0].voter if rows else VoterView.empty(task)
        return prefix(connection, view, task, tip, after)


@contextmanager
def _snapshot(connection: Connection) -> Iterator[None]:
    connection.exec_driver_sql("BEGIN")
    try:
        yield
    finally:
        connection.exec_driver_sql("COMMIT")


def _views(connection: Connection, statement: Select[Any]) -> list[TaskView]:
    return [
        TaskView(
            row.task, row.tenant, row.principal, row.context_id, row.state, row.task_state, row.status_at,
            row.listed, row.body,
        )
        for row in connection.execute(statement)
    ]  # fmt: skip


def _handoffs(connection: Connection, boot: str, condition: ColumnElement[bool] | TextClause) -> list[HandoffRow]:
    statement = (
        select(handoffs, tasks.c.task_state, tasks.c.status_at)
        .outerjoin(tasks, tasks.c.handoff == handoffs.c.id)
        .where(condition)
        .order_by(handoffs.c.task)
    )
    rows: list[HandoffRow] = []
    for row in connection.execute(statement):
        held = held_of(row, boot)
        rows.append(
            HandoffRow(
                held.task, held.view, held.view.tip.fence.session, held.gist.released,
                0 < held.terminal_seq <= held.view.committed,
                held.gist.word.value, row.task_state or "", row.status_at or 0, held.shown_seq,
            )
        )  # fmt: skip
    return rows


def _list(
    connection: Connection, query: ListQuery, caller: Caller, body_max: int | None
) -> tuple[list[TaskView], int, tuple[int, str] | None]:
    matching = and_(text(LISTED), tasks.c.tenant == caller.tenant, tasks.c.principal == caller.principal)
    if query.context_id is not None:
        matching &= tasks.c.context_id == query.context_id
    if query.task_state is not None:
        matching &= tasks.c.task_state == query.task_state
    if query.status_after_ms is not None:
        matching &= tasks.c.status_at >= query.status_after_ms
    body: ColumnElement[Any] = finished.c.body
    if body_max is not None:  # the length of a body is known without reading it
        body = case((func.length(body) <= body_max, body)).label("body")
    page = select(tasks, body).outerjoin(finished, finished.c.handoff == tasks.c.handoff).where(matching)
    if query.page_after is not None:
        page = page.where(tuple_(tasks.c.status_at, tasks.c.task) < tuple_(*query.page_after))
    page = page.order_by(tasks.c.status_at.desc(), tasks.c.task.desc()).limit(query.page_size + 1)
    with _snapshot(connection):  # the page and the total are of one
        views = _views(connection, page)
        total = connection.execute(select(func.count()).select_from(tasks).where(matching)).scalar_one()
    more = len(views) > query.page_size
    views = views[: query.page_size]
    return views, total, (views[-1].status_at, views[-1].task_id) if more else None
