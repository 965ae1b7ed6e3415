"""What is not A2A passes to the agent untouched.

Lives here: one request forwarded, body streamed both ways, end-to-end headers kept as bytes. The file must not
look into what it forwards, limit its time, or decompress it. It prevents that the sidecar takes something away
from an agent that was there before (other paths, other extensions, the agent's own web pages).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass

import aiohttp
import orjson
from multidict import CIMultiDict

from sidecar.agent.answers import FAULTS, end_of
from sidecar.agent.headers import end_to_end
from sidecar.agent.wire import AgentWire
from sidecar.errors import AgentError

RawHeaders = list[tuple[bytes, bytes]]

_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


@dataclass(slots=True)
class Passed:
    """An answer that is being passed on.

    Attributes:
        status: of the agent, or 502 and 504 where there was no answer.
        headers: end-to-end headers, as the agent wrote them.
        body: the bytes as they come. Raises AgentError where the agent breaks off: what was passed on is then
            incomplete, and the connection to the client must not end as if it were whole.
    """

    status: int
    headers: RawHeaders
    body: AsyncIterator[bytes]
    _response: aiohttp.ClientResponse | None = None

    async def close(self) -> None:
        """Give the connection back; call it in any case, also when the body was not read."""
        if self._response is not None:
            self._response.close()


async def forward(
    wire: AgentWire,
    method: str,
    path: str,
    headers: Iterable[tuple[bytes, bytes]],
    body: AsyncIterable[bytes] | bytes | None = None,
) -> Passed:
    """Send any request to the agent.

    Args:
        wire: connections to the agent.
        method: HTTP method.
        path: path and query as they came, percent-encoded.
        headers: of the client; those of its connection are left out.
        body: bytes, or an iterator of them; None for no body.

    Returns:
        The agent's answer, or problem details (RFC 9457) where there is none.
    """
    pairs = [(_text(name), _text(value)) for name, value in headers]
    sent = CIMultiDict(pair for pair in end_to_end(pairs) if pair[0].lower() not in {"host", "expect"})
    if body is None:
        sent.popall("Content-Length", None)
    try:
        response = await wire.session.request(
            method, wire.url(path), headers=sent, data=body, skip_auto_headers=_AUTOMATIC, allow_redirects=False
        )
    except aiohttp.ConnectionTimeoutError as fault:
        return _problem(504, "Gateway Timeout", f"no connection to the agent in time: {fault}")
    except FAULTS as fault:
        end = end_of(fault)
        return _problem(502, "Bad Gateway", f"the agent gave no answer ({end.kind}): {end.detail}")
    answered = end_to_end((_text(name), _text(value)) for name, value in response.raw_headers)
    kept = {name.lower() for name, _ in answered}
    raw = [(name, value) for name, value in response.raw_headers if _text(name).lower() in kept]
    return Passed(response.status, raw, _body(response), response)


async def _body(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        while chunk := await response.content.readany():
            yield chunk
    except FAULTS as fault:
        end = end_of(fault)
        raise AgentError(f"the agent broke off its answer ({end.kind}): {end.detail}") from fault
    finally:
        response.close()


def _problem(status: int, title: str, detail: str) -> Passed:
    document = orjson.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})

    async def body() -> AsyncIterator[bytes]:
        yield document

    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(document)).encode()),
        (b"cache-control", b"no-store"),
    ]
    return Passed(status, headers, body())


def unavailable(detail: str) -> Passed:
    """The answer where there is nobody to pass a request to."""
    return _problem(503, "Service Unavailable", detail)


def _text(raw: bytes) -> str:
    """Header bytes for the library, which writes UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
