"""Driving agents in tests: a link to a scripted agent, and waiting with deadlines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from sidecar.agent import AgentSettings, HttpAgentLink
from sidecar.ports import AgentRun
from sidecar.records import Json
from tests.integration.raw_agent import RawAgent, Script
from tests.integration.raw_scripts import artifact

PARAMS: Json = {"message": {"role": "ROLE_USER", "messageId": "m1", "parts": [{"text": "x"}]}}
HELLO = artifact("hello", append=False)


async def drain(run: AgentRun, seconds: float = 10) -> list[Json]:
    async with asyncio.timeout(seconds):
        return [event async for batch in run.batches() for event in batch]


class Linked:
    """A link to a scripted agent."""

    def __init__(self, script: Script, settings: AgentSettings | None = None, **agent: Any) -> None:
        self.agent = RawAgent(script, **agent)
        self.settings = settings

    async def __aenter__(self) -> tuple[HttpAgentLink, RawAgent]:
        await self.agent.__aenter__()
        self.link = HttpAgentLink(self.agent.url, self.settings)
        return self.link, self.agent

    async def __aexit__(self, *_: object) -> None:
        await self.link.close()
        await self.agent.__aexit__()


async def until(condition: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        await asyncio.sleep(0.01)
