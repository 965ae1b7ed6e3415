"""Disks that stop taking writes and later take them again, under processes that keep their files open.

Modes of files are no fault to root, so these are real ones: a small file system that is full, and files that the
kernel lets nobody write (``chattr +i``). Where the machine does not permit them the test is skipped, with the
reason. This file must not know what lies on the disk.
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20


class Disk:
    """A place for a store, whose writes can be made to fail.

    Attributes:
        store: where the store's file should be.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = directory / "journal.db"

    def fail(self) -> None:
        """From now on nothing can be written."""
        raise NotImplementedError

    def mend(self) -> None:
        """It can be written again. May be called at any time."""
        raise NotImplementedError


class FullDisk(Disk):
    """A file system without a free block."""

    def fail(self) -> None:
        with (self.directory / "filler").open("wb", buffering=0) as filler:
            for size in (MIB, 4096, 1):
                try:
                    while filler.write(b"\0" * size) == size:
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def mend(self) -> None:
        (self.directory / "filler").unlink(missing_ok=True)


class ReadOnlyDisk(Disk):
    """The store's files as they are, immutable."""

    def fail(self) -> None:
        self._change("+i")

    def mend(self) -> None:
        self._change("-i")

    def _change(self, flag: str) -> None:
        # Not what is mapped into memory: whoever writes to an immutable mapping dies of SIGBUS.
        names = ("journal.db", "journal.db-wal", "journal.db-sessions", "journal.db-sessions-wal")
        files = [str(path) for name in names if (path := self.directory / name).exists()]
        if files:
            _permitted(["chattr", flag, *files])


@contextmanager
def full_disk(directory: Path) -> Iterator[FullDisk]:
    """A small file system of its own."""
    directory.mkdir()
    _permitted(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(directory)])
    try:
        yield FullDisk(directory)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=False)


@contextmanager
def read_only_disk(directory: Path) -> Iterator[ReadOnlyDisk]:
    """An ordinary directory."""
    directory.mkdir()
    probe = directory / "probe"
    probe.touch()
    with probe.open("wb", buffering=0) as kept_open:
        _permitted(["chattr", "+i", str(probe)])
        try:
            kept_open.write(b"x")
        except PermissionError:
            pass
        else:
            pytest.skip("immutable files can be written here")
        finally:
            _permitted(["chattr", "-i", str(probe)])
    disk = ReadOnlyDisk(directory)
    try:
        yield disk
    finally:
        disk.mend()


DISKS = {"full": full_disk, "read-only": read_only_disk}


def _permitted(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not permitted: {' '.join(command[:2])}: {done.stderr.strip()}")
