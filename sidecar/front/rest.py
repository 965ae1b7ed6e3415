"""HTTP+JSON: methods and paths to operations (§11).

Bodies and queries become the parameters that JSON-RPC would carry, results stand alone, errors are
``google.rpc.Status`` objects with the HTTP status of the table of errors, all as the SDK's server does it. This
file must not know how an operation is answered. The failure it prevents: a binding with rules of its own.
"""

from __future__ import annotations

from bridge import jsontext
from bridge.a2a.dialect import Operation
from bridge.a2a.faults import A2AFault, status_object
from bridge.a2a.query import params_of_query
from bridge.a2a.routes import Match
from bridge.a2a.shapes import settle_request
from bridge.errors import MalformedJson
from sidecar.front.answers import Answers, Wording
from sidecar.front.asgi import JSON, BodyTooLarge, ClientGone, Receive, Scope, Send, read_body, respond
from sidecar.front.calls import call_of, check_version, query_of
from sidecar.front.card import CardDesk
from sidecar.front.errors import Failure, error_of, too_large
from sidecar.front.settings import FrontSettings
from sidecar.ports import Observer
from sidecar.records import Json

A2A_JSON = (b"content-type", b"application/a2a+json")


def failure(error: Exception, status: int | None = None) -> Failure:
    """An error as a Status, with the table's HTTP status unless another is given."""
    told = status_object(error_of(error))
    told["error"]["code"] = code = status or told["error"]["code"]
    return Failure(code, jsontext.write(told))


WORDING = Wording(b"", b"", A2A_JSON, failure)


class Rest:
    """The HTTP+JSON binding.

    Args:
        answers: to requests that were understood.
        settings: limits.
        observer: counts and times.
        desk: for GetExtendedAgentCard.
    """

    def __init__(self, answers: Answers, settings: FrontSettings, observer: Observer, desk: CardDesk) -> None:
        self._answers = answers
        self._bytes_max = settings.request_bytes_max
        self._observer = observer
        self._desk = desk

    async def __call__(self, match: Match, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose operation was found by its method and path."""
        operation = match.operation
        self._observer.count("front.requests", method=operation.name)
        try:
            body = await read_body(scope, receive, self._bytes_max)
        except ClientGone:
            return
        except BodyTooLarge:
            answer = failure(too_large(self._bytes_max), 413).body
            await respond(send, 413, answer, (JSON, (b"connection", b"close")))
            return
        try:
            check_version(scope)
            if operation.kind == "card":
                await self._extended(scope, receive, send)
                return
            params = _params(operation, scope, body) | match.variables
            call = call_of(scope, params, operation, len(body))
            await self._answers.give(operation, call, WORDING, receive, send)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001 - a client is always answered
            await self._answers.refuse(error, WORDING, send)

    async def _extended(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, value, answer = await self._desk.extended(scope, receive, b"")
        if not isinstance(value, dict) or (status != 200 and "error" not in value):
            raise ConnectionError(f"the agent answered GetExtendedAgentCard with HTTP {status}, not A2A")
        if status == 200:
            await respond(send, status, self._desk.rewritten(value), (A2A_JSON,))
        else:
            await respond(send, status, answer)


def _params(operation: Operation, scope: Scope, body: bytes | bytearray) -> Json:
    """The parameters in a body, or in the query of a request that has none.

    Raises:
        A2AFault: JsonParse or InvalidRequest. What is no JSON of the right shape is not yet a request here, while
            JSON-RPC has its parameters inside one: the SDK's servers tell the two apart like this.
    """
    try:
        if scope["method"] != "POST":
            params = params_of_query(operation.name, query_of(scope))
        elif body or operation.kind == "send":
            params = jsontext.parse(body)
        else:
            params = {}
        if type(params) is not dict:
            raise A2AFault("InvalidRequest", "Invalid request: not an object")
        return settle_request(operation.name, params)
    except MalformedJson as error:
        raise A2AFault("JsonParse", f"Invalid JSON payload: {error}") from error
    except A2AFault as fault:
        raise A2AFault("InvalidRequest", fault.message, fault.metadata) from fault
