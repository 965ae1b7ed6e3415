"""Serving the agent's card, rewritten, and remembering it while the agent is away.

The last card that was seen says where the endpoints are: reads must go on while no agent lives. This file
must not know how cards are fetched. The failure it prevents: a client that finds a way round the sidecar in a
card.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from email.utils import formatdate
from hashlib import sha256
from itertools import islice
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from bridge import jsontext
from bridge.a2a import card as rules
from bridge.a2a import routes
from bridge.errors import MalformedJson
from sidecar.errors import AgentError, AgentTimeout
from sidecar.front.asgi import ClientGone, Headers, Message, Receive, Scope, Send, header, respond
from sidecar.front.attend import departure, end
from sidecar.front.paths import plain, readings, spellings
from sidecar.records import Json

log = logging.getLogger(__name__)

EXTENDED_BYTES_MAX = 2**20
EXTENDED_WITHIN_S = 10.0
ABSENT_PAUSE_S = 0.1
_ABSENT = (502, 503, 504)
EARLIER_MAX = 64


class AgentSide(Protocol):
    """What the front needs of the agent beside this sidecar.

    Attributes:
        card: its card, the same object until it changes; None while it was never seen.
    """

    @property
    def card(self) -> Json | None: ...  # noqa: D102

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request through to the agent, untouched, and its answer back."""
        ...


class Places:
    """Which paths are A2A: those of the card, and those of earlier ones, which clients may still know.

    Args:
        card: the agent's own.
        rewritten: the card that clients see; its paths stand below the public URL.
        prefix: path of the public URL. Proxies in front may keep it or take it away: both are understood.
        earlier: those of the card before it.

    Attributes:
        usable: the card itself has an endpoint that is served.
    """

    def __init__(self, card: Json, rewritten: rules.Rewritten, prefix: str, earlier: Places | None = None) -> None:
        bases = {"", prefix}
        self.rpc_paths: tuple[str, ...] = _with_earlier(rewritten.rpc_paths, earlier.rpc_paths if earlier else ())
        self.rest_paths: tuple[str, ...] = _with_earlier(
            rewritten.rest_paths, earlier.rest_paths if earlier else ()
        )
        spelled = (each._replace(url=path) for each in rewritten.dropped for path in _paths_of(each))
        dropped = dict.fromkeys((*spelled, *(earlier.dropped if earlier else ())))
        self.dropped: tuple[rules.Interface, ...] = tuple(islice(dropped, EARLIER_MAX))
        self.usable = bool(rewritten.rpc_paths)
        rpc = {base + path for path in self.rpc_paths for base in bases}
        self.rpc = frozenset(rpc | {path + "/" for path in rpc})
        self.rest = routes.Routes({base + path for path in self.rest_paths for base in bases})
        self.bypass = rules.bypass(self.dropped)
        every = rules.card_paths((*self.rpc_paths, *self.rest_paths))
        self.card = frozenset(base + path for path in every for base in bases)
        own = [urlsplit(each.url).path + "/" for each in rules.interfaces(card)]
        self._ours = "" if any(path.startswith(prefix + "/") for path in own) else prefix

    def disguised(self, scope: Scope) -> bool:
        """Whether a path that is none of A2A's is one when it is read as some servers read it."""
        raw = (scope.get("raw_path") or b"").decode("latin-1")
        return any(each is None or self._is_a2a(each) for each in readings(scope["path"], raw))

    def _is_a2a(self, path: str) -> bool:
        return bool(
            path in self.rpc or path in self.card or self.bypass.fullmatch(path) or self.rest.allowed(path)
        )

    def at_agent(self, scope: Scope) -> Scope:
        """A request as the agent knows it: a prefix that is ours alone is taken away."""
        ours, path = self._ours, scope["path"]
        if not ours or not path.startswith(ours + "/"):
            return scope
        raw = scope.get("raw_path") or b""
        below = raw[len(ours) :] if raw.startswith(ours.encode()) else quote(path[len(ours) :]).encode()
        return {**scope, "path": path[len(ours) :], "raw_path": below}


