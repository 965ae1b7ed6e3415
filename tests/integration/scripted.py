"""Agents that a test writes down as data: what each A2A method is answered, in which order, and with what pauses.

For ``RawAgent``, in the test's own loop::

    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED)), GetTask=answer(task(WORKING)))
    async with RawAgent(play) as agent:
        ...
        assert play.asked.count("GetTask") == 1

This file must not know the sidecar.
"""

from __future__ import annotations

import asyncio
import uuid

from tests.integration.raw_agent import Exchange, Json, Script

SUBMITTED, WORKING, COMPLETED = "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"
CANCELED, FAILED, INPUT_REQUIRED = "TASK_STATE_CANCELED", "TASK_STATE_FAILED", "TASK_STATE_INPUT_REQUIRED"
NOT_FOUND = {"code": -32001, "message": "Task not found"}
TASK_ID, CONTEXT_ID = "t1", "c1"


def task(state: str, **fields: object) -> Json:
    """A StreamResponse with a whole Task."""
    return {"task": {"id": TASK_ID, "contextId": CONTEXT_ID, "status": {"state": state}} | fields}


def status(state: str, text: str = "", **fields: object) -> Json:
    """A StreamResponse with a status, and what the agent says with it."""
    said: Json = {"state": state}
    if text:
        said["message"] = {"messageId": str(uuid.uuid4()), "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"statusUpdate": {"taskId": TASK_ID, "contextId": CONTEXT_ID, "status": said} | fields}


def chunk(text: str, *, append: bool = True, last: bool = False, **fields: object) -> Json:
    """A StreamResponse with a piece of the artifact ``a``."""
    part = {"artifactId": "a", "name": "a", "parts": [{"text": text}]}
    update = {"taskId": TASK_ID, "contextId": CONTEXT_ID, "artifact": part, "append": append, "lastChunk": last}
    return {"artifactUpdate": update | fields}


def stream(*events: Json, pause_s: float = 0, end: bool = True) -> Script:
    """Answer with these events; the stream then ends cleanly, or stays open for ever."""

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        for number, event in enumerate(events):
            if number:
                await asyncio.sleep(pause_s)
            await exchange.event(event)
        if not end:
            await asyncio.Event().wait()
        await exchange.end()

    return script


def answer(result: Json | None = None, error: Json | None = None) -> Script:
    """Answer with one JSON object."""

    async def script(exchange: Exchange) -> None:
        await exchange.answer(exchange.frame(result, error))

    return script


def in_turn(*scripts: Script) -> Script:
    """The first request gets the first script, the next one the next; the last script stays."""
    left = list(scripts)

    async def script(exchange: Exchange) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(exchange)

    return script


class Play:
    """A script that answers by method; what it has no part for is a task that it does not know.

    Attributes:
        parts: method to script; may be changed at any time.
        asked: the methods, in order of arrival.
        params: what came with each.
        following: streams that are open now, and the most there ever were at once.
    """

    def __init__(self, **parts: Script) -> None:
        self.parts = parts
        self.asked: list[str] = []
        self.params: list[Json] = []
        self.following = self.most_following = 0

    async def __call__(self, exchange: Exchange) -> None:
        method = exchange.rpc["method"]
        self.asked.append(method)
        self.params.append(exchange.rpc.get("params", {}))
        part = self.parts.get(method) or answer(error=NOT_FOUND)
        followed = method in ("SendStreamingMessage", "SubscribeToTask")
        self.following += followed
        self.most_following = max(self.following, self.most_following)
        try:
            await part(exchange)
        finally:
            self.following -= followed
