"""One stock SDK client at one gateway, every operation of it written to the history.

An operation returns what came of it and never raises for what a server or the network did. This file must not know
what a client wants, or what is right.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from google.protobuf.json_format import ParseDict

from tests.chaos.storm.history import History
from tests.chaos.storm.wiretap import TAP, Tap, TappedTransport

Json = dict[str, Any]
ENDS = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
ASKS = "INPUT_REQUIRED"


@dataclass(slots=True)
class Seen:
    """What came of one operation.

    Attributes:
        task: id of the task, "" while no frame named it.
        state: the last one seen, without its prefix.
        last: the newest SSE id.
        message: it was answered with a Message.
        answer: ``result`` of a plain answer.
        error: None, "transport", or the JSON-RPC error's code as text.
    """

    task: str = ""
    state: str = ""
    last: int | None = None
    message: bool = False
    answer: Json = field(default_factory=dict)
    error: str | None = None

    @property
    def over(self) -> bool:
        """Nothing more will come of the task."""
        return self.message or self.state in ENDS

    def take(self, event: Json) -> None:
        """Note what an event says about ids and state."""
        if "message" in event:
            self.message = True
        elif task := event.get("task"):
            self.task, self.state = task["id"], _state(task["status"])
        elif update := event.get("statusUpdate"):
            self.task, self.state = update["taskId"], _state(update["status"])
        elif update := event.get("artifactUpdate"):
            self.task = update["taskId"]


class Wire:
    """A client of one gateway, connected anew after each failure.

    Args:
        client: whose it is.
        gate: name of the gateway.
        url: of the gateway.
        history: where everything is written.
        streaming: whether messages are sent by ``SendStreamingMessage``.
        binding: "JSONRPC" or "HTTP+JSON".
    """

    def __init__(
        self, client: str, gate: str, url: str, history: History, *, streaming: bool, binding: str = "JSONRPC"
    ) -> None:  # fmt: skip
        self.client, self.gate, self._url, self._history = client, gate, url, history
        self._streaming, self._binding = streaming, binding
        self._web: httpx.AsyncClient | None = None
        self._sdk: Client | None = None

    async def send(self, message: Json, leave: Callable[[Seen], bool], **configuration: Any) -> Seen:
        """Send a message; follow what it leads to until the stream ends or ``leave`` says so."""
        params: Json = {"message": message}
        if configuration:
            params["configuration"] = configuration
        method = "SendStreamingMessage" if self._streaming else "SendMessage"
        note = {
            "message": message["messageId"],
            "to": message.get("taskId", ""),
            "text": message["parts"][0]["text"],
        }
        request = ParseDict(params, SendMessageRequest())
        return await self._follow(method, lambda sdk: sdk.send_message(request), leave, **note)

    async def subscribe(self, task: str, last: int | None, leave: Callable[[Seen], bool]) -> Seen:
        """Subscribe to a task, after an SSE id if one is given."""
        context = None if last is None else ClientCallContext(service_parameters={"Last-Event-ID": str(last)})
        request = SubscribeToTaskRequest(id=task)
        return await self._follow(
            "SubscribeToTask", lambda sdk: sdk.subscribe(request, context=context), leave, task=task, after=last
        )

    async def get(self, task: str) -> Seen:
        """GetTask."""
        return await self._ask("GetTask", lambda sdk: sdk.get_task(GetTaskRequest(id=task)), task=task)

    async def cancel(self, task: str) -> Seen:
        """CancelTask."""
        return await self._ask("CancelTask", lambda sdk: sdk.cancel_task(CancelTaskRequest(id=task)), task=task)

    async def page(self, token: str, size: int) -> Seen:
        """One page of ListTasks."""
        request = ListTasksRequest(page_size=size, page_token=token)
        return await self._ask("ListTasks", lambda sdk: sdk.list_tasks(request))

    async def close(self) -> None:
        """Hang up."""
        if self._sdk is not None:
            await self._sdk.close()
        if self._web is not None:
            await self._web.aclose()
        self._sdk = self._web = None

    async def _connected(self) -> Client:
        if self._sdk is None:
            self._web = httpx.AsyncClient(transport=TappedTransport())
            config = ClientConfig(
                httpx_client=self._web, streaming=self._streaming, supported_protocol_bindings=[self._binding]
            )
            self._sdk = await create_client(self._url, config)
        return self._sdk

    async def _follow(
        self, method: str, call: Callable[[Client], AsyncIterator[Any]], leave: Callable[[Seen], bool],
        **note: Any,
    ) -> Seen:  # fmt: skip
        seen = Seen(task=note.get("task") or note.get("to") or "")
        op = self._history.begin(self.client, self.gate, method, **note)

        def frame(number: int | None, event: Json) -> None:
            self._history.note("frame", op=op, id=number, event=event)
            seen.take(event)
            seen.last = number if number is not None else seen.last

        async def work() -> Json:
            yielded, left = 0, False
            async with aclosing(call(await self._connected())) as events:  # type: ignore[type-var]
                async for _ in events:
                    yielded += 1
                    left = leave(seen)
                    if left:
                        break
            return {"events": yielded, "left": left}

        await self._carry_out(op, seen, self._tap(frame), work())
        if seen.answer:
            seen.take(seen.answer)
        return seen

    async def _ask(self, method: str, call: Callable[[Client], Coroutine[Any, Any, Any]], **note: Any) -> Seen:
        seen = Seen(task=note.get("task", ""))
        op = self._history.begin(self.client, self.gate, method, **note)

        async def work() -> Json:
            await call(await self._connected())
            return {}

        await self._carry_out(op, seen, self._tap(lambda *_: None), work())
        if seen.answer and method != "ListTasks":
            seen.take({"task": seen.answer})
        return seen

    def _tap(self, frame: Callable[[int | None, Json], None]) -> Tap:
        return Tap(frame, wrapped=self._binding == "JSONRPC")

    async def _carry_out(self, op: int, seen: Seen, tap: Tap, work: Coroutine[Any, Any, Json]) -> None:
        told: Json = {}
        before = TAP.set(tap)
        try:
            told = await work
        except asyncio.CancelledError:
            self._history.note("end", op=op, ok=False, error="left")
            raise
        except Exception as error:  # noqa: BLE001 - the checker judges
            if tap.error is None and not tap.frames:
                tap.end()
            seen.error = str(tap.error["code"]) if tap.error else "transport"
            cause = error.__cause__ or error
            told = {"error": seen.error, "said": str((tap.error or {}).get("message") or repr(cause))[:300]}
            with suppress(Exception):
                await self.close()
        finally:
            TAP.reset(before)
        if tap.answer is not None and seen.error is None:
            seen.answer = tap.answer
            told["answer"] = tap.answer
        self._history.note(
            "end", op=op, ok=seen.error is None, frames=tap.frames, silence=round(tap.silence, 3), **told
        )


def _state(status: Json) -> str:
    return str(status["state"]).removeprefix("TASK_STATE_")
