"""A write transaction's working set: voters' rows read once, decided on in memory, written in few statements.

sqlite3 gives the interpreter lock away on every statement, and under load each return costs up to a switch
interval. So operations change these rows in memory and ``flush`` writes a batch of any size with a handful of
multi-row statements. This file must not know the rules of claims and appends. The failures it prevents: a
decision made on a row that another process has changed since, and a convoy of thousands of tiny statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bridge.journal import TERMINAL, Entry, Fence, Kind, Tip
from bridge.quorum import VoterView
from sidecar.records import KeyRow, TaskView
from sidecar.store.bulk import Bulk
from sidecar.store.schema import first_position, last_position

HELD_MAX = 4_000

_TELLING = TERMINAL | {Kind.ORPHANED, Kind.CLAIMED}  # kinds that the row itself remembers

_HANDOFF_COLUMNS = (
    "id, task, promised_n, promised_session, tip_n, tip_session, tip_seq, tip_hash, committed, "
    "granted_n, granted_session, granted_until_ms, granted_boot, terminal_seq, purged, released"
)
_READ_HANDOFF = f"SELECT {_HANDOFF_COLUMNS} FROM handoffs WHERE task = ?"  # noqa: S608
_ENTRIES = Bulk("entries", "position, fence_n, fence_session, kind, at, body_hash, prev, hash, body")
_HANDOFFS = Bulk("handoffs", _HANDOFF_COLUMNS, key="id")
_TASKS = Bulk(
    "tasks", "handoff, task, tenant, principal, context_id, state, task_state, status_at, listed", key="handoff"
)
_FINISHED = Bulk("finished", "handoff, body", key="handoff")
_KEYS = Bulk("keys", "key_hash, generation, task, intent, answered", key="key_hash, generation")


@dataclass(slots=True)
class Held:
    """One handoff's rows as this transaction sees them.

    Attributes:
        id: the handoff's row.
        task: its task id.
        view: the voter's memory.
        terminal_seq: position of the terminal entry, 0 without.
        released: the owner gave the handoff up (``orphaned``) and nobody has claimed it since.
        task_view: the row for reads as it was last written from here; None: not known.
    """

    id: int
    task: str
    view: VoterView
    terminal_seq: int
    released: bool = False
    task_view: TaskView | None = None


class Changes(NamedTuple):
    """What others may want to know of a commit.

    Attributes:
        tasks: those that it touched.
        foreign: other processes had committed since the last look.
        urgent: somebody has to act: a handoff was given up, or something waits in an inbox.
    """

    tasks: list[str]
    foreign: bool = False
    urgent: bool = False


class Rows:
    """What the writer's transactions read and will write.

    Args:
        boot: the host's boot id: grants of an earlier boot ran out with its clock.
    """

    def __init__(self, boot: str) -> None:
        self._boot = boot
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None
        self._held: dict[str, Held] = {}
        self._next_id = 0
        self._clear()

    def _clear(self) -> None:
        self._dirty: dict[int, Held] = {}
        self._entries: list[Any] = []
        self._pending: dict[int, list[Entry]] = {}
        self._views: dict[int, TaskView] = {}
        self._keys: dict[tuple[str, int], KeyRow] = {}
        self._inbox_done: list[int] = []
        self._inbox_new: list[tuple[str, str, bytes]] = []
        self.touched: dict[str, None] = {}
        self.urgent = False

    def begin(self, connection: sqlite3.Connection) -> bool:
        """Start on a connection that has just begun its transaction.

        Returns:
            Whether another connection has committed since the last transaction: then nothing that was held counts.
        """
        self._connection = connection
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        changed = bool(version != self._version)
        if changed or len(self._held) > HELD_MAX:
            self._held.clear()
            self._next_id = 0
        self._version = version
        self._clear()
        return changed

    def forget(self) -> None:
        """The transaction failed or the connection is a new one: trust nothing that is held."""
        self._held.clear()
        self._next_id = 0
        self._version = None
        self._clear()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection whose transaction is open."""
        assert self._connection is not None, "outside of a transaction"
        return self._connection

    def held(self, task: str) -> Held:
        """A handoff's rows; a handoff that does not exist yet is an empty journal without a row."""
        held = self._held.get(task)
        if held is None:
            row = self.connection.execute(_READ_HANDOFF, (task,)).fetchone()
            if row is None:
                return Held(0, task, VoterView.empty(task), 0)
            held = self._held[task] = held_of(row, self._boot)
        return held

    def stored_hash(self, held: Held, seq: int) -> str | None:
        """Hash of the entry at a position from 1 to the tip, None where there is none."""
        pending = self._pending.get(held.id)
        if pending and seq >= pending[0].seq:
            return pending[seq - pending[0].seq].hash
        row = self.connection.execute(
            "SELECT hash FROM entries WHERE position = ?", (first_position(held.id, seq),)
        ).fetchone()
        return None if row is None else row[0].hex()

    def put(self, held: Held, view: VoterView, add: Sequence[Entry] = (), cut_from: int | None = None) -> None:
        """Take over a decision about a handoff; gives a new handoff its row.

        Args:
            held: the handoff's rows.
            view: the voter's memory afterwards.
            add: entries to add behind the last one.
            cut_from: position from which entries are removed first, if any.

        Raises:
            ValueError, AttributeError: an entry is malformed; nothing was changed.
        """
        id_ = held.id or self._free_id()
        flat, terminal_seq, released = _flatten(first_position(id_), add, held, cut_from)
        if cut_from is not None:
            self._cut(held, cut_from)
        if held.id == 0:
            held.id = id_
            self._next_id = id_ + 1
            self._held[held.task] = held
        self.urgent |= released and not held.released
        held.view, held.terminal_seq, held.released = view, terminal_seq, released
        self._dirty[id_] = held
        self.touched[held.task] = None
        if add:
            self._entries += flat
            self._pending.setdefault(id_, []).extend(add)

    def _free_id(self) -> int:
        if self._next_id == 0:
            (newest,) = self.connection.execute("SELECT coalesce(max(id), 0) FROM handoffs").fetchone()
            self._next_id = newest + 1
        return self._next_id

    def _cut(self, held: Held, first: int) -> None:
        self._flush_entries()
        self.connection.execute(
            "DELETE FROM entries WHERE position BETWEEN ? AND ?",
            (first_position(held.id, first), last_position(held.id)),
        )

    def show(self, held: Held, view: TaskView) -> None:
        """Write the row that reads use, unless it is as it was."""
        if held.task_view != view:
            # A finished Task may be large and is written once: it is not worth remembering.
            held.task_view = view if view.finished is None else None
            self._views[held.id] = view

    def key(self, rows: Iterable[KeyRow]) -> None:
        """Insert or replace message keys."""
        for row in rows:
            self._keys[row.key_hash, row.generation] = row

    def inbox_put(self, task: str, kind: str, body: bytes) -> None:
        """Put something into a handoff's inbox."""
        self._inbox_new.append((task, kind, body))
        self.urgent = True
        self.touched[task] = None

    def inbox_done(self, ids: Sequence[int]) -> None:
        """Delete inbox rows whose entries this transaction adds."""
        self._inbox_done += ids

    def flush(self) -> None:
        """Write everything; the transaction is ready to commit."""
        self._flush_entries()
        connection = self.connection
        _HANDOFFS.run(connection, [value for held in self._dirty.values() for value in self._row(held)])
        views = self._views
        _TASKS.run(connection, [value for id_, view in views.items() for value in _task_row(id_, view)])
        ended = [(id_, view.finished) for id_, view in views.items() if view.finished is not None]
        _FINISHED.run(connection, [value for row in ended for value in row])
        _KEYS.run(connection, [value for row in self._keys.values() for value in _key_row(row)])
        if self._inbox_done:
            connection.executemany("DELETE FROM inbox WHERE id = ?", [(id_,) for id_ in self._inbox_done])
        if self._inbox_new:
            connection.executemany("INSERT INTO inbox (task, kind, body) VALUES (?, ?, ?)", self._inbox_new)

    def _flush_entries(self) -> None:
        _ENTRIES.run(self.connection, self._entries)
        self._entries = []
        self._pending = {}

    def _row(self, held: Held) -> tuple[Any, ...]:
        view = held.view
        granted = view.granted
        return (
            held.id, held.task, *view.promised, *view.tip.fence, view.tip.seq, bytes.fromhex(view.tip.hash),
            view.committed, granted and granted.n, granted and granted.session, view.granted_until_ms,
            granted and self._boot, held.terminal_seq, view.purged,
            held.released,
        )  # fmt: skip


