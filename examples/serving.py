"""How each example is served: the SDK's JSON-RPC routes and the card, on uvicorn.

The same for every agent, so it stands here once and the examples show only what they teach. It announces each
message that arrives, and the end of each run, as a JSON line on stdout with a monotonic time stamp: that is how
the demo knows, without asking the agent, when a standby was called and whether an agent is still at work.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

RPC_PATH = "/a2a"


class Cancelable(AgentExecutor):
    """An executor whose running task stops when asked to: the SDK cancels ``execute`` by itself."""

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Say that the task is canceled."""
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


class Announced(AgentExecutor):
    """Prints a line for each message before the executor sees it, and one when the executor is done with it.

    Args:
        inner: the agent.
    """

    def __init__(self, inner: AgentExecutor) -> None:
        self._inner = inner

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Announce the message, then run the agent."""
        self._say("received", context)
        try:
            await self._inner.execute(context, event_queue)
        finally:
            self._say("ended", context)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Hand on."""
        await self._inner.cancel(context, event_queue)

    @staticmethod
    def _say(what: str, context: RequestContext) -> None:
        print(json.dumps({what: time.monotonic(), "pid": os.getpid(), "task": context.task_id}), flush=True)


def options(description: str | None, port: int) -> argparse.ArgumentParser:
    """A command line with what every example has.

    Args:
        description: the example's docstring.
        port: where it listens if nobody says otherwise.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port, help=f"default {port}")
    return parser


def card(name: str, description: str, args: argparse.Namespace) -> AgentCard:
    """An agent's card for JSON-RPC with streaming at the address of the command line."""
    url = f"http://{args.host}:{args.port}{RPC_PATH}"
    return AgentCard(
        name=name,
        description=description,
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id=name, name=name, description=description, tags=["example"])],
    )


def serve(executor: AgentExecutor, agent_card: AgentCard, args: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    asyncio.run(_serve(executor, agent_card, args))


async def _serve(executor: AgentExecutor, agent_card: AgentCard, args: argparse.Namespace) -> None:
    handler = DefaultRequestHandler(
        agent_executor=Announced(executor), task_store=InMemoryTaskStore(), agent_card=agent_card
    )
    app = Starlette(routes=[*create_jsonrpc_routes(handler, RPC_PATH), *create_agent_card_routes(agent_card)])
    config = uvicorn.Config(app, host=args.host, port=args.port, log_level="warning", timeout_graceful_shutdown=1)
    try:
        await uvicorn.Server(config).serve()
    finally:
        await handler.aclose()
