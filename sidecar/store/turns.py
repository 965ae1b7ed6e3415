"""Turns: the fair lock that processes take before they ask SQLite for its write lock.

SQLite's busy handler sleeps and retries, so the process that has just committed usually wins again and others
starve for seconds. Here every process draws a ticket by locking the next byte of a file beside the database, and
its turn comes when all bytes before its own are free: first come, first served. The kernel frees the bytes of a
process that dies. This file must not know what is written. The failure it prevents: a writer that waits for
seconds although the disk is free.

The lock is courtesy, not safety: SQLite's own lock still decides who writes. So where nobody is served for
``PATIENCE_S`` (a *stopped* process ahead keeps its bytes) the waiting ones go on without it, and do not wait for
those tickets again.

Waiting is a futex on a counter in the file's first bytes, woken by each hand-over, with a short time limit as the
net for a holder that died. Nobody contending: three system calls on the file and one wake-up that finds nobody.

Measured on two cores shared with other work, saturating processes, 8 s each: the longest wait for a commit was
0.9 to 1.2 s with two and 1.9 to 2.1 s with eight on SQLite's own lock alone, 0.16 s and 0.2 to 0.3 s with turns,
at about the same number of entries per second. The interpreter's switch interval counts here: a turn lasts as
long as the writer thread needs, and at the default of 5 ms beside a busy event loop that is four times as long
as at 0.5 ms.

Source: the ticket lock; open file description locks (fcntl(2)) for crash safety.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import struct
import time
from pathlib import Path

PATIENCE_S = 0.4
NET_S = 0.01

_SIZE = 4096
_TICKETS_AT = 1 << 32  # byte ranges of tickets lie far beyond the file's bytes: locks need no bytes below them
_TICKETS = 1 << 61
_FLOCK = struct.Struct("hhqqi4x")
_COUNTERS = struct.Struct("=IIQ")  # hand-overs (the futex), padding, last ticket drawn
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}.get(platform.machine())


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("nsec", ctypes.c_long))


class Turns:
    """The queue of one store, seen from one process. Use from one thread.

    Args:
        path: the file that all processes of the store share; created if missing.

    Attributes:
        waited_s: how long the last ``take`` waited.
        passed: how often patience ran out.

    Raises:
        OSError: the file cannot be created or locked.
    """

    def __init__(self, path: Path) -> None:
        self.waited_s = 0.0
        self.passed = 0
        self._ticket = 0
        self._floor = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(self._file).st_size < _SIZE:
                # Real bytes: touching a hole of a full file system would kill the process (SIGBUS). Growing by
                # zero bytes at the end never changes counters that another process has begun to use.
                os.posix_fallocate(self._file, 0, _SIZE)
            self._shared = mmap.mmap(self._file, _SIZE)
        except BaseException:
            os.close(self._file)
            raise
        self._word = ctypes.c_uint32.from_buffer(self._shared)
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall

    def take(self) -> None:
        """Wait for this process's turn (or until patience runs out)."""
        began = time.monotonic()
        _, _, last = _COUNTERS.unpack_from(self._shared)
        ticket = last + 1
        while not self._lock(ticket, 1):
            ticket += 1
        struct.pack_into("=Q", self._shared, 8, ticket)
        self._ticket = ticket
        seen, moved = self._word.value, began
        while ticket > self._floor and not self._lock(self._floor, ticket - self._floor):
            handed_over, now = self._word.value, time.monotonic()
            if handed_over != seen:
                seen, moved = handed_over, now
                continue  # somebody was served since the attempt: try again before sleeping
            if now - moved > PATIENCE_S:
                self.passed += 1
                self._floor = ticket
                break
            self._wait(seen)
        self.waited_s = time.monotonic() - began

    def give(self) -> None:
        """Let the next one go on."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, 0, _TICKETS))
        self._word.value += 1
        if _SYS_FUTEX is not None:
            self._syscall(_SYS_FUTEX, ctypes.byref(self._word), 1, 0x7FFFFFFF, None, None, 0)

    def close(self) -> None:
        """Leave the queue; the kernel frees what is held."""
        del self._word
        self._shared.close()
        os.close(self._file)

    def _lock(self, start: int, length: int) -> bool:
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _range(fcntl.F_WRLCK, start, length))
        except BlockingIOError:
            return False
        return True

    def _wait(self, handed_over: int) -> None:
        if _SYS_FUTEX is None:
            time.sleep(NET_S / 20)
            return
        limit = _Timespec(0, int(NET_S * 1e9))
        self._syscall(
            _SYS_FUTEX, ctypes.byref(self._word), 0, ctypes.c_uint32(handed_over), ctypes.byref(limit), None, 0
        )


def _range(kind: int, start: int, length: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, _TICKETS_AT + start, length, 0)
