"""The agent of a storm: one process that plays every kind of ``script``, on the A2A SDK's own server.

    python -m tests.chaos.storm.actor --port P --exec-log FILE [--undeclared]

How it cuts its text into pieces and which artifact ids it takes differ from run to run; what it says does not.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import uuid
from pathlib import Path
from typing import Any

import uvicorn
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import TaskUpdater
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.types import Message, Part, Role, TaskState
from starlette.applications import Starlette

from sidecar.worker import declare_durable, durable_run
from tests.chaos.storm.script import Script, parse, part_of, question, said_at
from tests.integration.agent_card import REST_PATH, RPC_PATH, card_of
from tests.integration.agents import TestAgent


class Actor(TestAgent):
    """Plays whatever the message's text says."""

    kind = "storm"

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        messages = _said_by_user(context)
        script = parse(messages[0])
        self.note("exec", context)
        if script.kind == "echo":
            parts = [Part(text=f"echo {script.nonce}")]
            reply = Message(role=Role.ROLE_AGENT, message_id=str(uuid.uuid4()), parts=parts)
            reply.context_id = context.context_id or ""
            await event_queue.enqueue_event(reply)
            return
        run = await durable_run(context, event_queue)
        if script.kind == "steady":
            await self._steady(run, script)
        elif script.kind in ("prose", "twins"):
            await self._pieces(run, script)
        else:
            await self._long(run, script, messages[1:])
        self.note("done", context)

    async def _steady(self, run: Any, script: Script) -> None:
        first = int(run.last_checkpoint or 0) + 1
        if first == 1:
            await run.start_work()
        for step in range(first, script.steps + 1):
            await asyncio.sleep(script.pace)
            await _say(run, said_at(step))
            kept = step if step % script.every == 0 else None
            place: dict[str, Any] = {"append": step > 1, "last_chunk": step == script.steps}
            await run.add_artifact(
                [Part(text=script.chunk(step))], "result", name="result", checkpoint=kept, **place
            )
        await run.complete()

    async def _long(self, run: TaskUpdater, script: Script, answers: list[str]) -> None:
        part = len(answers)
        await run.start_work()
        begun = part > 0
        if part:
            await run.add_artifact([Part(text=f"<{answers[-1]}>")], "result", name="result", append=begun)
        for step in range(script.steps * part + 1, script.steps * (part + 1) + 1):
            await asyncio.sleep(script.pace)
            if script.kind != "endless":
                await _say(run, said_at(step))
            await run.add_artifact([Part(text=script.chunk(step))], "result", name="result", append=begun)
            begun = True
        if part < script.questions:
            await run.requires_input(run.new_agent_message([Part(text=question(part + 1))]))
        else:
            await run.complete()

    async def _pieces(self, run: TaskUpdater, script: Script) -> None:
        await run.start_work()
        ids: dict[str, str] = {}
        step = 1
        while step <= script.steps:
            size = random.randint(1, 5) if script.kind == "prose" else 1
            await asyncio.sleep(script.pace * size)
            name = part_of(script, step)
            steps = range(step, min(step + size, script.steps + 1))
            text = "".join(script.chunk(each, name) for each in steps)
            append = name in ids
            await run.add_artifact(
                [Part(text=text)], ids.setdefault(name, str(uuid.uuid4())), name=name, append=append
            )
            step += size
        await run.complete()


async def _say(run: TaskUpdater, text: str) -> None:
    await run.update_status(TaskState.TASK_STATE_WORKING, message=run.new_agent_message([Part(text=text)]))


def _said_by_user(context: RequestContext) -> list[str]:
    """Every message of the client's on this task, the present one last."""
    past = list(context.current_task.history) if context.current_task else []
    now = context.message
    messages = [each for each in past if each.role == Role.ROLE_USER and now and each.message_id != now.message_id]
    return ["".join(part.text for part in each.parts) for each in [*messages, *([now] if now else [])]]


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--exec-log", type=Path)
    parser.add_argument("--undeclared", action="store_true", help="the card does not declare durability")
    args = parser.parse_args()
    card = card_of(Actor.kind, f"http://127.0.0.1:{args.port}", streaming=True)
    if not args.undeclared:
        card = declare_durable(card)
    handler: Any = DefaultRequestHandler(
        agent_executor=Actor(args.exec_log), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, RPC_PATH)]
    app = Starlette(routes=[*routes, *create_rest_routes(handler, path_prefix=REST_PATH)])
    config = uvicorn.Config(app, host=args.host, port=args.port, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(main())
