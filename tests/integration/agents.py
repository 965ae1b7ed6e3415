"""Agents for tests: small, real, on the A2A SDK's own server, and unaware of durability.

    python -m tests.integration.agents --agent long --port P [--exec-log FILE] [--no-streaming] [--public-url URL]

Kinds (what a message's text may set is in brackets; all paces are seconds):
    echo          answers with a Message, no task
    long          [steps=10 pace=0.1 chunk=16 status=1 art=1 hold=0] a status and an artifact chunk per step;
                  before step hold it waits for a file "go" beside its log
    input         [questions=1] asks, and completes after as many answers; "reject" as an answer rejects
    cancel        [seconds=600] works until it is canceled
    deaf          [seconds=600] the same, but cancel does nothing
    silent        [seconds=600] says that it works, then nothing until it completes
    steady        long, but it keeps checkpoints and does no step again that one covers [the same, every=1]
    nonstreaming  long, with a card that says that it cannot stream (``--no-streaming`` does that to any kind)

JSON-RPC is at /a2a/jsonrpc, the card where cards are. Each execution appends JSON lines to the log: {t, pid,
agent, event: exec|done|cancel, task, context, message, text, metadata}. The process says "ready" on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import TaskUpdater
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.types import (
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf import json_format

from sidecar.testing import processes
from sidecar.worker import declare_durable, durable_run
from tests.integration.agent_card import REST_PATH, RPC_PATH, card_of


def numbers_of(context: RequestContext) -> dict[str, float]:
    words = (word.partition("=") for word in context.get_user_input().split())
    return {name: float(value) for name, _, value in words if value.replace(".", "").isdigit()}


class TestAgent(AgentExecutor):
    """What all kinds share: parameters from the text, the log, the task that comes first."""

    __test__ = False
    kind = ""

    def __init__(self, log: Path | None) -> None:
        self._log = log

    def note(self, event: str, context: RequestContext) -> None:
        if self._log is None:
            return
        message = context.message
        line = {
            "t": time.time(),
            "pid": os.getpid(),
            "agent": self.kind,
            "event": event,
            "task": context.task_id,
            "context": context.context_id,
            "message": message.message_id if message else None,
            "text": context.get_user_input() if message else None,
            "metadata": json_format.MessageToDict(message.metadata) if message else None,
        }
        with self._log.open("a") as file:
            file.write(json.dumps(line) + "\n")

    async def pause(self, step: int, given: dict[str, float]) -> None:
        await asyncio.sleep(given.get("pace", 0.1))
        while step == given.get("hold") and self._log and not self._log.with_name("go").exists():
            await asyncio.sleep(0.01)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.note("exec", context)
        given = numbers_of(context)
        task_id, context_id = context.task_id or "", context.context_id or ""
        if context.current_task is not None:
            context_id = context.current_task.context_id
        elif self.kind != "echo":
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            history = [context.message] if context.message else []
            await event_queue.enqueue_event(
                Task(id=task_id, context_id=context_id, status=status, history=history)
            )
        await self.work(context, TaskUpdater(event_queue, task_id, context_id), given, event_queue)
        self.note("done", context)

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        raise NotImplementedError

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.note("cancel", context)
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


class Echo(TestAgent):
    kind = "echo"

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        parts = [Part(text="echo: " + context.get_user_input())]
        reply = Message(role=Role.ROLE_AGENT, message_id=str(uuid.uuid4()), parts=parts)
        reply.context_id = context.context_id or ""
        await queue.enqueue_event(reply)


class Long(TestAgent):
    kind = "long"

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        steps, chunk = int(given.get("steps", 10)), int(given.get("chunk", 16))
        await task.start_work()
        for step in range(1, steps + 1):
            await self.pause(step, given)
            if given.get("status", 1):
                said = task.new_agent_message([Part(text=f"step {step}/{steps}")])
                await task.update_status(TaskState.TASK_STATE_WORKING, message=said)
            if given.get("art", 1):
                await task.add_artifact(
                    [Part(text=f"[{step}]".ljust(chunk, "x"))],
                    artifact_id="result",
                    name="result",
                    append=step > 1,
                    last_chunk=step == steps,
                )
        await task.complete()


class Steady(TestAgent):
    kind = "steady"

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.note("exec", context)
        run = await durable_run(context, event_queue)
        given = numbers_of(context)
        steps, every = int(given.get("steps", 10)), int(given.get("every", 1))
        first = int(run.last_checkpoint or 0) + 1
        if first == 1:
            await run.start_work()
        for step in range(first, steps + 1):
            await self.pause(step, given)
            self.note(f"step {step}", context)
            said = run.new_agent_message([Part(text=f"step {step}/{steps}")])
            await run.update_status(TaskState.TASK_STATE_WORKING, message=said)
            text = f"[{step}]".ljust(int(given.get("chunk", 16)), "x")
            place: dict[str, Any] = {"append": step > 1, "last_chunk": step == steps}
            kept = step if step % every == 0 else None
            await run.add_artifact([Part(text=text)], "result", name="result", checkpoint=kept, **place)
        await run.complete()
        self.note("done", context)


class NonStreaming(Long):
    kind = "nonstreaming"


class Input(TestAgent):
    kind = "input"

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        history = list(context.current_task.history) if context.current_task else []
        said = [m for m in history if m.role == Role.ROLE_USER]
        texts = ["".join(part.text for part in m.parts) for m in said] or [context.get_user_input()]
        asked = int(dict(word.partition("=")[::2] for word in texts[0].split()).get("questions", "1"))
        current = context.message.message_id if context.message else ""
        answers = len([m for m in said if m.message_id != current]) if context.current_task else 0
        await task.start_work()
        if context.get_user_input().strip() == "reject":
            await task.reject()
        elif answers < asked:
            question = task.new_agent_message([Part(text=f"question {answers + 1} of {asked}?")])
            await task.requires_input(question)
        else:
            text = f"{asked} answers, the last was {context.get_user_input()}"
            await task.add_artifact([Part(text=text)], artifact_id="r", name="r", last_chunk=True)
            await task.complete()


class Cancel(TestAgent):
    kind = "cancel"

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        await task.start_work()
        for tick in range(int(given.get("seconds", 600) * 10)):
            await asyncio.sleep(0.1)
            if tick % 10 == 0:
                await task.add_artifact([Part(text=f"{tick} ")], artifact_id="r", name="r", append=tick > 0)
        await task.complete()


class Deaf(Cancel):
    kind = "deaf"

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.note("cancel", context)


class Silent(TestAgent):
    kind = "silent"

    async def work(
        self, context: RequestContext, task: TaskUpdater, given: dict[str, float], queue: EventQueue
    ) -> None:
        await task.start_work()
        await asyncio.sleep(given.get("seconds", 600))
        await task.complete()


free_port = processes.free_port
KINDS = {each.kind: each for each in (Echo, Long, Steady, Input, Cancel, Deaf, Silent, NonStreaming)}


@contextmanager
def agent_process(kind: str, *args: str, port: int | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start an agent as a process; yields (process, url) once it serves. It is killed at the end."""
    port = port or free_port()
    command = [sys.executable, "-m", "tests.integration.agents", "--agent", kind, "--port", str(port), *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", f"agent {kind} did not start"
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def main() -> None:
    import uvicorn
    from starlette.applications import Starlette

    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", choices=KINDS, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--exec-log", type=Path)
    parser.add_argument("--no-streaming", action="store_true")
    parser.add_argument("--public-url")
    args = parser.parse_args()
    streaming = not args.no_streaming and args.agent != "nonstreaming"
    card = card_of(args.agent, args.public_url or f"http://127.0.0.1:{args.port}", streaming=streaming)
    if args.agent == Steady.kind:
        card = declare_durable(card)
    handler: Any = DefaultRequestHandler(
        agent_executor=KINDS[args.agent](args.exec_log), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, RPC_PATH)]
    app = Starlette(routes=[*routes, *create_rest_routes(handler, path_prefix=REST_PATH)])
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=args.port, log_level="warning", access_log=False)
    )
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await serving


if __name__ == "__main__":
    asyncio.run(main())
