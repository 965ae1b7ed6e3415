"""A write transaction's working set: voters' rows read once, decided on in memory, written in few statements.

sqlite3 gives the interpreter lock away on every statement, and under load each return costs up to a switch
interval. So operations change these rows in memory and ``flush`` writes a batch of any size with a handful of
multi-row statements. This file must not know the rules of claims and appends. The failures it prevents: a
decision made on a row that another process has changed since, and a convoy of thousands of tiny statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from bridge.gist import TELLING
from bridge.journal import Entry, Fence, Kind
from bridge.quorum import VoterView
from sidecar.records import KeyRow, Riders, TaskView
from sidecar.store.bulk import Bulk
from sidecar.store.changes import Changes
from sidecar.store.held import COLUMNS, NOTHING, Held, flatten, held_of, row_of, told
from sidecar.store.heldback import HeldBack, Later
from sidecar.store.pieces import journal
from sidecar.store.schema import first_position, last_position

HELD_MAX = 4_000

_READ_HANDOFF = f"SELECT {COLUMNS} FROM handoffs WHERE task = ?"  # noqa: S608
_ENTRIES = Bulk("entries", "position, fence_n, fence_session, kind, at, body_hash, prev, hash, body")
_KINDS = {kind.value: kind for kind in TELLING}
_TELLING = f"""
SELECT position, kind FROM entries WHERE position BETWEEN ? AND ?
AND kind IN ({", ".join(f"'{name}'" for name in sorted(_KINDS))}) ORDER BY position
"""  # noqa: S608
_HANDOFFS = Bulk("handoffs", COLUMNS, key="id", fixed="task")
_TASKS = Bulk(
    "tasks", "handoff, task, tenant, principal, context_id, state, task_state, status_at, listed", key="handoff"
)
_FINISHED = Bulk("finished", "handoff, body", key="handoff")
_KEYS = Bulk("keys", "key_hash, generation, task, intent, answered", key="key_hash, generation")


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
        self._held_back = HeldBack()
        self._clear()

    def _clear(self) -> None:
        self._dirty: dict[int, Held] = {}
        self._entries: list[Any] = []
        self._pending: dict[int, list[Entry]] = {}
        self._views: dict[int, TaskView] = {}
        self._keys: dict[tuple[str, int], KeyRow] = {}
        self._inbox_done: list[int] = []
        self._inbox_new: list[tuple[str, str, bytes]] = []
        self._due: dict[str, int] = {}
        self._touched: dict[str, None] = {}
        self._moved: dict[str, None] = {}
        self._urgent = False

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
        for task, committed in self._due.items():  # of the last transaction, which is on disk
            self._held_back.forget(task, committed)
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

    def journal(self, held: Held) -> list[Entry]:
        """A whole journal as it stands in this transaction."""
        self._flush_entries()
        return journal(self.connection, held.id)

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
        flat, telling = flatten(first_position(id_), add)
        gist, terminal_seq = held.gist, held.terminal_seq
        if cut_from is not None:
            self._cut(held, cut_from)
            gist, terminal_seq = told(NOTHING, 0, self._telling(held))
        if telling:
            gist, terminal_seq = told(gist, terminal_seq, telling)
        if held.id == 0:
            held.id = id_
            self._next_id = id_ + 1
            self._held[held.task] = held
        self._urgent |= gist.released and not held.gist.released
        held.view, held.terminal_seq, held.gist = view, terminal_seq, gist
        self._dirty[id_] = held
        self._touched[held.task] = None
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

    def _telling(self, held: Held) -> list[tuple[int, Kind]]:
        bounds = first_position(held.id), last_position(held.id)
        return [
            (position - bounds[0], _KINDS[kind]) for position, kind in self.connection.execute(_TELLING, bounds)
        ]

    def show(self, held: Held, view: TaskView) -> None:
        """Write the row that reads use, unless it is as it was."""
        if held.task_view != view:
            # A finished Task may be large and is written once: it is not worth remembering.
            held.task_view = view if view.finished is None else None
            self._views[held.id] = view

    def ride(self, held: Held, fence: Fence, seq: int, riders: Riders) -> None:
        """Take in what came with an append to one voter of several: the keys now, the rest once it is committed.

        Args:
            held: the handoff's rows, as they are with the append.
            fence: that it came under.
            seq: position of its last entry.
            riders: what came with it.
        """
        self.key(riders.keys)
        back, task, committed = self._held_back, held.task, held.view.committed
        back.under(task, fence)
        later = [Later(riders.view_seq, riders.view)] if riders.view is not None else []
        later += [Later(seq, None, riders.inbox)] if riders.inbox else []
        due = back.due(task, committed)
        if due:
            self._due[task] = committed
        for each in (*due, *later):
            if each.seq > committed:
                back.add(task, fence, each)
                continue
            self.inbox_done(each.inbox)
            if each.view is not None and each.seq > held.shown_seq:
                held.shown_seq = each.seq
                self._dirty[held.id] = held
                self.show(held, each.view)

    def moved(self, held: Held) -> None:
        """A peer's word moved what is committed of a handoff: its followers here do not know that yet."""
        self._moved[held.task] = None

    def tell(self, changes: Changes, *, foreign: bool) -> None:
        """The transaction is on disk: add what others may want to know of it."""
        changes.tasks += self._touched
        changes.moved += self._moved
        changes.foreign |= foreign
        changes.urgent |= self._urgent

    def key(self, rows: Iterable[KeyRow]) -> None:
        """Insert or replace message keys."""
        for row in rows:
            self._keys[row.key_hash, row.generation] = row

    def inbox_put(self, task: str, kind: str, body: bytes) -> None:
        """Put something into a handoff's inbox."""
        self._inbox_new.append((task, kind, body))
        self._urgent = True
        self._touched[task] = None

    def inbox_done(self, ids: Sequence[int]) -> None:
        """Delete inbox rows whose entries this transaction adds."""
        self._inbox_done += ids

    def flush(self) -> None:
        """Write everything; the transaction is ready to commit."""
        self._flush_entries()
        connection = self.connection
        _HANDOFFS.run(connection, [value for held in self._dirty.values() for value in row_of(held, self._boot)])
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


def _task_row(id_: int, view: TaskView) -> tuple[Any, ...]:
    return (
        id_, view.task_id, view.tenant, view.principal, view.context_id, view.state, view.task_state,
        view.status_at, view.listed,
    )  # fmt: skip


def _key_row(row: KeyRow) -> tuple[Any, ...]:
    return row.key_hash, row.generation, row.task_id, row.intent, row.answered
