"""One lock file per session: the kernel frees its lock when the process dies, however it dies.

The failure this prevents: waiting out a lease although the host itself knows that its holder is gone. This file
must not know what a session owns.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


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
        descriptor = os.open(self._file(session), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        self._mine[session] = descriptor

    def held(self, session: str) -> bool:
        """Whether a living process holds a session's lock."""
        if session in self._mine:
            return True
        try:
            descriptor = os.open(self._file(session), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            # Shared, so that two who look at once do not take each other for the holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def wait(self, session: str) -> None:
        """Block until no process holds a session's lock."""
        try:
            descriptor = os.open(self._file(session), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
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
        """Free every lock of this process."""
        for session in list(self._mine):
            self.let_go(session)

    def _file(self, session: str) -> Path:
        return self._directory / f"{session}.lock"
