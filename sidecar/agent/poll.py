"""A run of an agent that cannot stream: ask for its Task again and again.

Lives here: when to ask, when to stop. The file must not compute differences (``bridge.a2a.reconcile`` does):
each Task that differs from the one before is handed on whole. It prevents that an agent without streams is a
special case anywhere else.

An agent that ignores ``returnImmediately`` simply answers late. At AUTH_REQUIRED polling goes on, as a stream
would stay open: credentials may arrive out of band (§7.6.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any

from bridge.a2a.dialect import ends_stream
from sidecar.agent.answers import is_event
from sidecar.agent.run import Noticed, Run
from sidecar.errors import AgentTimeout
from sidecar.ports import EndKind, RunEnd
from sidecar.records import Json

Asked = Coroutine[Any, Any, Json | RunEnd]
_GROWTH = 1.5


class PollRun(Run):
    """Follows one task by GetTask.

    Args:
        first: the request whose answer names the task: SendMessage, or GetTask for a subscription.
        ask: GetTask for an agent's task id; raises AgentTimeout.
        interval_s: shortest and longest time between two questions; grows while nothing changes.
        noticed: told how it ended.
    """

    def __init__(
        self, first: Asked, ask: Callable[[str], Asked], interval_s: tuple[float, float], noticed: Noticed
    ) -> None:
        super().__init__(first, noticed)
        self._ask = ask
        self._shortest, self._longest = interval_s

    async def _receive(self) -> AsyncGenerator[list[Json]]:
        answer = await self._wait(self._pending)
        delay = self._shortest
        shown: Json = {}
        while not isinstance(answer, RunEnd):
            if answer is not _UNANSWERED:
                event = answer if is_event(answer) else {"task": answer}
                if problem := _problem(event):
                    self._ended = RunEnd(EndKind.MALFORMED, problem)
                    return
                if event == shown:
                    delay = min(delay * _GROWTH, self._longest)
                else:
                    delay, shown = self._shortest, event
                    yield [event]
                if ends_stream(event):
                    self._ended = RunEnd(EndKind.CLEAN)
                    return
            await self._next(asyncio.sleep(delay))
            answer = await self._next(_patient(self._ask(shown["task"]["id"])))
        self._ended = _while_polled(answer) if shown else answer


_UNANSWERED: Json = {}


async def _patient(asked: Awaitable[Json | RunEnd]) -> Json | RunEnd:
    """An agent that is slow to answer is not dead: probes and progress decide that, not this file."""
    try:
        return await asked
    except AgentTimeout:
        return _UNANSWERED


def _problem(event: Json) -> str:
    """What is wrong with an answer, "" for nothing."""
    if "message" in event:
        return ""
    task = event.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("id"), str) or not task["id"]:
        return "the answer is neither a Task with an id nor a Message"
    return ""


def _while_polled(end: RunEnd) -> RunEnd:
    """The agent has seen the run: a refused connection now means that it broke."""
    if end.kind is EndKind.REFUSED:
        return RunEnd(EndKind.BROKEN, f"refused while polled: {end.detail}")
    return end
