"""JSON-RPC over HTTP: requests to operations, operations to responses.

Which operation is answered at once, which waits and which streams is decided here, by the table of operations;
what they do is not. The failure it prevents: a client whose connection says how a task ends. Only a response
ends with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from bridge.a2a import extension
from bridge.a2a.dialect import OPERATIONS, V10, VERSION_HEADER, Operation, effective_version
from bridge.a2a.faults import A2AFault
from bridge.a2a.shapes import settle_request
from sidecar.errors import RpcError
from sidecar.front import jsonrpc
from sidecar.front.asgi import (
    JSON,
    BodyTooLarge,
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    end_to_end,
    header,
    read_body,
    respond,
)
from sidecar.front.attend import Attendance, Outcome
from sidecar.front.blocking import BlockingAnswer
from sidecar.front.operations import Call, Operations
from sidecar.front.settings import FrontSettings
from sidecar.front.stream import EventStream
from sidecar.ports import Observer
from sidecar.records import Caller, Frame, Sent

#: Without authentication everybody is the same caller.
ANYBODY = Caller()

DRAINED = RpcError(
    -32603, "The sidecar is shutting down and the outcome is unknown: send the same messageId again, elsewhere"
)

CardCall = Callable[[Scope, bytes | bytearray, bytes, Send], Awaitable[None]]


class JsonRpc:
    """The JSON-RPC endpoint.

    Args:
        operations: what there is to ask for.
        attendance: of the front: its responses that take time.
        settings: limits and intervals.
        observer: counts and times.
        extended_card: answers GetExtendedAgentCard: (scope, body, id text, send).
    """

    def __init__(
        self,
        operations: Operations,
        attendance: Attendance,
        settings: FrontSettings,
        observer: Observer,
        extended_card: CardCall,
    ) -> None:
        self._operations = operations
        self._attendance = attendance
        self._settings = settings
        self._observer = observer
        self._extended_card = extended_card

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        try:
            body = await read_body(scope, receive, self._settings.request_bytes_max)
            request = jsonrpc.parse(body)
        except ClientGone:
            return
        except BodyTooLarge:
            limit = self._settings.request_bytes_max
            fault = A2AFault("InvalidRequest", f"Payload too large: a request may have {limit} bytes")
            await respond(send, 413, jsonrpc.failure(jsonrpc.NO_ID, fault), (JSON, (b"connection", b"close")))
            return
        except jsonrpc.NotARequest as wrong:
            self._observer.count("front.requests", method="none")
            await respond(send, 200, jsonrpc.failure(wrong.id, wrong.fault))
            return
        operation = OPERATIONS.get(request.method)
        self._observer.count("front.requests", method=operation.name if operation else "unknown")
        try:
            if operation is None:
                raise A2AFault("MethodNotFound")
            call = _call(scope, request.params, operation)
            settle_request(operation.name, call.params)
            unary = self._operations.unary.get(operation.name)
            if unary is not None:
                answer = jsonrpc.result(request.id, await unary(call))
            elif operation.kind == "push":
                raise A2AFault("PushNotificationNotSupported")
            elif operation.kind == "card":
                await self._extended_card(scope, body, request.id, send)
                return
            elif operation.streaming:
                await self._stream(operation, call, request.id, receive, send)
                return
            else:
                await self._block(operation, call, request.id, receive, send)
                return
        except Exception as error:  # noqa: BLE001 - a client is always answered
            answer = self._failure(request.id, error)
        await respond(send, 200, answer)

    async def _stream(
        self, operation: Operation, call: Call, id_text: bytes, receive: Receive, send: Send
    ) -> None:
        before, after = jsonrpc.around(id_text)
        stream = EventStream(
            send, before=before, after=after, keep_alive_s=self._settings.keep_alive_s, headers=_echoed(call)
        )

        async def work() -> None:
            sent: Sent | None = None
            try:
                frames: AsyncIterator[list[Frame]]
                if operation.kind == "send":
                    sent = await self._operations.send(call)
                    frames = self._operations.follow(sent, call)
                else:
                    frames = self._operations.subscribe(call)
                async for batch in frames:
                    await stream.frames(batch)
                await stream.close()
            except Exception as error:  # noqa: BLE001 - a client is always answered
                await stream.fail(self._failure(id_text, error))
                if not _is_answer(error):
                    return
            if sent is not None:
                self._operations.answered(sent)

        outcome = await self._attendance.attend(work(), receive, stream.pulse)
        if outcome is Outcome.DRAINED:
            await stream.fail(jsonrpc.failure(id_text, DRAINED))
        self._observer.count("front.streams", outcome=outcome.value)

    async def _block(self, operation: Operation, call: Call, id_text: bytes, receive: Receive, send: Send) -> None:
        response = BlockingAnswer(send, keep_alive_s=self._settings.keep_alive_s, headers=_echoed(call))

        async def work() -> None:
            sent: Sent | None = None
            done = True
            try:
                if operation.kind == "send":
                    sent = await self._operations.send(call)
                    value = await self._operations.conclude(sent, call)
                else:
                    value = await self._operations.blocking[operation.name](call)
                answer = jsonrpc.result(id_text, value)
            except Exception as error:  # noqa: BLE001 - a client is always answered
                answer = self._failure(id_text, error)
                done = _is_answer(error)
            await response.finish(answer)
            if sent is not None and done:
                self._operations.answered(sent)

        outcome = await self._attendance.attend(work(), receive, response.pulse)
        if outcome is Outcome.DRAINED:
            await response.finish(jsonrpc.failure(id_text, DRAINED))
        self._observer.count("front.answers", outcome=outcome.value)

    def _failure(self, id_text: bytes, error: Exception) -> bytes:
        self._observer.count("front.errors", kind=type(error).__name__)
        return jsonrpc.failure(id_text, error)


def _call(scope: Scope, params: Any, operation: Operation) -> Call:
    """The request as an operation sees it.

    Raises:
        A2AFault: the version is not spoken here, or the parameters are no object.
    """
    if type(params) is not dict:
        raise A2AFault("InvalidParams", "params must be an object")
    effective_version(header(scope, b"a2a-version"), _version_in_query(scope), (V10,))
    if operation.kind == "read" and not operation.streaming:
        return Call(params, ANYBODY)
    return Call(
        params,
        ANYBODY,
        headers=end_to_end(scope),
        extensions=_extensions(scope),
        last_event_id=header(scope, b"last-event-id"),
    )


def _is_answer(error: Exception) -> bool:
    """Whether an error is how the message ended, so that the same messageId would be a new message.

    What the agent said is. A failure on our side leaves the outcome unknown: the client is to ask again with the
    same messageId, and attaches. An internal error without details may be either, so it is taken for ours.
    """
    return isinstance(error, RpcError) and (error.number != -32603 or error.data is not None)


def _version_in_query(scope: Scope) -> str | None:
    query: bytes = scope.get("query_string", b"")
    if not query:
        return None
    wanted = VERSION_HEADER.lower()
    pairs = parse_qsl(query.decode("latin-1"))
    return next((value for name, value in pairs if name.lower() == wanted), None)


def _extensions(scope: Scope) -> tuple[str, ...]:
    """URIs in ``A2A-Extensions``, each once."""
    text = header(scope, b"a2a-extensions")
    if not text:
        return ()
    return tuple(dict.fromkeys(uri for each in text.split(",") if (uri := each.strip())))


def _echoed(call: Call) -> Headers:
    """The activation of our extension, confirmed (§3.2.6)."""
    if extension.URI in call.extensions:
        return [(b"a2a-extensions", extension.URI.encode())]
    return []
