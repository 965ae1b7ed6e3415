"""A line to one peer: one connection, dialled for ever, over which everything is asked.

A peer that is away costs a dial now and then and nothing else: what is asked meanwhile fails at once with
``PeerUnavailable``, because whoever asks repeats by its own rules. The failures this prevents: a queue that grows
while a host is down, a host that is looked for no more once it is back, and a log that tells the same thing twice
a second.
"""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypeVar

import aiohttp

from sidecar.errors import PeerUnavailable
from sidecar.names import RememberingResolver
from sidecar.peers.calls import TIMEOUT_S, Calls, failed
from sidecar.peers.channel import CLOSE_WITHIN_S, SOCKET_BYTES_MAX, Broken, brisk, refuse
from sidecar.peers.handshake import WITHIN_S, Peer, Side, dialled, host_of
from sidecar.peers.kinds import Kind
from sidecar.peers.outage import AWAY, SILENT, Fault, Outage, reason, remedy
from sidecar.peers.sealing import Rejected, Rejection
from sidecar.ports import Observer

A = TypeVar("A")
B = TypeVar("B")

PATH = "/dhp/peer"
DIAL_AGAIN_S = (0.05, 2.0)
"""The first and the longest pause between two dials, each drawn from the upper half: a cluster that starts at once
does not dial in step."""

ITSELF_AGAIN_S = 60.0
"""An address that leads back here may lead to another host later."""

CONNECT_WITHIN_S = 2.0
LASTED_S = 1.0


