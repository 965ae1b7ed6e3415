"""Reading a journal in pieces: so many entries, and so many bytes, at once.

What is read at once is in memory several times for a moment: as rows, as text, as entries. The failures this
prevents: an answer larger than SQLite makes, and a reader that costs many times what it goes through.

A piece is fetched as one text row: sqlite3 gives the interpreter lock away once per row, and beside a busy event
loop a thousand rows would take a thousand switch intervals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, OperationalError

from bridge.journal import Entry, Fence, Kind
from sidecar.errors import StoreCorrupt
from sidecar.store.schema import SEQ_BITS, first_position, last_position

PIECE_BYTES = 1 << 20
"""Bodies that are read at once, apart from one that is larger by itself."""

_SEQ_MASK = (1 << SEQ_BITS) - 1
_KINDS = {kind.value: kind for kind in Kind}
_BOUNDS = f"e.position > (h.id << {SEQ_BITS}) + ? AND e.position <= (h.id << {SEQ_BITS}) + "


class _Statements:
    """The statements that read entries: after which position, of which task, how many at most.

    Args:
        upto: the last position that may be read, as SQL.
    """

    def __init__(self, upto: str) -> None:
        bounds = f"{_BOUNDS}{upto} WHERE h.task = ? ORDER BY e.position LIMIT ?"
        self.sizes = f"""
SELECT json_group_array(size) FROM (SELECT coalesce(length(e.body), 0) AS size FROM handoffs h JOIN entries e
ON {bounds})
"""  # noqa: S608
        self.rows = f"""
SELECT e.position, e.fence_n, e.fence_session, e.kind, e.at, e.body_hash, e.prev, e.hash, e.body
FROM handoffs h JOIN entries e ON {bounds}
"""  # noqa: S608
        self.at_once = f"""
SELECT json_group_array(json_array(
    position, fence_n, fence_session, kind, at, lower(hex(body_hash)), lower(hex(prev)), lower(hex(hash)),
    CAST(body AS TEXT)))
FROM ({self.rows})
"""  # noqa: S608


_COMMITTED, _STORED = _Statements("h.committed"), _Statements("h.tip_seq")
_WHOLE = """
SELECT position, fence_n, fence_session, kind, at, body_hash, prev, hash, body FROM entries
WHERE position BETWEEN ? AND ? ORDER BY position
"""
_HASH = f"""
SELECT lower(hex(e.hash)) FROM handoffs h JOIN entries e ON e.position = (h.id << {SEQ_BITS}) + ? WHERE h.task = ?
"""  # noqa: S608


def entries(connection: Connection, task: str, after: int, limit: int) -> list[Entry]:
    """Committed entries after a position, all of them up to ``limit``."""
    found: list[Entry] = []
    more = True
    while more and len(found) < limit:
        some, more = piece(connection, task, after, limit - len(found), PIECE_BYTES)
        found += some
        after = found[-1].seq if found else after
    return found


def piece(
    connection: Connection, task: str, after: int, limit: int, bytes_max: int, *, committed: bool = True
) -> tuple[list[Entry], bool]:
    """Entries that are not more than so many bytes, one at least, and whether they were cut there.

    Args:
        connection: reads.
        task: task id.
        after: position.
        limit: how many at most.
        bytes_max: of bodies.
        committed: only what is committed.
    """
    statements = _COMMITTED if committed else _STORED
    sizes = orjson.loads(connection.exec_driver_sql(statements.sizes, (after, task, limit)).scalar_one())
    fitting = sum(1 for size in accumulate(sizes) if size <= bytes_max) or min(len(sizes), 1)
    read = _read(connection, statements, task, after, fitting) if fitting else []
    return read, bool(read) and fitting < len(sizes)


def hash_at(connection: Connection, task: str, seq: int) -> str | None:
    """Hash of the stored entry at a position, committed or not."""
    found: str | None = connection.exec_driver_sql(_HASH, (seq, task)).scalar_one_or_none()
    return found


def journal(connection: sqlite3.Connection, handoff: int) -> list[Entry]:
    """All that is stored of a short journal, inside of a writer's transaction."""
    rows = connection.execute(_WHOLE, (first_position(handoff), last_position(handoff)))
    return [_entry((*row[:5], row[5].hex(), row[6].hex(), row[7].hex(), row[8])) for row in rows]


def _read(connection: Connection, statements: _Statements, task: str, after: int, limit: int) -> list[Entry]:
    try:
        try:
            text = connection.exec_driver_sql(statements.at_once, (after, task, limit)).scalar_one()
            rows = orjson.loads(text)
        except (OperationalError, DataError, ValueError):
            # no text (someone wrote into the file), or too much of it
            rows = [
                (*row[:5], row[5].hex(), row[6].hex(), row[7].hex(), row[8])
                for row in connection.exec_driver_sql(statements.rows, (after, task, limit))
            ]
        return [_entry(row) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt(f"task {task}: an entry after {after} is damaged: {error}") from error


def _entry(row: Sequence[Any]) -> Entry:
    position, n, session, kind, at, body_hash, prev, digest, body = row
    stored = body.encode() if isinstance(body, str) else body
    return Entry(position & _SEQ_MASK, Fence(n, session), _KINDS[kind], at, body_hash, prev, digest, stored)
