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
from sidecar.store.connect import beside, connect
from sidecar.store.faults import translated
from sidecar.store.hosttime import boot_id, now_ms
from sidecar.store.sessionlocks import SessionLocks
from sidecar.store.sessionrow import Renewal, Session, SessionRow

KEPT_MS = 3_600_000
"""Rows of sessions that are gone are kept for an hour: for the console, and as evidence."""

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
_FORGET = "DELETE FROM sessions WHERE session != ? AND (host_boot != ? OR renewed_ms < ?) RETURNING session"


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
        with translated(f"opening {self._path}"):
            self._locks.create()
            self._execute("SELECT 1")

    def register(self, name: str, *, group: str = "", role: str = "", url: str = "", address: str = "") -> Session:
        """Begin a session; older ones of this name are fenced from now on.

        Raises:
            StoreError: nothing was registered.
        """
        session = secrets.token_hex(16)
        with translated(f"registering {name!r} in {self._path}"):
            self._locks.hold(session)
            try:
                with self._mutex:
                    boot = self._register(session, name, (group, role, url, address))
            except BaseException:
                self._locks.let_go(session)
                raise
        return Session(session, name, boot)

    def _register(self, session: str, name: str, described: tuple[str, str, str, str]) -> int:
        connection = self._open()
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            (boot,) = connection.execute(_NEXT_BOOT, (name,)).fetchone()
            connection.execute(_REGISTER, (session, name, boot, *described, self._host_boot, now_ms()))
            gone = connection.execute(_FORGET, (session, self._host_boot, now_ms() - KEPT_MS)).fetchall()
        for (old,) in gone:
            self._locks.remove(old)
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
        values = (now_ms(), ready, draining, capacity, group, session, self._host_boot)
        changed = self._execute(_RENEW, values).rowcount
        return Renewal.RENEWED if changed == 1 else Renewal.FENCED

    def release(self, session: str) -> None:
        """End a session: whoever sees it may take over at once."""
        self._execute("UPDATE sessions SET released = 1 WHERE session = ?", (session,))
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
            return self._locks.held(session)
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
        return SessionRow(
            session, name, boot, group, role, url, address, bool(ready), bool(draining), capacity,
            max(0, now - renewed), host_boot == self._host_boot, not self._locks.held(session), bool(fenced),
            bool(released),
        )  # fmt: skip

    def _open(self) -> sqlite3.Connection:
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
            self._connection = connection
        return self._connection

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with self._mutex, translated(f"using {self._path}"):
            try:
                return self._open().execute(statement, values)
            except sqlite3.Error:
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                raise
