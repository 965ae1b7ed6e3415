"""Which voter a store's file is, and that one process has it to itself.

The id stands in the file, beside the place where the file was when it took that id; ``bridge.voterid`` says what
becomes of it. A place is what stays over reboots of the host and is not copied with the bytes: the machine's id,
the file system's, the inode and its version (a file that was deleted and restored may get the old inode number
again). Where a file system or a container has no such word that part is empty.

The failures this prevents: a copied file that votes as its original, and two processes that answer as one voter.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import struct
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from bridge.voterid import VoterFile, recognised
from sidecar.errors import StoreUnavailable
from sidecar.store.connect import beside
from sidecar.store.faults import translated

log = logging.getLogger(__name__)

_MACHINE_ID = Path("/etc/machine-id")
_FS_IOC_GETVERSION = 0x80087601
_ID, _PLACE = "voter", "voter_place"
_READ = "SELECT value FROM meta WHERE name = ?"
_WRITE = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def place_of_file(descriptor: int, machine_id: Path = _MACHINE_ID) -> str:
    """Where an open file physically is.

    Args:
        descriptor: of the file.
        machine_id: holds the machine's id, see machine-id(5).
    """
    host, version = "", 0
    with suppress(OSError, UnicodeDecodeError):
        host = machine_id.read_text(encoding="ascii").strip()
    with suppress(OSError):
        (version,) = struct.unpack("I", fcntl.ioctl(descriptor, _FS_IOC_GETVERSION, b"\0" * 8)[:4])
    return f"{host}:{os.fstatvfs(descriptor).f_fsid:x}:{os.fstat(descriptor).st_ino}:{version:x}"


def identify(connection: Connection, place: str, *, restored: bool) -> str:
    """The id under which a store votes from now on; written before its first answer.

    Args:
        connection: inside a transaction.
        place: where the file is.
        restored: whoever put the file there says that it is an old copy.
    """
    known = [connection.exec_driver_sql(_READ, (name,)).scalar() for name in (_ID, _PLACE)]
    stored = VoterFile(str(known[0]), str(known[1])) if all(known) else None
    found = recognised(stored, place, secrets.token_hex(16), restored=restored)
    if found != stored:
        for name, value in zip((_ID, _PLACE), found, strict=True):
            connection.exec_driver_sql(_WRITE, (name, value))
        if stored is not None:
            log.warning("this store is a copy of voter %s: as a voter it is another one, %s", stored.id, found.id)
    return found.id


class Use:
    """This process's use of a store: together with others, or alone as a voter among peers.

    Args:
        path: the database.
        shared: other processes may use it as well.

    Raises:
        StoreUnavailable: they may not, or somebody else has it alone.
    """

    def __init__(self, path: Path, *, shared: bool) -> None:
        with translated(f"opening the store {path}"):
            self._descriptor = os.open(beside(path, "use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            self.end()
            told = "a running sidecar with peers has it" if shared else "another process has it open"
            hint = "a sidecar with peers needs a store of its own: give --store another file, or stop that process"
            raise StoreUnavailable(f"{path}: {told}", hint) from None

    def end(self) -> None:
        """Others may use it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
