"""JSON-RPC over HTTP: requests to operations.

This file must not know how an operation is answered. The failure it prevents: a request that is no proper one
and gets no proper answer.
"""

from __future__ import annotations

from bridge.a2a.dialect import OPERATIONS
from bridge.a2a.faults import A2AFault
from bridge.a2a.shapes import settle_request
from sidecar.front import jsonrpc
from sidecar.front.answers import Answers
from sidecar.front.asgi import JSON, BodyTooLarge, ClientGone, Receive, Scope, Send, read_body, respond
from sidecar.front.calls import call_of, check_version
from sidecar.front.card import CardDesk
from sidecar.front.errors import too_large
from sidecar.front.settings import FrontSettings
from sidecar.ports import Observer


class JsonRpc:
    """The JSON-RPC endpoint.

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        try:
            body = await read_body(scope, receive, self._bytes_max)
            request = jsonrpc.parse(body)
        except ClientGone:
            return
        except BodyTooLarge:
            answer = jsonrpc.failure(jsonrpc.NO_ID, too_large(self._bytes_max))
            await respond(send, 413, answer, (JSON, (b"connection", b"close")))
            return
        except jsonrpc.NotARequest as wrong:
            self._observer.count("front.requests", method="none")
            await respond(send, 200, jsonrpc.failure(wrong.id, wrong.fault))
            return
        operation = OPERATIONS.get(request.method)
        self._observer.count("front.requests", method=operation.name if operation else "unknown")
        wording = jsonrpc.wording(request.id)
        try:
            if operation is None:
                raise A2AFault("MethodNotFound")
            if type(request.params) is not dict:
                raise A2AFault("InvalidParams", "params must be an object")
            check_version(scope)
            settle_request(operation.name, request.params)
            if operation.kind == "card":
                await self._extended(scope, receive, body, request.id, send)
            else:
                call = call_of(scope, request.params, operation, len(body))
                await self._answers.give(operation, call, wording, receive, send)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001 - a client is always answered
            await self._answers.refuse(error, wording, send)

    async def _extended(
        self, scope: Scope, receive: Receive, body: bytes | bytearray, id_text: bytes, send: Send
    ) -> None:
        status, value, answer = await self._desk.extended(scope, receive, bytes(body))
        if not isinstance(value, dict) or not {"result", "error"} & value.keys():
            raise ConnectionError(f"the agent answered GetExtendedAgentCard with HTTP {status}, not JSON-RPC")
        if isinstance(value.get("result"), dict):
            wording = jsonrpc.wording(id_text)
            answer = wording.before + self._desk.rewritten(value["result"]) + wording.after
        await respond(send, 200, answer)
