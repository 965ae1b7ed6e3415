"""Raw ASGI: reading a bounded body and writing an answer.

A front spends most of its time here, so there is no framework between the server and it. This file must not know
A2A. The failure it prevents: a body that fills the memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import orjson

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")

#: Headers that belong to one connection or to one body, not to the request (RFC 9110 §7.6.1).
_NOT_END_TO_END: frozenset[bytes] = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"host",
        b"expect",
        b"content-length",
        b"content-type",
        b"content-encoding",
        b"accept",
        b"accept-encoding",
        b"cache-control",
        b"last-event-id",
        b"a2a-version",
    }
)


class BodyTooLarge(Exception):
    """The request's body is above the limit; the rest of it was not read."""


class ClientGone(Exception):
    """The client closed the connection before it had sent its request."""


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header, those of repeated ones joined; None where there is none."""
    found = [value for key, value in scope["headers"] if key == name]
    return b", ".join(found).decode("latin-1") if found else None


def end_to_end(scope: Scope) -> dict[str, str]:
    """The headers of a request that are meant for whoever answers it at last: credentials, traces, extensions.

    Left out: what belongs to the connection or to the body, and what the agent's client sets itself.
    """
    found: dict[str, str] = {}
    named = (header(scope, b"connection") or "").lower()
    dropped = {each.strip().encode("latin-1") for each in named.split(",")}
    for key, value in scope["headers"]:
        if key in _NOT_END_TO_END or key in dropped:
            continue
        name, text = key.decode("latin-1"), value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


async def read_body(scope: Scope, receive: Receive, bytes_max: int) -> bytes | bytearray:
    """The whole body.

    Raises:
        BodyTooLarge: by its Content-Length or by what arrived.
        ClientGone: the client left in the middle.
    """
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > bytes_max:
        raise BodyTooLarge
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > bytes_max:
            raise BodyTooLarge
        return body
    parts = bytearray()
    while True:
        if message["type"] != "http.request":
            raise ClientGone
        parts += message.get("body", b"")
        if len(parts) > bytes_max:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return parts
        message = await receive()


async def respond(send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = (JSON,)) -> None:
    """A whole answer at once."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def problem(send: Send, status: int, title: str, detail: str, headers: Headers | None = None) -> None:
    """An answer in RFC 9457 form, for requests that are not A2A operations."""
    body = orjson.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
    await respond(send, status, body, [(b"content-type", b"application/problem+json"), *(headers or [])])
