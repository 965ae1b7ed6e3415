"""The sessions' file: who registered, when each renewed, who was replaced by a newer boot.

It is a database of its own, so that a renewal never waits behind appends. Ages are by CLOCK_BOOTTIME and only
within one boot of the host: a row from another boot belongs to a process that is gone. It is not synced at
renewals: after a power cut nothing in it matters but the boot counters. This file must not know what a lease
means beyond asking ``bridge.lease``. The failure it prevents: two sessions of one name that both believe to be
the newest.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.lease import LEASE_MARGIN_MS, LEASE_TTL_MS, Lease, may_claim
from sidecar.failpoints import reach
from sidecar.store.connect import beside, connect, place_of
from sidecar.store.faults import translated
from sidecar.store.hosttime import boot_id, now_ms
from sidecar.store.sessionlocks import Hold, SessionLocks
from sidecar.store.sessionrow import Renewal, Session, SessionRow

KEPT_MS = 3_600_000
"""Rows of sessions that are gone are kept for an hour: for the console, and as evidence.

Silence alone does not end a session: its process may have been stopped, or its disk full, for longer than that."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    session TEXT PRIMARY KEY, name TEXT NOT NULL, boot INTEGER NOT NULL, group_name TEXT NOT NULL,
    role TEXT NOT NULL, url TEXT NOT NULL, address TEXT NOT NULL, host_boot TEXT NOT NULL,
    renewed_ms INTEGER NOT NULL, ready INTEGER NOT NULL DEFAULT 0, draining INTEGER NOT NULL DEFAULT 0,
    capacity INTEGER NOT NULL DEFAULT 0, released INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_name ON sessions (name, boot);