class CardDesk:
    """The newest card that was seen, as clients get it.

    Args:
        agent: where the card comes from.
        public_url: see ``FrontSettings``.
        max_age_s: see ``FrontSettings.card_max_age_s``.
        absent_s: see ``FrontSettings.absent_s``.
    """

    def __init__(self, agent: AgentSide, public_url: str, max_age_s: int, absent_s: float) -> None:
        self._agent = agent
        self._absent_s = absent_s
        self._public_url = public_url.rstrip("/")
        self._cache_control = b"public, max-age=%d" % max_age_s
        self._seen: Json | None = None
        self._places: Places | None = None
        self._unusable = ""
        self._body = b""
        self._etag = b""
        self._modified = b""

    @property
    def problem(self) -> str | None:
        """Why nothing can be asked, or only by an older card; None where all is well."""
        places = self.places
        if self._unusable:
            return self._unusable
        if places is None:
            return "the agent's card was never seen: the agent has not been reached yet"
        return None if places.usable else "the agent's card has no JSON-RPC 1.0 interface"

    @property
    def places(self) -> Places | None:
        """Where A2A is, by the newest card that can be used; None before there was any."""
        card = self._agent.card
        if card is not self._seen and card is not None:
            self._seen = card
            try:
                self._take(card)
            except Exception as fault:
                self._unusable = f"the agent's newest card cannot be used: {fault!r}"
                log.exception("%s; the one before it stays", self._unusable)
            else:
                self._unusable = ""
        return self._places

    async def serve(self, scope: Scope, send: Send) -> None:
        """Answer GET or HEAD (§8.6)."""
        headers: Headers = [
            (b"etag", self._etag),
            (b"cache-control", self._cache_control),
            (b"last-modified", self._modified),
        ]
        asked = header(scope, b"if-none-match")
        if asked is not None and _matches(asked, self._etag.decode()):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await respond(send, 200, self._body, [(b"content-type", b"application/json"), *headers])

    async def extended(self, scope: Scope, receive: Receive, body: bytes) -> tuple[int, Any, bytes]:
        """GetExtendedAgentCard: the agent decides who may see it. One that is away is waited for, for a while.

        Returns:
            HTTP status, JSON value (None where it is none) and text of the agent's answer.

        Raises:
            AgentError: the answer is too large, or does not come to its end in time.
            ClientGone: nobody waits for it any more.
        """
        if self._places is not None:
            scope = self._places.at_agent(scope)
        status, answer = await _ask(self._agent, scope, receive, body, self._absent_s)
        try:
            return status, jsontext.parse(answer), answer
        except MalformedJson:
            return status, None, answer

    def rewritten(self, card: Json) -> bytes:
        """An extended card as clients may see it: like the other one."""
        return jsontext.write(rules.rewrite(card, self._public_url).card)

    def _take(self, card: Json) -> None:
        rewritten = rules.rewrite(card, self._public_url)
        body = jsontext.write(rewritten.card)
        self._places = Places(card, rewritten, urlsplit(self._public_url).path, self._places)
        if rewritten.signature_stripped:
            log.warning("the agent's card is signed; its URLs had to change, so clients get it without signatures")
        for each in rewritten.dropped:
            log.info("not served through the sidecar and left out of the card: %s %s", each.binding, each.version)
        if not rewritten.rpc_paths:
            log.error("the agent's card has no JSON-RPC 1.0 interface: nothing can be made durable")
        if body != self._body:
            self._body = body
            self._etag = b'"%b"' % sha256(body).hexdigest()[:32].encode()
            self._modified = formatdate(time.time(), usegmt=True).encode()


def _with_earlier(paths: Iterable[str], earlier: Iterable[str]) -> tuple[str, ...]:
    found = dict.fromkeys((*(each for path in paths for each in spellings(path)), *earlier))
    return tuple(islice(found, EARLIER_MAX))


def _paths_of(interface: rules.Interface) -> Iterable[str]:
    path = urlsplit(interface.url).path
    found = plain(path)
    return (interface.url,) if found is None or found == path.rstrip("/") else (interface.url, found)


def _matches(asked: str, etag: str) -> bool:
    """Whether ``If-None-Match`` names this representation (RFC 9110 §13.1.2, weak comparison)."""
    return any(each.strip().removeprefix("W/") in ("*", etag) for each in asked.split(","))


async def _ask(
    agent: AgentSide, scope: Scope, receive: Receive, body: bytes, absent_s: float
) -> tuple[int, bytes]:
    """A request through ``forward``, its answer collected while its client waits for it, and within bounds."""
    status = 0
    answer = bytearray()

    async def request() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def collect(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            answer.extend(message.get("body", b""))
            if len(answer) > EXTENDED_BYTES_MAX:
                raise AgentError(f"the agent's extended card is larger than {EXTENDED_BYTES_MAX} bytes")

    async def ask() -> None:
        until = time.monotonic() + absent_s
        await agent.forward(asked, request, collect)
        while status in _ABSENT and time.monotonic() < until:
            await asyncio.sleep(ABSENT_PAUSE_S)
            answer.clear()
            await agent.forward(asked, request, collect)

    asked = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}
    asking = asyncio.ensure_future(ask())
    leaving = asyncio.ensure_future(departure(receive))
    try:
        await asyncio.wait((asking, leaving), timeout=EXTENDED_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            asking.result()
            return status, bytes(answer)
        if leaving.done():
            raise ClientGone
        raise AgentTimeout(f"the agent's extended card is not complete after {EXTENDED_WITHIN_S:g} s")
    finally:
        await end(asking, leaving)
