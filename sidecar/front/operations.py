"""The operations of A2A over ``ports.Tasks``, without any transport.

Parameters go in as JSON objects, results come out as JSON text or as journal frames; JSON-RPC and HTTP+JSON wrap
them, gRPC can wrap the same ones. This file must not know sockets, envelopes or status codes. The
failures it prevents: two bindings that answer differently, and a client's departure that reaches the work:
whatever changes a task runs in a task of its own, which no connection owns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bridge import jsontext
from bridge.a2a import params as check
from bridge.a2a.dialect import AUTH_REQUIRED, INTERRUPTED, kind_of, state_of
from bridge.a2a.fold import with_history
from sidecar.front.paging import cursor_of, token_of
from sidecar.ports import Tasks
from sidecar.records import Caller, Frame, Json, ListQuery, SendCall, Sent

T = TypeVar("T")

_TASK = b'{"task":'
_MESSAGE = b'{"message":'
_NO_MESSAGE = (_TASK, b'{"statusUpdate":', b'{"artifactUpdate":')
_AUTH_REQUIRED = AUTH_REQUIRED.encode()


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a client.

    Attributes:
        params: of the operation, an object.
        caller: who asks.
        headers: end-to-end headers.
        extensions: URIs that the client activated.
        last_event_id: where a stream broke off, as the client says it.
        size: bytes of the request's body.
    """

    params: Json
    caller: Caller
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    last_event_id: str | None = None
    size: int = 0


class Operations:
    """Everything that a client may ask of a task.

    Args:
        tasks: the runtime.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._running: set[asyncio.Task[Any]] = set()
        self.unary: dict[str, Callable[[Call], Awaitable[bytes]]] = {"GetTask": self.get, "ListTasks": self.page}
        self.blocking: dict[str, Callable[[Call], Awaitable[bytes]]] = {"CancelTask": self.cancel}

    @property
    def stale(self) -> bool:
        """Whether what is read now may be behind."""
        return self._tasks.stale

    async def get(self, call: Call) -> bytes:
        """GetTask (§3.1.3): Task."""
        task_id = check.required(call.params, "id")
        return await self._tasks.get(task_id, call.caller, check.history_length(call.params))

    async def page(self, call: Call) -> bytes:
        """ListTasks (§3.1.4): ListTasksResponse."""
        query = list_query(call.params)
        page = await self._tasks.list(query, call.caller)
        return jsontext.write(
            {
                "tasks": page.tasks,
                "nextPageToken": token_of(page.next_after) if page.next_after else "",
                "pageSize": query.page_size,
                "totalSize": page.total,
            }
        )

    async def cancel(self, call: Call) -> bytes:
        """CancelTask (§3.1.5): Task."""
        task_id = check.required(call.params, "id")
        return await self._detached(self._tasks.cancel(task_id, call.caller, call.params))

    async def send(self, call: Call) -> Sent:
        """Accept a message, for ``follow`` or ``conclude``."""
        check.check_send(call.params)
        accepted = SendCall(call.params, call.caller, call.extensions, call.headers, call.size)
        return await self._detached(self._tasks.send(accepted))

    async def follow(self, sent: Sent, call: Call) -> AsyncGenerator[list[Frame], None]:
        """What a message leads to (§3.1.2), until the stream ends."""
        length = check.history_length(check.section(call.params, "configuration"))
        async with AsyncExitStack() as stack:
            async for batch in _closing(stack, self._tasks.tail(sent.task_id, sent.after)):
                yield batch if length is None else [_trimmed(frame, length) for frame in batch]

    async def conclude(self, sent: Sent, call: Call) -> bytes:
        """What a message leads to (§3.2.2): SendMessageResponse, when the task is terminal or interrupted.

        With ``returnImmediately`` after the first event.
        """
        configuration = check.section(call.params, "configuration")
        immediately = check.flag(configuration, "returnImmediately")
        length = check.history_length(configuration)
        message = await self._wait(sent, immediately=immediately)
        if message is not None:
            return message
        return _TASK + await self._tasks.get(sent.task_id, call.caller, length) + b"}"

    async def subscribe(self, call: Call) -> AsyncGenerator[list[Frame], None]:
        """SubscribeToTask (§3.1.6): the Task, then what follows up to its end; or what follows ``Last-Event-ID``.

        A question does not end it: who subscribes waits for the answer as well (decision 0004).

        A cursor that is no position of this task's journal is answered as if there were none.
        """
        task_id = check.required(call.params, "id")
        seq, task = await self._tasks.snapshot(task_id, call.caller)
        after = _position(call.last_event_id)
        if after is None or after > seq:
            after = seq
            yield [Frame(seq, _TASK + task + b"}", False)]
        del task  # it may be large, and a subscription lives long
        async with AsyncExitStack() as stack:
            async for batch in _closing(stack, self._tasks.tail(task_id, after, past_questions=True)):
                yield batch

    def answered(self, sent: Sent) -> None:
        """The response was written out in full. The client does not wait for this to be recorded."""
        self._start(self._tasks.answered(sent))

    async def close(self) -> None:
        """Wait for what was begun."""
        while self._running:
            await asyncio.wait(tuple(self._running))

    async def _wait(self, sent: Sent, *, immediately: bool) -> bytes | None:
        """Until the answer is due: the event if it is a Message, None if it is the Task."""
        async with AsyncExitStack() as stack:
            async for batch in _closing(stack, self._tasks.tail(sent.task_id, sent.after)):
                for frame in batch:
                    if _is_message(frame.event):
                        return frame.event
                    if immediately or frame.ends or _interrupts(frame.event):
                        return None
        return None

    async def _detached(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that goes on if the waiting is cancelled."""
        return await asyncio.shield(self._start(work))

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved: whoever still waited was told


