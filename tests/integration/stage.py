"""The library's stage (``sidecar.testing``) with the agents of these tests on it.

    async def test_…(stage: Stage) -> None:
        agents = [stage.agent("long"), stage.agent("long")]
        a, b = (stage.sidecar(each, lease__ttl_ms=1000) for each in agents)
        await stage.ready()
        seen = stage.send(a, "steps=10 pace=0.05 hold=5")   # the stock SDK client, in the background
        await seen.at_least(4)
        agents[0].kill()
        stage.go()
        await seen.ended()
        assert seen.completed
        await stage.verify()

This file must not know what a test wants to see.
"""

from __future__ import annotations

import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sidecar.testing import processes as library
from sidecar.testing import stage as theatre
from sidecar.testing.recording import Recording
from sidecar.testing.stage import V1, message
from tests.integration.agent_card import RPC_PATH
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess, SidecarProcess, wait_for

RAW_PATH = "/rpc"
__all__ = ["V1", "AgentProcess", "Recording", "SidecarProcess", "Stage", "message", "staged", "wait_for"]


class Stage(theatre.Stage):
    """All processes of one test, and its clients."""

    def agent(self, kind: str, *arguments: str, name: str = "") -> AgentProcess:
        """Start an agent of ``tests.integration.agents``, with its log of executions."""
        name = name or f"agent{len(self.processes)}-{kind}"
        log = str(self.directory / f"{name}.jsonl")
        return self._agent(name, "agents", "--agent", kind, "--exec-log", log, *arguments)

    def raw_agent(self, script: str, *arguments: str, name: str = "") -> AgentProcess:
        """Start an agent of ``tests.integration.raw_agent``."""
        name = name or f"agent{len(self.processes)}-{script}"
        return self._agent(name, "raw_agent", "--script", script, *arguments)

    def sidecar(
        self, agent: library.AgentProcess | str, name: str = "", failpoints: str = "", **options: object
    ) -> SidecarProcess:
        """Start a sidecar; its JSON-RPC path is known before it is ready."""
        process = super().sidecar(agent, name, failpoints, **options)
        process.rpc_path = process.rpc_path or (RAW_PATH if agent else RPC_PATH)
        return process

    def go(self) -> None:
        """Let agents go on that hold (``hold=``) until the test has seen enough."""
        (self.directory / "go").touch()

    def stop_between_commits(self, sidecar: SidecarProcess) -> None:
        """SIGSTOP to a sidecar while it does not hold the lock of the store's file: nobody else could write."""
        file = sqlite3.connect(self.store, timeout=10, isolation_level=None)
        try:
            file.execute("BEGIN IMMEDIATE")  # while this has the lock, nobody else has it
            sidecar.signal(signal.SIGSTOP)
            file.execute("ROLLBACK")
        finally:
            file.close()

    def _agent(self, name: str, module: str, *arguments: str) -> AgentProcess:
        port = free_port()
        command = [sys.executable, "-m", f"tests.integration.{module}", "--port", str(port), *arguments]
        rpc_path = RPC_PATH if module == "agents" else RAW_PATH
        self.processes.append(agent := AgentProcess(name, port, command, self.directory, rpc_path))
        return agent


@asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Stage]:
    """A stage for the duration of the block."""
    async with Stage(directory) as stage:
        yield stage
