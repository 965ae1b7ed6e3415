"""Connections to the agent and requests on them.

Lives here: the HTTP sessions, JSON-RPC requests and their bounded answers. The file must
not know runs, cards or the runtime. It prevents what proxies are known for: default time limits that cut long
work (case 74), pools that fill up with abandoned connections (75), stale kept-alive connections, and hop-by-hop
headers passed on.

There is no read timeout: an agent may be silent for hours, leases and progress decide. A peer whose host is
gone is found by TCP keep-alives, which the kernel answers even for a stopped process.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from bridge.jsontext import write
from sidecar.agent.answers import FAULTS, decode, end_of, excerpt, result_of
from sidecar.agent.card import Address, CardView
from sidecar.agent.headers import request_headers
from sidecar.errors import AgentTimeout
from sidecar.names import RememberingResolver
from sidecar.ports import EndKind, RunEnd
from sidecar.records import Json

_FAILURE_BYTES = 1024
_FAILURE_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Limits and times of the agent side.

    Attributes:
        connect_timeout_s: to get a connection; longer hides a dead host, shorter fails a busy one.
        call_timeout_s: for the answer to GetTask and CancelTask.
        card_timeout_s: for the answer to a request for the card.
        probe_timeout_s: for any answer to a probe.
        event_bytes_max: of one streamed event or one answer.
        connections_max: of the pool, 0 for no limit. Each running stream needs one.
        keepalive_s: how long an idle connection is kept. Above the agent's own limit (5 s is common), requests
            meet connections that are being closed; near 0 each request connects anew.
        retry_min_s, retry_max_s: delay between attempts to read the card of an absent agent.
        watch_s: how often the card of a present agent is read again.
        poll_min_s, poll_max_s: interval of GetTask for agents that cannot stream.
    """

    connect_timeout_s: float = 2.0
    call_timeout_s: float = 5.0
    card_timeout_s: float = 2.0
    probe_timeout_s: float = 1.0
    event_bytes_max: int = 16 * 2**20
    connections_max: int = 0
    keepalive_s: float = 2.0
    retry_min_s: float = 0.05
    retry_max_s: float = 1.0
    watch_s: float = 5.0
    poll_min_s: float = 0.1
    poll_max_s: float = 1.0


class AgentWire:
    """HTTP towards one agent.

    Args:
        address: where the agent is.
        settings: limits and times.
        credentials: headers of the sidecar's own, used where a call does not bring its own ``Authorization``.
    """

    def __init__(
        self, address: Address, settings: AgentSettings, credentials: Mapping[str, str] | None = None
    ) -> None:
        self.address = address
        self.settings = settings
        self._credentials = dict(credentials or {})
        self._ids = itertools.count(1)
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The pooled session, made when first used because it belongs to the running event loop."""
        if self._session is None:
            settings = self.settings
            connector = aiohttp.TCPConnector(
                limit=settings.connections_max,
                keepalive_timeout=settings.keepalive_s,
                ttl_dns_cache=1,
                resolver=RememberingResolver(),
                socket_factory=_socket,
            )
            self._session = _session(connector, settings)
        return self._session

    def fresh_session(self) -> aiohttp.ClientSession:
        """A session that shares no connection with anything; the caller closes it."""
        return _session(aiohttp.TCPConnector(force_close=True, socket_factory=_socket), self.settings)

    def url(self, path: str) -> URL:
        """A path and query of the agent, byte for byte."""
        return URL(self.address.origin + path, encoded=True)

    async def post(
        self, view: CardView, method: str, params: Json, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        """Send one JSON-RPC request; returns when the answer's header is there. Raises ``FAULTS``."""
        if view.tenant and "tenant" not in params:
            params = {**params, "tenant": view.tenant}
        body = write({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})
        return await self.session.post(
            self.url(view.rpc_path),
            data=body,
            headers=request_headers(headers, durable=view.durable, credentials=self._credentials),
            allow_redirects=False,
        )

    async def ask(self, view: CardView, method: str, params: Json, headers: Mapping[str, str]) -> Json | RunEnd:
        """One request with one answer, waited for as long as it takes.

        Returns:
            The result object, or how the request failed.
        """
        try:
            response = await self.post(view, method, params, headers)
        except FAULTS as fault:
            return end_of(fault)
        try:
            return await read_answer(response, self.settings.event_bytes_max)
        finally:
            response.close()  # a fully read answer has given its connection back already

    async def call(
        self, view: CardView, method: str, params: Json, headers: Mapping[str, str] | None = None
    ) -> Json | RunEnd:
        """``ask`` with the call timeout.

        Raises:
            AgentTimeout: no answer in time.
        """
        limit = self.settings.call_timeout_s
        try:
            async with asyncio.timeout(limit):
                return await self.ask(view, method, params, headers or {})
        except TimeoutError:
            raise AgentTimeout(f"the agent did not answer {method} within {limit:g} s") from None

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def read_answer(response: aiohttp.ClientResponse, limit: int) -> Json | RunEnd:
    """The result of a JSON-RPC answer that is one JSON document, or what is wrong with it."""
    if response.status != 200:
        return await failure_of(response)
    if (encoded := encoding_problem(response)) is not None:
        return encoded
    body = bytearray()
    try:
        while chunk := await response.content.readany():
            body += chunk
            if len(body) > limit:
                return RunEnd(EndKind.TOO_LARGE, f"an answer above {limit} bytes")
    except FAULTS as fault:
        return end_of(fault)
    if not body:
        return RunEnd(EndKind.MALFORMED, "the answer is empty")
    result: Json | RunEnd = result_of(decode(bytes(body)))
    return result


async def failure_of(response: aiohttp.ClientResponse) -> RunEnd:
    """What an answer with a status other than 200 says.

    A JSON-RPC error object in its body counts as such: some servers send those with a 4xx or 5xx status.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_FAILURE_WAIT_S):
            while len(body) < 64 * _FAILURE_BYTES and (chunk := await response.content.readany()):
                body += chunk
    except FAULTS:
        pass  # the status alone says enough
    found = result_of(decode(bytes(body))) if body.lstrip()[:1] == b"{" else None
    if isinstance(found, RunEnd) and found.kind is EndKind.RPC_FAILURE:
        return RunEnd(found.kind, found.detail, response.status, found.error)
    detail = bytes(body[:_FAILURE_BYTES]).decode("utf-8", "replace")
    return RunEnd(EndKind.HTTP_FAILURE, detail, response.status)


def encoding_problem(response: aiohttp.ClientResponse) -> RunEnd | None:
    """A compressed answer, which nobody asked for and whose size cannot be bounded while it is read."""
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    return (
        None
        if encoding == "identity"
        else RunEnd(EndKind.MALFORMED, f"Content-Encoding {excerpt(encoding.encode())}")
    )


def _session(connector: aiohttp.TCPConnector, settings: AgentSettings) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s),
        read_bufsize=2**18,
        max_line_size=2**16,
        max_field_size=2**16,
        trust_env=False,
    )


def _socket(address: Any) -> socket.socket:
    """A socket that notices within seconds when the other host is gone while a stream is silent."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 2), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 2)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
