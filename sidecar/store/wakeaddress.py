"""Where a process of a store is reached by datagrams: a Unix socket in a directory beside the store.

Whoever shares the store reaches that directory, in whatever container and network namespace it runs; abstract
sockets (unix(7)) end at the network namespace. Where the file system takes no sockets an abstract one is used
instead, and the address says which kind it is. This file must not know what is told. The failures it prevents: two
containers of one host that hear of each other's commits by polling only, and sockets of killed processes that pile
up.

The directory is opened once and named by way of ``/proc/self/fd``: a socket's path has room for 107 bytes, a
store's path has no such limit.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path

_BESIDE = "beside:"


class Mailbox:
    """One process's socket, and the way to those of others.

    Args:
        directory: the same for all processes of a store; made if missing.

    Attributes:
        address: where others send to.
    """

    def __init__(self, directory: Path) -> None:
        self._socket = _datagrams()
        self._directory: int | None = None
        self._name = secrets.token_hex(12)
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
            self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._socket.bind(self._path(self._name))
            self.address = _BESIDE + self._name
        except OSError:
            self.address = f"dhp-sidecar-{self._name}"
            self._socket.bind(f"\0{self.address}")
        self._sweep()

    def fileno(self) -> int:
        """The socket's descriptor, for an event loop."""
        return self._socket.fileno()

    def send(self, address: str, message: bytes) -> None:
        """Send, without waiting and without promise: somebody who is gone or busy is not told."""
        name = address.removeprefix(_BESIDE)
        with suppress(OSError):
            if name == address:
                self._socket.sendto(message, f"\0{address}")
            elif name.isalnum():
                self._socket.sendto(message, self._path(name))

    def take(self, bytes_max: int) -> bytes | None:
        """The next message, None if there is none."""
        try:
            return self._socket.recv(bytes_max + 1)
        except OSError:
            return None

    def close(self) -> None:
        """Take no more messages."""
        if self._directory is not None:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._directory)
            os.close(self._directory)
            self._directory = None
        self._socket.close()

    def _path(self, name: str) -> str:
        if self._directory is None:
            raise FileNotFoundError(name)
        return f"/proc/self/fd/{self._directory}/{name}"

    def _sweep(self) -> None:
        """Delete what killed processes have left: a socket that refuses belongs to nobody, and never will."""
        if self._directory is None:
            return
        for name in os.listdir(self._directory):  # noqa: PTH208 - of a descriptor
            with suppress(OSError), _datagrams() as asking:
                try:
                    asking.connect(self._path(name))
                except ConnectionRefusedError:
                    if stat.S_ISSOCK(os.stat(name, dir_fd=self._directory).st_mode):
                        os.unlink(name, dir_fd=self._directory)


def _datagrams() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
