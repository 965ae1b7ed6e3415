"""One connection between two sidecars, the same for both ends: frames go out sealed, come in opened, in order.

What was asked for in one turn of the event loop leaves in one frame. Whoever reads slowly is written to no faster:
what waits here is counted, and those who can wait do. A connection ends with one of two exceptions: ``Broken``,
which says nothing about the other side, or ``Rejected``, which does. The failure this prevents: a wrong byte that
is acted upon, or a traceback for what a network or a stranger did.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import aiohttp
from aiohttp import web

from sidecar.peers.frames import FRAME_BYTES_MAX, Inbox, Message, Outbox
from sidecar.peers.packing import Malformed
from sidecar.peers.sealing import MAC_BYTES, Opener, Rejected, Rejection, Sealer

REFUSED = 4000
"""WebSocket close code of a refusal; its reason begins with the ``Rejection``."""

SOCKET_BYTES_MAX = FRAME_BYTES_MAX + MAC_BYTES + 8
TICK_S = 1.0
PING_AFTER, GIVE_UP_AFTER = 3, 6
"""Ticks in a row in which nothing came. Counted in ticks and not by the clock: a process that stood still itself
has one tick behind it, whatever the time, and hears what waits for it before it judges. Fewer: a silent line is
dialled anew sooner; a host that is short of time, more often for nothing."""

CLOSE_WITHIN_S = 0.5
NOT_SENT_BYTES = 128 << 10
"""What the kernel may hold that has not left: an urgent message waits for no more than this and a frame."""

ROOM_BYTES = 4 << 20
_ENDED = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)

Socket = aiohttp.ClientWebSocketResponse | web.WebSocketResponse


class Broken(Exception):
    """The connection is gone.

    Args:
        why: for people.
        silent: nothing came any more; whoever is there may have noticed nothing.
    """

    def __init__(self, why: str, *, silent: bool = False) -> None:
        super().__init__(why)
        self.silent = silent


class Channel:
    """An authenticated connection.

    Args:
        ws: the socket.
        sealer: for what is sent.
        opener: for what is received.
    """

    def __init__(self, ws: Socket, sealer: Sealer, opener: Opener) -> None:
        self._ws, self._sealer, self._opener = ws, sealer, opener
        self._outbox, self._inbox = Outbox(), Inbox()
        self._wake, self._moved = asyncio.Event(), asyncio.Event()
        self._heard = False

    @property
    def bytes_queued(self) -> int:
        """How much waits to be sent."""
        return self._outbox.bytes_queued

    def send(self, data: bytes, *, urgent: bool = False, sent: Callable[[], None] | None = None) -> None:
        """Queue a message; see ``Outbox.put``."""
        self._outbox.put(data, urgent=urgent, sent=sent)
        self._wake.set()

    async def room(self) -> None:
        """Wait until little is queued."""
        while self.bytes_queued > ROOM_BYTES:
            self._moved.clear()
            await self._moved.wait()

    async def run(self, take: Callable[[list[Message]], None]) -> None:
        """Carry messages until the connection ends; ``take`` gets those of a frame.

        Raises:
            Broken: it is gone.
            Rejected: one side has refused what the other sent.
        """
        parts = [asyncio.create_task(each) for each in (self._read(take), self._write(), self._watch())]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                if part.done():
                    part.result()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def _read(self, take: Callable[[list[Message]], None]) -> None:
        while True:
            payload = self._opener.open(await received(self._ws, self._note))
            try:
                messages = self._inbox.messages(payload)
            except Malformed as error:
                code = Rejection.TOO_LARGE if error.code == "too_large" else Rejection.MALFORMED
                raise Rejected(code, error.detail) from None
            take(messages)

    def _note(self) -> None:
        self._heard = True

    async def _watch(self) -> None:
        silent = 0
        while silent < GIVE_UP_AFTER:
            await asyncio.sleep(TICK_S)
            silent = 0 if self._heard else silent + 1
            self._heard = False
            if silent == PING_AFTER:
                await self._ping()
        raise Broken(f"nothing has come from it for {GIVE_UP_AFTER * TICK_S:.0f} s", silent=True)

    async def _ping(self) -> None:
        with suppress(TimeoutError, OSError, RuntimeError, aiohttp.ClientError):
            async with asyncio.timeout(TICK_S):  # it may wait behind what cannot leave either
                await self._ws.ping()

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (frame := self._outbox.frame()) is not None:
                payload, whole = frame
                await send(self._ws, self._sealer.seal(payload))
                for each in whole:
                    if each.sent is not None:
                        each.sent()
                self._moved.set()


async def received(ws: Socket, note: Callable[[], None] | None = None) -> bytes:
    """The next binary message; pings are answered meanwhile.

    Args:
        ws: the socket.
        note: called whenever anything has come.

    Raises:
        Broken: the connection is gone.
        Rejected: the other side has refused, or sent what this protocol does not have.
    """
    while True:
        try:
            message = await ws.receive()
            if note is not None:
                note()
            if message.type is aiohttp.WSMsgType.PING:
                await ws.pong(message.data)
            elif message.type is not aiohttp.WSMsgType.PONG:
                return _binary(message)
        except (OSError, RuntimeError, aiohttp.ClientError) as fault:
            raise Broken(_gone(fault)) from None


def _binary(message: aiohttp.WSMessage) -> bytes:
    if message.type is aiohttp.WSMsgType.BINARY:
        data: bytes = message.data
        return data
    if message.type is aiohttp.WSMsgType.CLOSE and message.data == REFUSED:
        code, _, detail = str(message.extra or "").partition(": ")
        raise Rejected(_rejection(code), detail, told=True)
    if message.type is aiohttp.WSMsgType.CLOSE:
        away = message.data == aiohttp.WSCloseCode.GOING_AWAY
        raise Broken("it was stopped" if away else "it closed the connection")
    if message.type in _ENDED:
        raise Broken("the connection was cut")
    error = message.data if message.type is aiohttp.WSMsgType.ERROR else None
    if isinstance(error, aiohttp.WebSocketError):
        large = error.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        raise Rejected(Rejection.TOO_LARGE if large else Rejection.MALFORMED, str(error))
    if error is not None:
        raise Broken(str(error) or type(error).__name__)
    raise Rejected(Rejection.MALFORMED, f"a message of type {message.type.name}")


def _gone(fault: Exception) -> str:
    """What happened, not what the library tried to do."""
    cut = isinstance(fault, ConnectionError)
    return "the connection was cut" if cut else str(fault) or type(fault).__name__


async def send(ws: Socket, data: bytes) -> None:
    """Send one binary message.

    Raises:
        Broken: the connection is gone.
    """
    try:
        await ws.send_bytes(data)
    except (OSError, RuntimeError, aiohttp.ClientError) as error:
        raise Broken(_gone(error)) from None


async def refuse(ws: Socket, why: Rejected) -> None:
    """Close a connection and say why; never raises for what the other side does."""
    with suppress(OSError, RuntimeError, aiohttp.ClientError):
        await ws.close(code=REFUSED, message=str(why).encode()[:120].decode(errors="ignore").encode())


def brisk(transport_socket: socket.socket | None) -> None:
    """Keep little in the kernel that has not left, so that what is urgent leaves soon."""
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if transport_socket is not None and option is not None:
        with suppress(OSError, AttributeError):
            transport_socket.setsockopt(socket.IPPROTO_TCP, option, NOT_SENT_BYTES)


def _rejection(code: str) -> Rejection:
    try:
        return Rejection(code)
    except ValueError:
        return Rejection.OTHER
