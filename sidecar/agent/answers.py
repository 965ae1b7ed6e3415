"""What an agent's bytes mean: JSON-RPC answers, and failures told apart.

Lives here: unwrapping of JSON-RPC objects into StreamResponse events, and the translation of the HTTP library's
exceptions into ``RunEnd``. The file must not know connections or tasks. It prevents that something which an
agent does reaches the runtime as an exception of a library, or that a request that was never sent is mistaken
for one whose outcome is unknown.
"""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from bridge.a2a.dialect import STREAM_KINDS
from bridge.errors import MalformedJson
from bridge.jsontext import parse
from sidecar.ports import EndKind, RunEnd
from sidecar.records import Json

#: Everything that the HTTP library raises for what an agent or a network does.
FAULTS = (
    aiohttp.ClientError,
    HttpProcessingError,
    OSError,
    asyncio.TimeoutError,
    ValueError,
    asyncio.IncompleteReadError,
)

_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_KINDS = frozenset(STREAM_KINDS)
_EXCERPT_BYTES = 200


def end_of(fault: BaseException) -> RunEnd:
    """How a request ended that raised this."""
    detail = _told(fault)
    if isinstance(fault, _NEVER_SENT):
        return RunEnd(EndKind.REFUSED, detail)
    if isinstance(fault, aiohttp.ClientResponseError | HttpProcessingError):
        return RunEnd(EndKind.MALFORMED, f"not HTTP: {detail}")
    if isinstance(fault, aiohttp.ClientError | OSError | asyncio.IncompleteReadError):
        return RunEnd(EndKind.BROKEN, detail)
    return RunEnd(EndKind.REFUSED, f"the request cannot be sent: {detail}")


def _told(fault: BaseException) -> str:
    if isinstance(fault, aiohttp.ClientConnectorError) and not isinstance(fault, aiohttp.ClientSSLError):
        where = f"{fault.host}:{fault.port}"
        if fault.os_error.errno == errno.ECONNREFUSED:
            return f"connection refused by {where}"
        return f"no connection to {where}: {fault.os_error.strerror or fault.os_error}"
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__


def excerpt(data: bytes) -> str:
    """The beginning of some bytes, for people."""
    text = data[:_EXCERPT_BYTES].decode("utf-8", "replace")
    return text + "…" if len(data) > _EXCERPT_BYTES else text


def decode(payload: bytes) -> Any:
    """The JSON value of an answer, or the ``RunEnd`` that it deserves."""
    try:
        return parse(payload)
    except MalformedJson as fault:
        return RunEnd(EndKind.MALFORMED, f"not JSON ({fault}): {excerpt(payload)}")


def result_of(frame: Any) -> Any:
    """The result of a JSON-RPC answer: any object; or the ``RunEnd`` that the answer deserves."""
    if isinstance(frame, RunEnd):
        return frame
    if isinstance(frame, dict):
        error = frame.get("error")
        if isinstance(error, dict):
            detail = f"{error.get('code')}: {error.get('message')}"
            return RunEnd(EndKind.RPC_FAILURE, detail, error=error)
        result = frame.get("result")
        if isinstance(result, dict):
            return result
    return RunEnd(EndKind.MALFORMED, "not a JSON-RPC answer with a result or an error object")


def is_event(result: Json) -> bool:
    """Whether a result is a StreamResponse: exactly one of its members is there and is an object."""
    if len(result) == 1:
        for kind, body in result.items():
            return kind in _KINDS and type(body) is dict
    known = [result[kind] for kind in STREAM_KINDS if result.get(kind) is not None]
    return len(known) == 1 and type(known[0]) is dict


def events_of(payloads: list[bytes]) -> tuple[list[Json], RunEnd | None]:
    """Unwrap the answers that one chunk carried.

    Returns:
        The events up to the first answer that is none, and what that one means.
    """
    events: list[Json] = []
    for payload in payloads:
        frame = decode(payload)
        result = frame.get("result") if type(frame) is dict and "error" not in frame else None
        if type(result) is not dict:
            result = result_of(frame)
        if isinstance(result, RunEnd):
            return events, result
        if not is_event(result):
            return events, RunEnd(EndKind.MALFORMED, f"not a StreamResponse: {excerpt(payload)}")
        events.append(result)
    return events, None
