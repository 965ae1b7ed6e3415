"""A runtime in memory: tasks are lists of frames, and a script says what the agent would do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import orjson

from bridge.a2a.dialect import ENDS_STREAM, ERRORS, INPUT_REQUIRED, TERMINAL_STATES
from bridge.a2a.faults import error_object
from bridge.a2a.fold import TaskFold, with_history
from sidecar.errors import RpcError
from sidecar.records import Caller, Frame, KeyRow, ListPage, ListQuery, SendCall, Sent

Json = dict[str, Any]


def rpc_error(name: str) -> RpcError:
    error = error_object(name)
    return RpcError(ERRORS[name].jsonrpc, error["message"], error.get("data"))


def status(task_id: str, state: str, **more: Any) -> Json:
    return {"statusUpdate": {"taskId": task_id, "contextId": "ctx", "status": {"state": state, **more}}}


def text_artifact(task_id: str, text: str, *, artifact_id: str = "a", append: bool = False) -> Json:
    artifact = {"artifactId": artifact_id, "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": task_id, "contextId": "ctx", "artifact": artifact, "append": append}}


class FakeTask:
    """One task: its frames, and everybody who waits for more."""

    def __init__(self, task_id: str) -> None:
        self.id = task_id
        self.frames: list[Frame] = []
        self.fold = TaskFold()
        self.changed = asyncio.Condition()
        self.failure: Exception | None = None

    async def emit(self, event: Json, *, seq: int | None = None) -> None:
        """Commit an event."""
        body = next(iter(event.values()))
        state = (body.get("status") or {}).get("state")
        ends = state in ENDS_STREAM or "message" in event
        if "message" not in event:
            self.fold.apply(event)
        async with self.changed:
            at = seq or (self.frames[-1].seq + 1 if self.frames else 2)
            self.frames.append(Frame(at, orjson.dumps(event), ends))
            self.changed.notify_all()

    async def begin(self, state: str = "TASK_STATE_SUBMITTED") -> None:
        await self.emit({"task": {"id": self.id, "contextId": "ctx", "status": {"state": state}}})

    async def say(self, state: str, **more: Any) -> None:
        await self.emit(status(self.id, state, **more))

    async def fail(self, error: Exception) -> None:
        async with self.changed:
            self.failure = error
            self.changed.notify_all()


Script = Callable[[FakeTask, SendCall], Awaitable[None]]


async def hello(task: FakeTask, call: SendCall) -> None:
    """The ordinary agent: begins, works, says hello, completes."""
    await task.begin()
    await task.say("TASK_STATE_WORKING")
    await task.emit(text_artifact(task.id, "hello"))
    await task.say("TASK_STATE_COMPLETED")


class FakeTasks:
    """Implements ``ports.Tasks``."""

    def __init__(self, script: Script = hello) -> None:
        self.script = script
        self.tasks: dict[str, FakeTask] = {}
        self.calls: list[SendCall] = []
        self.canceled: list[str] = []
        self.answers: list[Sent] = []
        self.queries: list[ListQuery] = []
        self.send_error: Exception | None = None
        self.send_delay_s = 0.0
        self.followers = 0
        self.stale = False
        self.runs: set[asyncio.Task[None]] = set()

    def add(self, task_id: str) -> FakeTask:
        self.tasks[task_id] = FakeTask(task_id)
        return self.tasks[task_id]

    async def close(self) -> None:
        for run in tuple(self.runs):
            run.cancel()
            with suppress(asyncio.CancelledError):
                await run

    async def send(self, call: SendCall) -> Sent:
        self.calls.append(call)
        if self.send_delay_s:
            await asyncio.sleep(self.send_delay_s)
        if self.send_error:
            raise self.send_error
        named = call.params["message"].get("taskId")
        task = self._find(named) if named else self.add(f"task-{len(self.tasks) + 1}")
        after = task.frames[-1].seq if task.frames else 1
        run = asyncio.ensure_future(self._run(task, call))
        self.runs.add(run)
        run.add_done_callback(self.runs.discard)
        key = KeyRow("k", 0, task.id, "", answered=False)
        return Sent(task.id, after, False, call.params["message"]["messageId"], key)

    async def _run(self, task: FakeTask, call: SendCall) -> None:
        await self.script(task, call)

    async def tail(self, task_id: str, after: int, *, past_questions: bool = False) -> AsyncIterator[list[Frame]]:
        task = self.tasks[task_id]
        self.followers += 1
        try:
            while True:
                async with task.changed:
                    while not task.failure and not (task.frames and task.frames[-1].seq > after):
                        await task.changed.wait()
                if task.failure:
                    raise task.failure
                batch = [frame for frame in task.frames if frame.seq > after]
                ended = next((at for at, frame in enumerate(batch) if _ends(frame, past_questions)), None)
                if ended is not None:
                    yield batch[: ended + 1]
                    return
                yield batch
                after = batch[-1].seq
        finally:
            self.followers -= 1

    async def answered(self, sent: Sent) -> None:
        self.answers.append(sent)

    async def get(self, task_id: str, caller: Caller, history_length: int | None = None) -> bytes:
        return orjson.dumps(with_history(self._find(task_id).fold.task(), history_length))

    async def snapshot(self, task_id: str, caller: Caller) -> tuple[int, bytes]:
        task = self._find(task_id)
        if task.fold.state in TERMINAL_STATES:
            raise rpc_error("UnsupportedOperation")
        return task.frames[-1].seq, await self.get(task_id, caller)

    async def list(self, query: ListQuery, caller: Caller) -> ListPage:
        self.queries.append(query)
        every = [task.fold.task() for task in self.tasks.values()]
        begin = query.page_after[0] if query.page_after else 0
        page = every[begin : begin + query.page_size]
        more = begin + len(page) < len(every)
        return ListPage(page, len(every), (begin + len(page), page[-1]["id"]) if more else None)

    async def cancel(self, task_id: str, caller: Caller, params: Json) -> bytes:
        task = self._find(task_id)
        self.canceled.append(task_id)
        await task.say("TASK_STATE_CANCELED")
        return await self.get(task_id, caller)

    def _find(self, task_id: str) -> FakeTask:
        try:
            return self.tasks[task_id]
        except KeyError:
            raise rpc_error("TaskNotFound") from None


def _ends(frame: Frame, past_questions: bool) -> bool:
    return frame.ends and not (past_questions and INPUT_REQUIRED.encode() in frame.event)