def list_query(params: Json) -> ListQuery:
    """ListTasksRequest (§3.1.4), checked.

    Raises:
        A2AFault: InvalidParams.
    """
    token = check.optional(params, "pageToken")
    return ListQuery(
        context_id=check.optional(params, "contextId"),
        task_state=check.task_state(params),
        status_after_ms=check.timestamp_ms(params, "statusTimestampAfter"),
        page_size=check.whole(params, "pageSize", 1, check.PAGE_SIZE_MAX) or check.PAGE_SIZE,
        page_after=cursor_of(token) if token else None,
        history_length=check.history_length(params),
        include_artifacts=check.flag(params, "includeArtifacts"),
    )


def _position(text: str | None) -> int | None:
    """A journal position from ``Last-Event-ID``; None where it is not one."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > 18:
        return None
    return int(text)


def _is_message(event: bytes) -> bool:
    """Whether a StreamResponse is a lone Message, without parsing it in the ordinary case."""
    if event.startswith(_MESSAGE):
        return True
    return not event.startswith(_NO_MESSAGE) and kind_of(jsontext.parse(event)) == "message"


def _interrupts(event: bytes) -> bool:
    """Whether a blocking send returns at this event although a stream stays open."""
    return _AUTH_REQUIRED in event and state_of(jsontext.parse(event)) in INTERRUPTED


def _trimmed(frame: Frame, length: int) -> Frame:
    """A frame whose Task, if it is one, has no more history than the client asked for."""
    if not frame.event.startswith(_TASK):
        return frame
    event = jsontext.parse(frame.event)
    return frame._replace(event=jsontext.write({**event, "task": with_history(event["task"], length)}))


def _closing(stack: AsyncExitStack, frames: AsyncIterator[list[Frame]]) -> AsyncIterator[list[Frame]]:
    """Have a tail closed as soon as its reader is done with it, not when memory is collected."""
    close = getattr(frames, "aclose", None)
    if close is not None:
        stack.push_async_callback(close)
    return frames
