"""Whether the files that a connection has open are still those that stand under their names.

SQLite goes on with files that were removed or replaced under it, and so would acknowledge what no later process
can read. A replaced database is opened anew, unless this process votes among peers by it: another file is another
voter. A removed log cannot be: every process of the store shares the old one's index, and whoever began a new log
beside them would write over them. So what the old log holds is brought into the database while somebody still has
it open, and nothing more is acknowledged until the sidecars were started again. This file must not know what is
stored.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from sidecar.errors import StoreUnavailable
from sidecar.store.connect import beside, place_of


class InPlace:
    """The database and the log of one writer.

    Args:
        path: the database.
        replaceable: it may become another file while this process runs.
    """

    def __init__(self, path: Path, *, replaceable: bool = True) -> None:
        self._path, self._log = path, beside(path, "wal")
        self._replaceable = replaceable
        self._database: tuple[int, int] | None = None
        self._opened: tuple[int, int] | None = None
        self._lost: StoreUnavailable | None = None

    def moved(self) -> bool:
        """Whether the database is another file than at the last call; a new one begins with a new log.

        Raises:
            OSError: there is none.
            StoreUnavailable: it is, and that may not be.
        """
        place = place_of(self._path)
        if place == self._database:
            return False
        if self._database is not None and not self._replaceable:
            told = f"{self._path} was replaced under a running voter: another file has forgotten its promises"
            raise StoreUnavailable(told, "start the sidecar again")
        self._database, self._opened, self._lost = place, None, None
        return True

    def begun(self) -> None:
        """A transaction has begun: the log is open and stays the same file until the last connection closes."""
        if self._opened is None:
            with suppress(FileNotFoundError):
                self._opened = place_of(self._log)

    def closed(self) -> None:
        """The connection is closed; the last one of all takes the log along."""
        if self._lost is None:
            self._opened = None

    def check(self, connection: sqlite3.Connection | None) -> None:
        """See that the log is in place.

        Args:
            connection: has the log open.

        Raises:
            StoreUnavailable: it was removed; said again until the database is another one.
        """
        if self._lost is None and self._opened is not None and self._opened != self._there():
            told = f"{self._log} was removed under a running sidecar: nothing more is written to {self._path}"
            self._lost = StoreUnavailable(told, "start every sidecar of this store again; leave the file to them")
            if connection is not None and self._there() is None:
                with suppress(sqlite3.Error):
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if self._lost is not None:
            raise StoreUnavailable(self._lost.message, self._lost.hint)

    def _there(self) -> tuple[int, int] | None:
        try:
            return place_of(self._log)
        except FileNotFoundError:
            return None