def held_of(row: Sequence[Any], boot: str) -> Held:
    """A handoff's rows from its stored row (all columns in the schema's order)."""
    granted = Fence(row[9], row[10]) if row[9] is not None and row[12] == boot else None
    view = VoterView(
        promised=Fence(row[2], row[3]),
        tip=Tip(Fence(row[4], row[5]), row[6], row[7].hex()),
        committed=row[8],
        granted=granted,
        granted_until_ms=row[11] if granted else 0,
        purged=bool(row[14]),
    )
    return Held(row[0], row[1], view, row[13], bool(row[15]))


def _flatten(base: int, add: Sequence[Entry], held: Held, cut_from: int | None) -> tuple[list[Any], int, bool]:
    flat: list[Any] = []
    terminal_seq, released = held.terminal_seq, held.released
    if cut_from is not None:
        terminal_seq, released = (0 if terminal_seq >= cut_from else terminal_seq), False
    for seq, fence, kind, at, body_hash, prev, digest, body in add:
        flat += (
            base + seq, fence.n, fence.session, kind.value, at,
            bytes.fromhex(body_hash), bytes.fromhex(prev), bytes.fromhex(digest), body,
        )  # fmt: skip
        if kind in _TELLING:
            released = kind is Kind.ORPHANED
            if not terminal_seq and kind in TERMINAL:
                terminal_seq = seq
    return flat, terminal_seq, released


def _task_row(id_: int, view: TaskView) -> tuple[Any, ...]:
    return (
        id_, view.task_id, view.tenant, view.principal, view.context_id, view.state, view.task_state,
        view.status_at, view.listed,
    )  # fmt: skip


def _key_row(row: KeyRow) -> tuple[Any, ...]:
    return row.key_hash, row.generation, row.task_id, row.intent, row.answered
