"""One lock file per session: the kernel frees its lock when the process dies, however it dies.

The failure this prevents: waiting out a lease although the host itself knows that its holder is gone. This file
must not know what a session owns. A file that somebody removed says nothing, and neither does one that cannot be
looked at: only a lock that could be had shows that its holder is gone.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from enum import Enum
from pathlib import Path


class Hold(Enum):
    """What a session's lock file shows."""

    HELD = "held"  # or nobody can tell
    FREE = "free"  # its process is gone
    MISSING = "missing"  # released, or removed by somebody: no evidence by itself


class SessionLocks:
    """The lock files of one store.

    Args:
        directory: where they are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mine: dict[str, int] = {}

    def create(self) -> None:
        """Make the directory."""
        self._directory.mkdir(mode=0o700, exist_ok=True)

    def hold(self, session: str) -> None:
        """Create and lock a new session's file.

        Raises:
            OSError: it cannot be created.
        """
        file = self._file(session)
        locked = file.with_suffix(".new")  # it appears under its name locked: nobody sees it free in between
        descriptor = os.open(locked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked.replace(file)
        except BaseException:
            os.close(descriptor)
            raise
        former = self._mine.pop(session, None)
        self._mine[session] = descriptor
        if former is not None:
            os.close(former)

    def keep(self, session: str) -> None:
        """Make a lock file of this process again if somebody has removed or replaced it.

        Raises:
            OSError: it is gone and cannot be made.
        """
        descriptor = self._mine.get(session)
        if descriptor is None:
            return
        with suppress(FileNotFoundError):
            if os.path.samestat(self._file(session).stat(), os.fstat(descriptor)):
                return
        self.create()
        self.hold(session)

    def look(self, session: str) -> Hold:
        """What a session's lock file shows."""
        if session in self._mine:
            return Hold.HELD
        try:
            descriptor = os.open(self._file(session), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return Hold.MISSING
        except OSError:  # out of descriptors, say
            return Hold.HELD
        try:
            # Shared, so that two who look at once do not take each other for the holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return Hold.HELD
        finally:
            os.close(descriptor)
        return Hold.FREE

    def wait(self, session: str) -> None:
        """Block until no process holds a session's lock.

        Raises:
            OSError: there is nothing to wait for, or it cannot be waited for.
        """
        descriptor = os.open(self._file(session), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def let_go(self, session: str) -> None:
        """Free a session's lock."""
        descriptor = self._mine.pop(session, None)
        if descriptor is not None:
            self.remove(session)
            os.close(descriptor)

    def remove(self, session: str) -> None:
        """Delete the file of a session that is gone."""
        with suppress(OSError):
            self._file(session).unlink()

    def close(self) -> None:
        """Free every lock of this process; the files stay, as after its death."""
        for descriptor in self._mine.values():
            os.close(descriptor)
        self._mine.clear()

    def _file(self, session: str) -> Path:
        return self._directory / f"{session}.lock"