class Line:
    """A connection to one peer that is kept up.

    Args:
        url: of the peer's port.
        side: what this side says of itself, asked for each connection.
        observer: counts.
        timeout_s: how long an answer may take, from when its ask was sent.
        ssl_context: for TLS, if the URL says https.
        on_change: called when it is connected, when it is not any more, and when nobody listens there.

    Attributes:
        url: as given.
        peer: who answered last, None before the first contact.
        problem: why it is not connected, "" while it is.
        itself: it led back to this sidecar.
        deserted: nobody listened there when it was dialled last.
        from_host: this machine's address on the last connection, "" before the first.
    """

    def __init__(
        self,
        url: str,
        side: Callable[[], Side],
        observer: Observer,
        *,
        timeout_s: float = TIMEOUT_S,
        ssl_context: ssl.SSLContext | None = None,
        on_change: Callable[[Line], None] | None = None,
    ) -> None:
        self.url = url
        self.peer: Peer | None = None
        self.problem, self.from_host = "is not dialled yet", ""
        self.itself = self.deserted = False
        self._side, self._observer, self._ssl, self._on_change = side, observer, ssl_context, on_change
        self._timeout_s = timeout_s
        self._voter = ""
        self._calls: Calls | None = None
        self._hurry = asyncio.Event()
        self._outage = Outage(url, time.monotonic())

    @property
    def connected(self) -> bool:
        """Whether something can be asked now."""
        return self._calls is not None

    @property
    def voter(self) -> str:
        """The voter that is asked: as set, or whichever is there."""
        return self._voter or (self.peer.identity.voter if self.peer is not None else "")

    @voter.setter
    def voter(self, voter: str) -> None:
        self._voter = voter

    @property
    def name(self) -> str:
        """For messages."""
        return (
            f"peer {self.peer.identity.member} at {self.url}" if self.peer is not None else f"peer at {self.url}"
        )

    def hurry(self) -> None:
        """It is likely to be there: do not wait for the next dial's turn."""
        self._hurry.set()

    async def run_forever(self) -> None:
        """Be connected, or try to be, until cancelled."""
        failures = 0
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN_S)
        connector = aiohttp.TCPConnector(ttl_dns_cache=1, resolver=RememberingResolver())
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as session:
            while True:
                self._hurry.clear()  # what comes during the attempt may be of somebody who listens only now
                failures = 0 if await self._attempt(session) else failures + 1
                with suppress(TimeoutError):
                    async with asyncio.timeout(ITSELF_AGAIN_S if self.itself else pause(failures)):
                        await self._hurry.wait()

    def ask(self, kind: Kind[A, B], asked: A, timeout_s: float | None = None) -> asyncio.Future[B]:
        """Ask; queued before this returns.

        Args:
            kind: what kind of thing.
            asked: of that kind.
            timeout_s: instead of the link's own.

        Returns:
            The answer. It fails with ``PeerUnavailable`` if there is none, and then the outcome is unknown.
        """
        if self._calls is None:
            return failed(PeerUnavailable(f"{self.name} {self.problem}"))
        return self._calls.ask(kind, asked, self._timeout_s if timeout_s is None else timeout_s)

    def subscribe(self, kind: Kind[A, B], asked: A) -> AsyncIterator[B]:
        """Pieces as they are pushed, until the other side ends it.

        Raises:
            PeerUnavailable: there is no connection.
        """
        if self._calls is None:
            raise PeerUnavailable(f"{self.name} {self.problem}")
        return self._calls.subscribe(kind, asked)

    async def _attempt(self, session: aiohttp.ClientSession) -> bool:
        """One connection; whether it was of use for a while."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            await self._connection(session)
        except Rejected as why:
            self._refused(why)
            return False
        except Broken as why:
            self._down(Fault(SILENT if why.silent else AWAY, f"cannot be reached: {why}"))
            return False
        return loop.time() - begun > LASTED_S

    async def _connection(self, session: aiohttp.ClientSession) -> None:
        ws = await self._dialled(session)
        calls: Calls | None = None
        try:
            brisk(ws.get_extra_info("socket"))
            self.from_host = host_of(ws.get_extra_info("sockname"))
            before = self.peer
            self.peer, channel = await dialled(ws, self._side())
            calls = self._calls = Calls(channel, self.name, self._malformed)
            self._up(anew=before is not None and before.identity.session != self.peer.identity.session)
            await channel.run(calls.take)
        except Rejected as why:
            await refuse(ws, why)
            raise
        except Broken as why:
            if calls is None:
                raise
            fault = Fault(SILENT if why.silent else "lost", f"was lost: {why}")
            self.problem = fault.problem
            self._outage.lost(self.name, fault, time.monotonic())
        finally:
            self._calls = None
            if calls is not None:
                calls.end("the connection was lost")
                self._changed()
            await ws.close()

    async def _dialled(self, session: aiohttp.ClientSession) -> aiohttp.ClientWebSocketResponse:
        try:
            async with asyncio.timeout(WITHIN_S):
                return await session.ws_connect(
                    self.url.rstrip("/") + PATH,
                    max_msg_size=SOCKET_BYTES_MAX,
                    autoping=False,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_WITHIN_S),
                    ssl=self._ssl or True,
                )
        except aiohttp.WSServerHandshakeError as error:
            if error.status == 503:
                raise Rejected(Rejection.CROWDED, told=True) from None
            raise Broken(f"it answers with status {error.status}: no sidecar's peer port is there") from None
        except aiohttp.ClientConnectorError as error:
            deserted, self.deserted = self.deserted, isinstance(error.os_error, ConnectionRefusedError)
            if self.deserted and not deserted:
                self._changed()
            raise Broken(_unconnected(error)) from None
        except TimeoutError:
            raise Broken("it does not answer in time", silent=True) from None
        except (aiohttp.ServerDisconnectedError, ConnectionError):
            raise Broken("it closed the connection at once") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Broken(str(error) or type(error).__name__) from None

    def _up(self, *, anew: bool) -> None:
        self.problem, self.itself, self.deserted = "", False, False
        self._observer.count("peers.connected")
        self._outage.up(self.name, time.monotonic(), anew=anew)
        self._changed()

    def _refused(self, why: Rejected) -> None:
        self.itself = why.code is Rejection.ITSELF
        if self.itself:
            self.problem = "is this sidecar itself"
            self._outage.itself(time.monotonic())
            return
        self._observer.count("peers.refused", side="dialling", code=str(why.code))
        by = "refuses this sidecar" if why.told else "is refused"
        self._down(Fault(str(why.code), f"{by}: {reason(why)}", remedy(why)), refused=True)

    def _down(self, fault: Fault, *, refused: bool = False) -> None:
        self.problem = fault.problem
        self._outage.down(self.name, fault, time.monotonic(), refused=refused)

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change(self)

    def _malformed(self, code: str) -> None:
        self._observer.count("peers.malformed", code=code)


def _unconnected(error: aiohttp.ClientConnectorError) -> str:
    """Why there is no connection, without what only the library's authors want to read."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the name {error.host} is not known"
    if isinstance(error.os_error, ConnectionRefusedError):
        return f"connection refused, nothing listens on port {error.port} there"
    number = error.os_error.errno
    return os.strerror(number) if number else str(error.os_error)


def pause(failures: int) -> float:
    """How long to wait after so many dials in a row that were of no use."""
    first, longest = DIAL_AGAIN_S
    longest = min(longest, first * (1 << min(failures, 10)))
    return longest * random.uniform(0.5, 1)  # noqa: S311 - no secret
