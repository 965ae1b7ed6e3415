"""Reading a journal in pieces: so many entries, and so many bytes, at once.

What is read at once is in memory several times for a moment: as rows, as text, as entries. The failures this
prevents: an answer larger than SQLite makes, and a reader that costs many times what it goes through.

A piece is fetched as one text row: sqlite3 gives the interpreter lock away once per row, and beside a busy event
loop a thousand rows would take a thousand switch intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, OperationalError

from bridge.journal import Entry, Fence, Kind
from sidecar.errors import StoreCorrupt
from sidecar.store.schema import SEQ_BITS

PIECE_BYTES = 1 << 20
"""Bodies that are read at once, apart from one that is larger by itself."""

_SEQ_MASK = (1 << SEQ_BITS) - 1
_KINDS = {kind.value: kind for kind in Kind}
_SIZES = f"""
SELECT json_group_array(size) FROM (SELECT coalesce(length(e.body), 0) AS size FROM handoffs h JOIN entries e
ON e.position > (h.id << {SEQ_BITS}) + ? AND e.position <= (h.id << {SEQ_BITS}) + h.committed
WHERE h.task = ? ORDER BY e.position LIMIT ?)
"""  # noqa: S608
_JOURNAL = f"""
SELECT e.position, e.fence_n, e.fence_session, e.kind, e.at, e.body_hash, e.prev, e.hash, e.body
FROM handoffs h JOIN entries e
ON e.position > (h.id << {SEQ_BITS}) + ? AND e.position <= (h.id << {SEQ_BITS}) + h.committed
WHERE h.task = ? ORDER BY e.position LIMIT ?
"""  # noqa: S608
_JOURNAL_AT_ONCE = f"""
SELECT json_group_array(json_array(
    position, fence_n, fence_session, kind, at, lower(hex(body_hash)), lower(hex(prev)), lower(hex(hash)),
    CAST(body AS TEXT)))
FROM ({_JOURNAL})
"""  # noqa: S608


def entries(connection: Connection, task: str, after: int, limit: int) -> list[Entry]:
    """Entries after a position, all of them up to ``limit``."""
    found: list[Entry] = []
    more = True
    while more and len(found) < limit:
        some, more = piece(connection, task, after, limit - len(found), PIECE_BYTES)
        found += some
        after = found[-1].seq if found else after
    return found


def piece(connection: Connection, task: str, after: int, limit: int, bytes_max: int) -> tuple[list[Entry], bool]:
    """Entries that are not more than so many bytes, one at least, and whether they were cut there."""
    sizes = orjson.loads(connection.exec_driver_sql(_SIZES, (after, task, limit)).scalar_one())
    fitting = sum(1 for size in accumulate(sizes) if size <= bytes_max) or min(len(sizes), 1)
    read = _read(connection, task, after, fitting) if fitting else []
    return read, bool(read) and fitting < len(sizes)


def _read(connection: Connection, task: str, after: int, limit: int) -> list[Entry]:
    try:
        try:
            rows = orjson.loads(connection.exec_driver_sql(_JOURNAL_AT_ONCE, (after, task, limit)).scalar_one())
        except (
            OperationalError,
            DataError,
            ValueError,
        ):  # no text (someone wrote into the file), or too much of it
            rows = [
                (*row[:5], row[5].hex(), row[6].hex(), row[7].hex(), row[8])
                for row in connection.exec_driver_sql(_JOURNAL, (after, task, limit))
            ]
        return [_entry(row) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt(f"task {task}: an entry after {after} is damaged: {error}") from error


def _entry(row: Sequence[Any]) -> Entry:
    position, n, session, kind, at, body_hash, prev, digest, body = row
    stored = body.encode() if isinstance(body, str) else body
    return Entry(position & _SEQ_MASK, Fence(n, session), _KINDS[kind], at, body_hash, prev, digest, stored)
