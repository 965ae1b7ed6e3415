"""Listening: sockets that are bound before anything starts, and HTTP servers that leave signals alone.

A port that is taken must be known before a session is registered, or the sidecar that has it would be fenced by
one that cannot even listen.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from typing import Any

import uvicorn

from sidecar.errors import ConfigError

BACKLOG = 2048
CLOSE_WITHIN_S = 2
_NOT_OURS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)

App = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]


def bind(host: str, port: int, what: str) -> socket.socket:
    """A listening socket.

    Args:
        host: address or name.
        port: 0 takes a free one.
        what: what listens there, for the message.

    Raises:
        ConfigError: the address cannot be had.
    """
    bare = host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ConfigError(
            f"{what} cannot listen on {host}:{port}: {error.strerror or error}",
            _hint(error),
        ) from error
    listener.setblocking(False)
    return listener


def _hint(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno in _NOT_OURS:
        return "give another --host: an address of this machine"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "give a port above 1023, or the right to use this one"
    return "stop what does, or give another port"


class Server(uvicorn.Server):
    """An HTTP server whose process handles signals elsewhere."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signal handlers as they are."""
        yield


def server(app: App) -> Server:
    """A server for an ASGI application; it gets its socket when it is run."""
    return Server(
        uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,  # nothing here reads where a client is
            timeout_keep_alive=75,
            timeout_graceful_shutdown=CLOSE_WITHIN_S,
        )
    )
