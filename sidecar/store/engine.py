"""Opening a store: is it ours, is it safe there, does it have this release's schema.

Any number of processes may open a fresh store at once: one at a time passes a file lock, the first one creates the
schema in one transaction, the others find it there. This file must not know what the tables mean. The failures it
prevents: two processes that migrate at once, another program's file taken for a store, an older release writing
into a newer one's file, and locks that a network file system only pretends to give.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from sidecar.errors import NetworkFilesystem, SchemaNewer, StoreCorrupt, StoreError, StoreUnavailable
from sidecar.store.connect import beside, reading_engine, writing_engine
from sidecar.store.faults import translated
from sidecar.store.identity import identify, place_of_file
from sidecar.store.schema import APPLICATION_ID

SCHEMA_HEAD = "gist"
"""Revision of the newest migration; a test compares it with the migrations directory."""

OPEN_WAIT_S = 15.0

_MIGRATIONS = Path(__file__).with_name("migrations")
_MAGIC = b"SQLite format 3\x00"
_NETWORK = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.ceph", "fuse.cephfs", "fuse.glusterfs", "fuse.rclone",
        "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs",
        "smb3", "smbfs",
    }
)  # fmt: skip


def check(path: Path) -> None:
    """Refuse a path under which no store can be, before anything stands beside it; makes its directory.

    Raises:
        NetworkFilesystem, StoreCorrupt, StoreReadOnly, StoreUnavailable: see their classes.
    """
    with translated(f"opening the store {path}"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_filesystem(path)
        check_format(path)


def prepare(path: Path, *, restored: bool = False) -> str:
    """Make a store's file ready for this release: create it, migrate it, or refuse it.

    Args:
        path: the database.
        restored: whoever put the file there says that it is an old copy.

    Returns:
        The id under which it votes (``bridge.voterid``).

    Raises:
        NetworkFilesystem, StoreCorrupt, SchemaNewer, StoreReadOnly, StoreFull, StoreUnavailable: see their
        classes.
    """
    check(path)
    with translated(f"opening the store {path}"), _one_at_a_time(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            place = place_of_file(descriptor)
        finally:
            os.close(descriptor)
        engine = writing_engine(path)
        try:
            return _in_time(lambda: _migrate(engine, path, place, restored=restored))
        finally:
            engine.dispose()


def recognise(path: Path) -> None:
    """Check without writing that a file is a store which this release can read.

    Raises:
        StoreCorrupt, SchemaNewer: it is not.
    """
    with translated(f"reading the store {path}"):
        check_format(path)
        engine = reading_engine(path, 1)
        try:
            with engine.connect() as connection:
                if check_schema(connection, path) != SCHEMA_HEAD:
                    raise StoreError(f"{path} has an older schema", "start a sidecar on it once, or use a copy")
        finally:
            engine.dispose()


def check_filesystem(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> None:
    """Refuse network file systems: their locks and shared memory cannot be trusted.

    Args:
        path: the store's file; it need not exist.
        mounts: the mount table (proc(5), ``mountinfo``).

    Raises:
        NetworkFilesystem: the file would lie on one.
    """
    real, best, kind = path.parent.resolve(), "", ""
    for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields, _, rest = line.partition(" - ")
        where = fields.split(" ")[4].encode().decode("unicode_escape")
        # Later lines are mounted over earlier ones.
        if real.is_relative_to(where) and len(where) >= len(best):
            best, kind = where, rest.split(" ")[0]
    if kind in _NETWORK:
        raise NetworkFilesystem(
            f"{path} lies on {best}, a {kind} file system",
            "put the store on a local disk; to share handoffs between hosts use peers",
        )


def check_format(path: Path) -> None:
    """Refuse what is not a database file. An empty or missing file is fine.

    Raises:
        StoreCorrupt: it is something else.
    """
    if path.is_dir():
        raise StoreCorrupt(f"{path} is a directory", "name a file")
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise StoreCorrupt(f"{path} is not a database", "name another file; this one is left as it is")


def check_schema(connection: Connection, path: Path) -> str | None:
    """Which schema a database has.

    Returns:
        Its revision; None for an empty database.

    Raises:
        StoreCorrupt: another program's database. SchemaNewer: a newer release's.
    """
    ours = connection.exec_driver_sql("PRAGMA application_id").scalar() == APPLICATION_ID
    tables = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars())
    if not tables:
        return None
    if not ours or "alembic_version" not in tables:
        raise StoreCorrupt(
            f"{path} is a database, but not a store", "name another file; this one is left as it is"
        )
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if found is not None and found != SCHEMA_HEAD and not _knows(str(found)):
        raise SchemaNewer(
            f"{path} has schema {found!r}, which this release does not know", "start the newer release on it"
        )
    return found


def _in_time(migrate: Callable[[], str]) -> str:
    """Migrate, however long a stopped process holds the store's write lock, within the time for opening."""
    deadline = time.monotonic() + OPEN_WAIT_S
    while True:
        try:
            return migrate()
        except (sqlite3.OperationalError, DBAPIError) as error:
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise


def _migrate(engine: Engine, path: Path, place: str, *, restored: bool) -> str:
    with engine.connect() as connection:
        check_schema(connection, path)  # first of all: what is not ours stays as it is, its journal mode too
        connection.exec_driver_sql("ROLLBACK")  # the journal mode cannot change inside a transaction
        if connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar() != "wal":
            raise StoreError(f"{path}: this file system does not support SQLite's WAL mode")
    with engine.begin() as connection:
        found = check_schema(connection, path)
        if found != SCHEMA_HEAD:
            connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            _upgrade(connection)
        return identify(connection, place, restored=restored)


def _config() -> Any:
    # Alembic is needed once in a store's life: most processes never load it.
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(f"the schema could not be brought up to date: {error}") from error


def _knows(revision: str) -> bool:
    from alembic.script import ScriptDirectory  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    try:
        return ScriptDirectory.from_config(_config()).get_revision(revision) is not None
    except CommandError:
        return False


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    descriptor = os.open(beside(path, "open"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + OPEN_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreUnavailable(
                        f"{path}: another process has been opening it for {OPEN_WAIT_S:.0f} s",
                        "look for a stopped sidecar on this store",
                    ) from None
                time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)
