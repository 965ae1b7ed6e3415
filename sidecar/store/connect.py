"""Connections to a store's files: where they are, which pragmas they get, how SQLAlchemy uses them.

SQLite runs in WAL mode with ``synchronous=FULL``: a commit returns after its fsync, readers never wait for the
writer. Transactions are begun explicitly (the driver's own guesses begin too late for a conditional write).
This file must not know the tables. The failure it prevents: a connection that acknowledges before the disk has it.

Trade-off: ``wal_autocheckpoint`` at 4,000 pages (16 MiB) instead of SQLite's 1,000: a streamed page is written
back less often, the WAL file stays larger.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from sidecar.errors import ConfigError

BUSY_TIMEOUT_MS = 2000
CHECKPOINT_PAGES = 4000
STATEMENTS_CACHED = 256


def path_of(url: str | Path) -> Path:
    """The file that a store URL names.

    Args:
        url: ``sqlite:///relative``, ``sqlite:////absolute``, or a plain path.

    Raises:
        ConfigError: another kind of store.
    """
    text = str(url)
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///")
    elif "://" in text:
        raise ConfigError(f"{text}: not a store this release knows", "use sqlite:///path/to/journal.db")
    if not text or text == ":memory:":
        raise ConfigError("a store needs a file", "use sqlite:///path/to/journal.db")
    return Path(text).absolute()


def beside(path: Path, suffix: str) -> Path:
    """A file that belongs to a store: its path with ``-suffix`` behind the name."""
    return path.with_name(f"{path.name}-{suffix}")


def place_of(path: Path) -> tuple[int, int]:
    """Which file stands under a path: (device, inode).

    Raises:
        OSError: none.
    """
    found = path.stat()
    return found.st_dev, found.st_ino


def connect(
    path: Path, *, readonly: bool = False, create: bool = True, synchronous: str = "FULL"
) -> sqlite3.Connection:
    """A driver connection in autocommit: transactions are begun explicitly.

    Args:
        path: the database file.
        readonly: refuse every write on this connection.
        create: make the file if it is missing, unless ``readonly``.
        synchronous: SQLite's level; FULL for anything that is acknowledged.

    Raises:
        sqlite3.Error: to be translated by the caller.
    """
    mode = "ro" if readonly else "rwc" if create else "rw"
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_MS / 1000,
        cached_statements=STATEMENTS_CACHED,
    )
    try:
        if not readonly:
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def reading_engine(path: Path, threads: int) -> Engine:
    """SQLAlchemy over read-only connections, one per reading thread. Each statement is a snapshot of its own.

    A connection to a file that was since replaced is made anew before its next use.
    """
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(path, readonly=True),
        poolclass=QueuePool,
        pool_size=threads,
        max_overflow=threads,
    )

    def checked_out(_: object, record: ConnectionPoolEntry, __: object) -> None:
        place = place_of(path)
        if record.info.setdefault("place", place) != place:
            raise DisconnectionError(f"{path} was replaced")

    event.listen(engine, "checkout", checked_out)
    return engine


def writing_engine(path: Path, *, synchronous: str = "FULL") -> Engine:
    """SQLAlchemy over one writing connection; every transaction may write from its first statement."""
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(path, synchronous=synchronous),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine
