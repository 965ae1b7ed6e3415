"""Processes of a test, each with one log for all its lives: started, signalled, started again on the same ports.

Only what was started here is ever signalled. This file must not know what the processes are for.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import httpx

from tests.integration.forking import Running, start

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 10.0
Json = dict[str, Any]


async def wait_for(
    condition: Callable[[], object | Awaitable[object]], deadline_s: float = DEADLINE_S, what: str = ""
) -> Any:
    """Look until the condition holds, and return what it said.

    Args:
        condition: may be a coroutine function; an ``httpx.TransportError`` means "not yet".
        deadline_s: when to give up, with an AssertionError.
        what: names the condition in that error.
    """
    deadline = time.monotonic() + deadline_s
    while True:
        said: Any = None
        with suppress(httpx.TransportError):
            said = condition()
            if inspect.isawaitable(said):
                said, waiting = None, said
                said = await waiting
        if said:
            return said
        assert time.monotonic() < deadline, f"not within {deadline_s} s: {what or condition}"
        await asyncio.sleep(0.01)


class Process:
    """One process that can be started again with the same command line, on the same ports.

    Attributes:
        name: also of its log file, which all its lives share.
        ended_at: monotonic time of the last ``kill``.
        popen: makes the process.
    """

    popen: ClassVar[Callable[..., Running]] = start

    def __init__(
        self, name: str, command: list[str], env: dict[str, str], directory: Path, probe: str, failpoints: str = ""
    ) -> None:  # fmt: skip
        self.name, self._command, self._env, self.probe = name, command, env, probe
        self.log = directory / f"{name}.log"
        self.ended_at = 0.0
        self._process: Running | None = None
        self.start(failpoints)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs (or is stopped)."""
        return self._process is not None and self._process.poll() is None

    def start(self, failpoints: str = "") -> None:
        """Start it (again), with failpoints (``sidecar.failpoints``) armed for this life only."""
        assert not self.alive
        # What the developer's shell says about sidecars must not change what a test sees.
        env = {name: value for name, value in os.environ.items() if not name.startswith("DHP_")}
        if failpoints:
            env |= {"DHP_FAILPOINTS": failpoints, "DHP_FAILPOINTS_OK": "1"}
        with self.log.open("ab") as log:
            self._process = type(self).popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT, env=env | self._env
            )

    def signal(self, number: int) -> None:
        """SIGSTOP, SIGCONT, SIGTERM …"""
        if self.alive:
            os.kill(self.pid, number)

    def kill(self) -> float:
        """SIGKILL, and wait for the end. Returns the monotonic time of the signal."""
        self.ended_at = time.monotonic()
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        return self.ended_at

    async def exited(self, deadline_s: float = DEADLINE_S) -> int:
        """Its exit status."""
        await wait_for(lambda: not self.alive, deadline_s, f"{self.name} ends")
        assert self._process is not None
        return self._process.returncode

    def lines(self) -> list[str]:
        """What it has logged in all its lives."""
        return self.log.read_text("utf-8", "replace").splitlines()


class AgentProcess(Process):
    """An agent. ``url`` is what a sidecar is told."""

    def __init__(self, name: str, port: int, command: list[str], directory: Path, rpc_path: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.rpc_path = rpc_path
        self._journal = directory / f"{name}.jsonl"
        super().__init__(name, command, {}, directory, f"{self.url}/.well-known/agent-card.json")

    def journal(self, event: str = "exec") -> list[Json]:
        """Its ``--exec-log`` over all its lives: ``exec``, ``done`` or ``cancel`` lines."""
        if not self._journal.exists():
            return []
        lines = (json.loads(line) for line in self._journal.read_text("utf-8").splitlines())
        return [line for line in lines if line["event"] == event]


class SidecarProcess(Process):
    """A sidecar. ``url`` is what clients are told."""

    def __init__(
        self, name: str, options: dict[str, str], directory: Path, rpc_path: str, failpoints: str = ""
    ) -> None:  # fmt: skip
        self.rpc_path = rpc_path
        self.url = f"http://127.0.0.1:{options['port']}"
        self.control = f"http://127.0.0.1:{options['control_port']}"
        env = {f"DHP_SIDECAR_{option.upper()}": value for option, value in options.items()}
        command = [sys.executable, "-m", "sidecar.cli", "run"]
        super().__init__(name, command, env, directory, f"{self.control}/readyz", failpoints)