CREATE TABLE IF NOT EXISTS boots (name TEXT PRIMARY KEY, boot INTEGER NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = (
    "session, name, s.boot, group_name, role, url, address, host_boot, renewed_ms, ready, draining, "
    "capacity, released"
)
_ROWS = f"""
SELECT {_COLUMNS}, s.boot < (SELECT b.boot FROM boots b WHERE b.name = s.name) AS fenced FROM sessions s
"""  # noqa: S608
_RENEW = """
UPDATE sessions SET renewed_ms = ?, ready = ?, draining = ?, capacity = ?, group_name = coalesce(?, group_name)
WHERE session = ? AND released = 0 AND host_boot = ?
AND boot = (SELECT b.boot FROM boots b WHERE b.name = sessions.name)
"""
_NEXT_BOOT = """
INSERT INTO boots (name, boot) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET boot = boot + 1 RETURNING boot
"""
_REGISTER = """
INSERT INTO sessions (session, name, boot, group_name, role, url, address, host_boot, renewed_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_OLD = "SELECT session FROM sessions WHERE session != ? AND (host_boot != ? OR renewed_ms < ?)"
_NEWEST = """
SELECT max(
    (SELECT count(*) FROM sessions WHERE session = ?),
    coalesce((SELECT boot > ? FROM boots WHERE name = ?), 0))
"""
_BOOT_AGAIN = """
INSERT INTO boots (name, boot) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET boot = max(boot, excluded.boot)
"""


class SessionFile:
    """The sessions of one store; thread safe, and blocking: ``Sessions`` is its face towards the event loop.

    Args:
        path: the store's database; the sessions' file and lock files stand beside it.
        ttl_ms: how long a renewal lasts.
        margin_ms: what others add to it.
    """

    def __init__(self, path: Path, ttl_ms: int = LEASE_TTL_MS, margin_ms: int = LEASE_MARGIN_MS) -> None:
        self._path = beside(path, "sessions")
        self._locks = SessionLocks(beside(path, "locks"))
        self._ttl_ms, self._margin_ms = ttl_ms, margin_ms
        self._host_boot = boot_id()
        self._mutex = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        self._mine: dict[str, tuple[str, int, tuple[str, str, str, str]]] = {}
        with translated(f"opening {self._path}"):
            self._locks.create()
            self._execute("SELECT 1")

    def register(self, name: str, *, group: str = "", role: str = "", url: str = "", address: str = "") -> Session:
        """Begin a session; older ones of this name are fenced from now on.

        Raises:
            StoreError: nothing was registered.
        """
        session, described = secrets.token_hex(16), (group, role, url, address)
        with translated(f"registering {name!r} in {self._path}"):
            self._locks.hold(session)
            try:
                with self._mutex:
                    boot = self._register(session, name, described)
            except BaseException:
                self._locks.let_go(session)
                raise
        self._mine[session] = name, boot, described
        return Session(session, name, boot)

    def _register(self, session: str, name: str, described: tuple[str, str, str, str]) -> int:
        connection = self._open()
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            (boot,) = connection.execute(_NEXT_BOOT, (name,)).fetchone()
            connection.execute(_REGISTER, (session, name, boot, *described, self._host_boot, now_ms()))
            old = connection.execute(_OLD, (session, self._host_boot, now_ms() - KEPT_MS)).fetchall()
            gone = [row for row in old if self._locks.look(row[0]) is not Hold.HELD]
            connection.executemany("DELETE FROM sessions WHERE session = ?", gone)
        for (each,) in gone:
            self._locks.remove(each)
        return int(boot)

    def renew(
        self,
        session: str,
        *,
        ready: bool = True,
        draining: bool = False,
        capacity: int = 0,
        group: str | None = None,
    ) -> Renewal:
        """Renew a session.

        Args:
            session: as registered.
            ready: the agent can be used.
            draining: the sidecar is leaving.
            capacity: how many more handoffs it would take.
            group: the agent group, which may become known only when the agent's card was read; None leaves it.

        Raises:
            StoreError: unknown, not lost.
        """
        reach("session.before_renew")
        with suppress(OSError):  # a renewal in time says as much as the lock file, which is tried again
            self._locks.keep(session)
        values = (now_ms(), ready, draining, capacity, group, session, self._host_boot)
        for _ in range(2):
            if self._execute(_RENEW, values).rowcount == 1:
                return Renewal.RENEWED
            with self._mutex, translated(f"renewing {session} in {self._path}"):
                if not self._again(session):
                    break
        return Renewal.FENCED

    def _again(self, session: str) -> bool:
        """Enter a session that was forgotten, unless it is there or a newer one of its name is."""
        if session not in self._mine:
            return False
        name, boot, described = self._mine[session]
        connection = self._open()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            (newer,) = connection.execute(_NEWEST, (session, boot, name)).fetchone()
            if not newer:
                connection.execute(_BOOT_AGAIN, (name, boot))
                connection.execute(_REGISTER, (session, name, boot, *described, self._host_boot, now_ms()))
        return not newer

    def release(self, session: str) -> None:
        """End a session: whoever sees it may take over at once."""
        self._execute("UPDATE sessions SET released = 1 WHERE session = ?", (session,))
        self._mine.pop(session, None)
        self._locks.let_go(session)

    def rows(self, session: str | None = None) -> list[SessionRow]:
        """All sessions, or one."""
        if session is None:
            found = self._execute(f"{_ROWS} ORDER BY name, s.boot").fetchall()
        else:
            found = self._execute(f"{_ROWS} WHERE session = ?", (session,)).fetchall()
        now = now_ms()
        return [self._row(row, now) for row in found]

    def blocks(self, session: str) -> bool:
        """Whether a session still keeps others from what it owns, by ``bridge.lease`` on today's facts."""
        rows = self.rows(session)
        if not rows:
            return self._locks.look(session) is Hold.HELD
        row, now = rows[0], now_ms()
        lease = Lease(
            session, now - row.age_ms, self._ttl_ms, self._margin_ms, self._host_boot if row.this_boot else "-"
        )
        return not may_claim(lease, row.evidence, now, boot=self._host_boot)

    def wait_for_death(self, session: str) -> None:
        """Block until no process holds a session's lock; from any thread."""
        self._locks.wait(session)

    def close(self) -> None:
        """Let go of everything; sessions that were not released look as if their process had died."""
        self._locks.close()
        with self._mutex:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _row(self, row: Any, now: int) -> SessionRow:
        (session, name, boot, group, role, url, address, host_boot, renewed, *flags) = row
        ready, draining, capacity, released, fenced = flags
        age_ms, hold = max(0, now - renewed), self._locks.look(session)
        # Who renewed in time lives, whoever removed its lock file.
        silent = released or age_ms >= self._ttl_ms + self._margin_ms
        free = hold is Hold.FREE or (hold is Hold.MISSING and bool(silent))
        return SessionRow(
            session, name, boot, group, role, url, address, bool(ready), bool(draining), capacity,
            age_ms, host_boot == self._host_boot, free, bool(fenced), bool(released),
        )  # fmt: skip

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._place != self._there():
            self._connection.close()  # the file was removed or replaced
            self._connection = None
        if self._connection is None:
            with suppress(FileExistsError):  # an existing file is not opened: closing it would drop SQLite's locks
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            connection = connect(self._path, synchronous="NORMAL")
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(_SCHEMA)
            except BaseException:
                connection.close()
                raise
            self._connection, self._place = connection, self._there()
        return self._connection

    def _there(self) -> tuple[int, int] | None:
        try:
            return place_of(self._path)
        except FileNotFoundError:
            return None

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with self._mutex, translated(f"using {self._path}"):
            try:
                return self._open().execute(statement, values)
            except sqlite3.Error:
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                raise
