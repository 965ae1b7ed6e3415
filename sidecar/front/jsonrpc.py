"""The JSON-RPC 2.0 envelope: what stands around parameters and results (§9).

Text in, text out; the id travels as text, so that it comes back exactly as it was. This file must not know what a
method does. Its answers to what is no proper request equal those of the SDK's server, so that a client cannot
tell a sidecar from its agent by its errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from bridge import jsontext
from bridge.a2a.faults import A2AFault
from bridge.errors import MalformedJson
from sidecar.front.answers import Wording
from sidecar.front.asgi import JSON
from sidecar.front.errors import Failure, error_of

NO_ID = b"null"


class Request(NamedTuple):
    """A proper request.

    Attributes:
        id: as JSON text; ``null`` where there was none (such a request is answered all the same).
        method: name of the operation.
        params: ``{}`` where there were none; not yet known to be an object.
    """

    id: bytes
    method: str
    params: Any


class NotARequest(Exception):
    """What came is no JSON-RPC request.

    Attributes:
        id: as JSON text, as far as one could be read.
        fault: what the client is told.
    """

    def __init__(self, fault: A2AFault, id_text: bytes = NO_ID) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.id = id_text


def parse(body: bytes | bytearray) -> Request:
    """Read one request.

    Raises:
        NotARequest: no JSON (-32700), a batch, no object, or no JSON-RPC 2.0 (-32600).
    """
    try:
        value = jsontext.parse(body)
    except MalformedJson as error:
        raise NotARequest(A2AFault("JsonParse", f"Invalid JSON payload: {error}")) from error
    if type(value) is not dict:
        told = "Batch requests are not supported" if value and isinstance(value, list) else "not an object"
        raise NotARequest(A2AFault("InvalidRequest", told if told[0] == "B" else f"Invalid request: {told}"))
    id_text = _id_text(value.get("id"))
    if id_text is None:
        raise NotARequest(_invalid("id must be a string, integer, or null"))
    if value.get("jsonrpc") != "2.0":
        raise NotARequest(_invalid("'jsonrpc' must be exactly '2.0'"), id_text)
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise NotARequest(A2AFault("InvalidRequest", "Method is required"), id_text)
    return Request(id_text, method, value.get("params", {}))


def wording(id_text: bytes) -> Wording:
    """How answers to a request with this id are written; results are spliced in as they stand."""
    before = b'{"jsonrpc":"2.0","id":%b,"result":' % id_text
    return Wording(before, b"}", JSON, lambda error: Failure(200, failure(id_text, error)))


def failure(id_text: bytes, error: Exception) -> bytes:
    """A response with an error."""
    body = jsontext.write(error_of(error))
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_text, body)


def _invalid(what: str) -> A2AFault:
    return A2AFault("InvalidRequest", f"Invalid request: {what}")


def _id_text(value: Any) -> bytes | None:
    """An id as text; None where it is of a type that no id may have."""
    kind = type(value)
    if kind is str:
        return orjson.dumps(value)
    if kind is int or kind is float:
        return jsontext.write(value)
    return NO_ID if value is None else None
