"""The peer port: takes connections of other sidecars, knows who they are before it listens, and has them served.

What a stranger can cost is bounded: connections, bytes and seconds before a proof. A browser's page is no peer.
Why a connection was refused is counted each time and logged once per address and reason. The failures this
prevents: a port that can be filled by whoever reaches it, and a log that a wrong secret fills.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from sidecar.peers.channel import CLOSE_WITHIN_S, SOCKET_BYTES_MAX, Broken, brisk, refuse
from sidecar.peers.handler import Handler
from sidecar.peers.handshake import WITHIN_S, Peer, Side, accepted, host_of
from sidecar.peers.line import PATH
from sidecar.peers.outage import reason, remedy
from sidecar.peers.sealing import Rejected, Rejection
from sidecar.peers.serving import Serving
from sidecar.ports import Observer

log = logging.getLogger(__name__)

CONNECTIONS_MAX = 512
"""Of proven peers. A cluster has one for each other sidecar, and some that are not known to be broken yet."""

STRANGERS_MAX = 64
TOLD_MAX = 1024
CLOSE_ALL_WITHIN_S = 2.0


class PeerPort:
    """The peer port.

    Args:
        handler: answers.
        side: what this side says of itself, asked for each connection.
        observer: counts.
        ssl_context: for TLS.
        on_met: told of each peer that has proven itself.
    """

    def __init__(
        self,
        handler: Handler,
        side: Callable[[], Side],
        observer: Observer,
        *,
        ssl_context: ssl.SSLContext | None = None,
        on_met: Callable[[Peer], None] | None = None,
    ) -> None:
        self._handler, self._side, self._observer = handler, side, observer
        self._ssl, self._on_met = ssl_context, on_met
        self._http = web.Server(self._answer, handler_cancellation=False, access_log=None, lingering_time=0)
        self._strangers = 0
        self._told: set[tuple[str, str]] = set()
        self._fatal: asyncio.Future[None] | None = None
        self._sockets: dict[web.WebSocketResponse, Peer | None] = {}
        self._upgraded: set[object] = set()

    @property
    def peers(self) -> list[Peer]:
        """Who is connected now, one entry for each connection."""
        return [peer for peer in self._sockets.values() if peer is not None]

    async def run_forever(self, listener: socket.socket) -> None:
        """Take connections until cancelled.

        Raises:
            InvariantViolation: what a peer asked for has shown that this process must stop.
        """
        loop = asyncio.get_running_loop()
        self._fatal = loop.create_future()
        server = await loop.create_server(self._protocol, sock=listener, ssl=self._ssl)
        try:
            await self._fatal
        finally:
            server.close()
            await asyncio.gather(*(self._say_goodbye(ws) for ws in list(self._sockets)))
            await self._http.shutdown(CLOSE_ALL_WITHIN_S)

    def _protocol(self) -> asyncio.Protocol:
        if len(self._http.connections) >= CONNECTIONS_MAX + STRANGERS_MAX:
            self._observer.count("peers.refused", side="dialled", code=str(Rejection.CROWDED))
            return _TurnedAway()
        handler = self._http()
        asyncio.get_running_loop().call_later(WITHIN_S, self._late, handler)
        return handler

    def _late(self, handler: RequestHandler) -> None:
        if handler not in self._upgraded:  # no peer takes so long to say what it wants
            handler.force_close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != PATH:
            return web.Response(status=404)
        if "Origin" in request.headers:
            return web.Response(status=403)
        ws = web.WebSocketResponse(
            timeout=CLOSE_WITHIN_S, autoping=False, max_msg_size=SOCKET_BYTES_MAX, compress=False
        )
        if not ws.can_prepare(request).ok:
            return web.Response(status=400)
        if self._strangers >= STRANGERS_MAX or len(self._sockets) >= CONNECTIONS_MAX:
            self._observer.count("peers.refused", side="dialled", code=str(Rejection.CROWDED))
            return web.Response(status=503)
        try:
            await ws.prepare(request)
        except (OSError, RuntimeError):  # it was gone before it was answered
            return web.Response(status=400)
        self._sockets[ws] = None
        self._upgraded.add(request.protocol)
        try:
            await self._meet(ws, request)
        finally:
            self._upgraded.discard(request.protocol)
            del self._sockets[ws]
        return ws

    async def _meet(self, ws: web.WebSocketResponse, request: web.BaseRequest) -> None:
        transport = request.transport
        address = host_of(transport.get_extra_info("peername")) if transport is not None else ""
        serving: Serving | None = None
        try:
            self._strangers += 1
            try:
                peer, channel = await accepted(ws, self._side(), address)
            finally:
                self._strangers -= 1
            brisk(ws.get_extra_info("socket"))
            self._sockets[ws] = peer
            serving = Serving(channel, peer, self._handler, self._observer, self._stop)
            if self._on_met is not None:
                self._on_met(peer)
            await channel.run(serving.take)
        except Rejected as why:
            self._refused(why, address)
            await refuse(ws, why)
        except Broken as why:
            log.debug("the connection from %s ended: %s", address, why)
        finally:
            if serving is not None:
                await serving.close()
            await ws.close()

    def _refused(self, why: Rejected, address: str) -> None:
        if why.code is Rejection.ITSELF:
            return
        self._observer.count("peers.refused", side="dialled", code=str(why.code))
        if (address, why.code) in self._told:
            return
        if len(self._told) >= TOLD_MAX:
            self._told.clear()
        self._told.add((address, why.code))
        who = f", which calls itself {why.member}," if why.member else ""
        by = "refuses this sidecar" if why.told else "is refused at the peer port"
        todo = f"; {remedy(why)}" if remedy(why) else ""
        log.warning(
            "%s%s %s: %s%s", address, who, by, reason(why), todo, extra={"why": str(why.code), "address": address}
        )

    def _stop(self, error: BaseException) -> None:
        if self._fatal is not None and not self._fatal.done():
            self._fatal.set_exception(error)

    @staticmethod
    async def _say_goodbye(ws: web.WebSocketResponse) -> None:
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await ws.close(code=1001)
        except (OSError, RuntimeError, TimeoutError):
            pass


class _TurnedAway(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
