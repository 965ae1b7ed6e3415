"""SQLite's, SQLAlchemy's and the system's errors, translated to the tree in one place.

Everything in this package that touches a database or a file does so inside ``translated``. The failure it
prevents: a caller that must know sqlite3 to find out whether a retry helps.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sidecar.errors import (
    SidecarError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_BY_CODE: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: StoreUnavailable,
    sqlite3.SQLITE_LOCKED: StoreUnavailable,
    sqlite3.SQLITE_PROTOCOL: StoreUnavailable,
    sqlite3.SQLITE_CANTOPEN: StoreUnavailable,
    sqlite3.SQLITE_IOERR: StoreUnavailable,
    sqlite3.SQLITE_NOMEM: StoreUnavailable,
    sqlite3.SQLITE_INTERRUPT: StoreUnavailable,
    sqlite3.SQLITE_PERM: StoreReadOnly,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_CORRUPT: StoreCorrupt,
    sqlite3.SQLITE_NOTADB: StoreCorrupt,
}
# SQLite reports a shared memory file that cannot grow as an I/O error.
_BY_EXTENDED_CODE: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFull,
    sqlite3.SQLITE_IOERR_CORRUPTFS: StoreCorrupt,
}
_BY_ERRNO: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
    errno.EACCES: StoreReadOnly,
    errno.EPERM: StoreReadOnly,
}
_HINTS: dict[type[StoreError], str] = {
    StoreFull: "make room on the store's file system",
    StoreReadOnly: "give this user the right to read and write the store's files and their directory",
    StoreUnavailable: "the same call may work in a moment",
    StoreCorrupt: "restore the file from a copy, or check it with `dhp-sidecar verify`",
}


def translate(error: BaseException, doing: str) -> StoreError:
    """The error of the tree that stands for a library's one.

    Args:
        error: from sqlite3, SQLAlchemy or the system.
        doing: what was attempted, on which file: the beginning of the message.
    """
    if isinstance(error, DBAPIError) and error.orig is not None:
        return translate(error.orig, doing)
    kind: type[StoreError] = StoreError
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # raised by the module itself: a closed connection, a wrong thread
            kind = StoreUnavailable if isinstance(error, sqlite3.ProgrammingError) else StoreError
        else:
            kind = _BY_EXTENDED_CODE.get(code) or _BY_CODE.get(code & 0xFF, StoreError)
    elif isinstance(error, OSError):
        kind = _BY_ERRNO.get(error.errno or 0, StoreUnavailable)
    return kind(f"{doing}: {error}", _HINTS.get(kind, ""))


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Run a block so that only errors of the tree leave it."""
    try:
        yield
    except SidecarError:
        raise
    except (sqlite3.Error, SQLAlchemyError, OSError) as error:
        raise translate(error, doing) from error
