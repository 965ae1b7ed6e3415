"""Listening: sockets that are bound before anything starts, and HTTP servers that leave signals alone.

A port that is taken must be known before a session is registered, or the sidecar that has it would be fenced by
one that cannot even listen. What a connection may cost before anybody has understood its request is bounded here,
too: the memory of a head, the time that it may take, and the descriptors of all connections together.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sidecar.errors import ConfigError

BACKLOG = 2048
CLOSE_WITHIN_S = 2
HEAD_BYTES_MAX = 64 << 10
HEAD_WITHIN_S = 30.0
SLICE = 16 << 10
DESCRIPTORS_MAX = 1 << 20
DESCRIPTORS_KEPT = 64
"""For the store, the control side's listener and the logs: never given to connections."""
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
    raise_descriptor_limit()
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


def raise_descriptor_limit() -> int:
    """Take as many descriptors as this process may have; returns how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft


def connections_max() -> int:
    """How many clients one of our two servers takes: each of theirs may need a connection to the agent as well."""
    return max(16, (raise_descriptor_limit() - DESCRIPTORS_KEPT) // 3)


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 whose heads end: after so many bytes, after so long.

    Counted is what arrives without leading to anything: a head that is complete and a piece of a body begin the
    count anew, so trailers and the extensions of chunks are bounded as well.
    """

    _fruitless = 0
    _in_body = False
    _head_begun = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """One client more, unless there are too many."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            self._refuse(503, "Too many connections")
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, piece by piece."""
        for at in range(0, len(data), SLICE):
            if self.transport.is_closing():
                return
            piece = data[at : at + SLICE]
            self._fruitless += len(piece)
            super().data_received(piece)
            if self._fruitless > HEAD_BYTES_MAX:
                self._refuse(431, "Request head too large")
                return
        if self._head_timer is None and not self._in_body and (self._head_begun or self._idle):
            self._await_head()

    def on_message_begin(self) -> None:
        """The first byte of a head."""
        self._head_begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head has ended."""
        self._fruitless, self._head_begun, self._in_body = 0, False, True
        self._forget_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._fruitless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has ended."""
        self._in_body = False
        super().on_message_complete()

    @property
    def _idle(self) -> bool:
        """No answer is under way, and the server does not count the time until the next request either."""
        return self.timeout_keep_alive_task is None and not self._answering

    @property
    def _answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # declared as if there were always one
        return cycle is not None and not cycle.response_complete

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self._head_is_late)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._answering:  # the client may write ahead as slowly as it reads
            self._await_head()
        elif not self.transport.is_closing():
            self._refuse(408, "Request head incomplete")

    def _refuse(self, status: int, told: str) -> None:
        """Close the connection, with an answer where none is under way."""
        self._forget_head()
        if not self._answering:
            body = told.encode()
            head = f"HTTP/1.1 {status} {told}\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}"
            self.transport.write(head.encode() + b"\r\nconnection: close\r\n\r\n" + body)
        self.transport.close()


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
            http=BoundedHttp,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,  # nothing here reads where a client is
            limit_concurrency=connections_max(),
            timeout_keep_alive=75,
            timeout_graceful_shutdown=CLOSE_WITHIN_S,
        )
    )
