"""From operations to responses, whatever the binding: at once, after a while, or as a stream.

Which operation is answered how is decided here, by the table of operations; what they do is not, and how it is
written is the binding's (``Wording``). The failure it prevents: a client whose connection says how a task ends.
Only a response ends with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from bridge.a2a.dialect import Operation
from bridge.a2a.faults import A2AFault
from sidecar.errors import RpcError
from sidecar.front.asgi import JSON, Headers, Receive, Send, respond
from sidecar.front.attend import Attendance, Outcome
from sidecar.front.blocking import BlockingAnswer
from sidecar.front.calls import echoed
from sidecar.front.errors import Failure, is_answer
from sidecar.front.operations import Call, Operations
from sidecar.front.settings import FrontSettings
from sidecar.front.stream import EventStream
from sidecar.ports import Observer
from sidecar.records import Frame, Sent

DRAINED = RpcError(
    -32603, "The sidecar is shutting down and the outcome is unknown: send the same messageId again, elsewhere"
)


STALE = (b"dhp-stale", b"?1")
"""A boolean as RFC 9651 writes it."""


class Wording(NamedTuple):
    """How a binding writes the answers to one request.

    Attributes:
        before: what precedes a result, or an event of a stream.
        after: what follows it.
        media: the content type of a result.
        failure: writes an error.
    """

    before: bytes
    after: bytes
    media: tuple[bytes, bytes]
    failure: Callable[[Exception], Failure]


class Answers:
    """Responses to requests that were understood.

    Args:
        operations: what there is to ask for.
        attendance: of the front: its responses that take time.
        settings: limits and intervals.
        observer: counts and times.
    """

    def __init__(
        self, operations: Operations, attendance: Attendance, settings: FrontSettings, observer: Observer
    ) -> None:
        self._operations = operations
        self._attendance = attendance
        self._keep_alive_s = settings.keep_alive_s
        self._observer = observer

    async def give(self, operation: Operation, call: Call, wording: Wording, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            Exception: before the response has begun; ``refuse`` answers it.
        """
        unary = self._operations.unary.get(operation.name)
        if unary is not None:
            value = await unary(call)
            body = b"%b%b%b" % (wording.before, value, wording.after)
            await respond(send, 200, body, (wording.media, *self._age()))
        elif operation.kind == "push":
            raise A2AFault("PushNotificationNotSupported")
        elif operation.streaming:
            await self._stream(operation, call, wording, receive, send)
        else:
            await self._block(operation, call, wording, receive, send)

    async def refuse(self, error: Exception, wording: Wording, send: Send) -> None:
        """Answer with an error."""
        failure = self._failure(error, wording)
        await respond(send, failure.status, failure.body, (JSON,))

    async def _stream(
        self, operation: Operation, call: Call, wording: Wording, receive: Receive, send: Send
    ) -> None:
        stream = EventStream(
            send,
            before=wording.before,
            after=wording.after,
            keep_alive_s=self._keep_alive_s,
            headers=[*echoed(call), *self._age()],
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
                await stream.fail(self._failure(error, wording))
                if not is_answer(error):
                    return
            if sent is not None:
                self._operations.answered(sent)

        outcome = await self._attendance.attend(work(), receive, stream.pulse)
        if outcome is Outcome.DRAINED:
            await stream.fail(wording.failure(DRAINED))
        self._observer.count("front.streams", outcome=outcome.value)

    async def _block(
        self, operation: Operation, call: Call, wording: Wording, receive: Receive, send: Send
    ) -> None:
        headers = [*echoed(call), *self._age()]
        response = BlockingAnswer(send, keep_alive_s=self._keep_alive_s, media=wording.media, headers=headers)

        async def work() -> None:
            sent: Sent | None = None
            told = True
            try:
                if operation.kind == "send":
                    sent = await self._operations.send(call)
                    value = await self._operations.conclude(sent, call)
                else:
                    value = await self._operations.blocking[operation.name](call)
            except Exception as error:  # noqa: BLE001 - a client is always answered
                told = await response.fail(self._failure(error, wording)) and is_answer(error)
            else:
                await response.finish(b"%b%b%b" % (wording.before, value, wording.after))
            if sent is not None and told:
                self._operations.answered(sent)

        outcome = await self._attendance.attend(work(), receive, response.pulse)
        if outcome is Outcome.DRAINED:
            await response.fail(wording.failure(DRAINED))
        self._observer.count("front.answers", outcome=outcome.value)

    def _age(self) -> Headers:
        """Read before the answer: what is fresh then was fresh when it was asked for."""
        if not self._operations.stale:
            return []
        self._observer.count("front.stale")
        return [STALE]

    def _failure(self, error: Exception, wording: Wording) -> Failure:
        self._observer.count("front.errors", kind=type(error).__name__)
        return wording.failure(error)
