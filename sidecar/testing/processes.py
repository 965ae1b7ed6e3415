"""Processes of a test, each with one log for all its lives: started, signalled, started again on the same ports.

Only what was started here is ever signalled. This file must not know what the processes are for.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol

import httpx

DEADLINE_S = 10.0
CARD_PATH = "/.well-known/agent-card.json"
PORTS_KEPT = 64

_kept: deque[socket.socket] = deque()


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


def free_port() -> int:
    """A port that nobody listens on, below those that the kernel gives to clients.

    Whoever is started again on it finds it as it was left. Until its user listens, its number is kept from every
    other process that asks here, by a UDP socket of the same number.
    """
    while True:
        port = random.randrange(12_000, 32_000)  # noqa: S311 - not a secret
        kept = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe, suppress(OSError):
            kept.bind(("127.0.0.1", port))
            probe.bind(("127.0.0.1", port))
            _kept.append(kept)
            if len(_kept) > PORTS_KEPT:
                _kept.popleft().close()
            return port
        kept.close()


class Running(Protocol):
    """The part of ``subprocess.Popen`` that is used here."""

    pid: int

    @property
    def returncode(self) -> int | Any:
        """The exit status; minus the signal's number where one ended it."""
        ...

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        ...

    def wait(self) -> int:
        """Block until it has ended."""
        ...


class Process:
    """One process that can be started again with the same command line, on the same ports.

    Args:
        name: also of its log file, which all its lives share.
        command: the command line.
        env: variables beside this process's own; of those, none that configures a sidecar is handed on.
        directory: where the log stands.
        probe: URL that answers 200 once the process is ready.
        failpoints: for its first life (``sidecar.failpoints``).

    Attributes:
        log: its log file.
        ended_at: monotonic time of the last ``kill``.
        popen: makes the process.
        cwd: where it runs; None is where the tests do.
    """

    popen: ClassVar[Callable[..., Running]] = subprocess.Popen
    cwd: ClassVar[Path | None] = None

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], directory: Path, probe: str,
        failpoints: str = "",
    ) -> None:  # fmt: skip
        self.name, self._command, self._env, self.probe = name, list(command), dict(env), probe
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
        assert not self.alive, f"{self.name} runs already"
        # What the developer's shell says about sidecars must not change what a test sees.
        env = {name: value for name, value in os.environ.items() if not name.startswith("DHP_")}
        if failpoints:
            env |= {"DHP_FAILPOINTS": failpoints, "DHP_FAILPOINTS_OK": "1"}
        with self.log.open("ab") as log:
            self._process = type(self).popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.cwd, env=env | self._env
            )

    def signal(self, number: int) -> None:
        """Send it a signal (SIGSTOP, SIGCONT, SIGTERM …), unless it has ended."""
        if self.alive:
            with suppress(ProcessLookupError):  # it has ended just now: whoever waits for it hears so next
                os.kill(self.pid, number)

    def kill(self) -> float:
        """SIGKILL, and wait for the end. Returns the monotonic time of the signal."""
        self.ended_at = time.monotonic()
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        return self.ended_at

    async def exited(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait for its end by itself, and return its exit status."""
        await wait_for(lambda: not self.alive, deadline_s, f"{self.name} ends")
        assert self._process is not None
        return self._process.returncode

    def lines(self) -> list[str]:
        """What it has logged in all its lives."""
        return self.log.read_text("utf-8", "replace").splitlines()


class AgentProcess(Process):
    """An agent.

    Args:
        name: see ``Process``.
        port: where it listens.
        command: that starts it there.
        directory: for its log.
        rpc_path: of its JSON-RPC endpoint; "" has a sidecar's card say it.
        env: see ``Process``.

    Attributes:
        url: what a sidecar is told.
    """

    def __init__(
        self, name: str, port: int, command: Sequence[str], directory: Path, rpc_path: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.url = f"http://127.0.0.1:{port}"
        self.rpc_path = rpc_path
        super().__init__(name, command, env or {}, directory, self.url + CARD_PATH)


class SidecarProcess(Process):
    """A sidecar or a gateway.

    Args:
        name: of its log.
        options: by name; ``__`` where the name has a dot.
        directory: for its log.
        rpc_path: of the JSON-RPC endpoint; "" until it is ready and its card was read.
        failpoints: see ``Process``.

    Attributes:
        url: what clients are told.
        control: where ``/readyz`` and ``/metrics`` are.
    """

    def __init__(
        self, name: str, options: Mapping[str, str], directory: Path, rpc_path: str = "", failpoints: str = ""
    ) -> None:  # fmt: skip
        self.rpc_path = rpc_path
        host = options.get("host", "127.0.0.1")
        self.url = f"http://{host}:{options['port']}"
        self.control = f"http://{host}:{options['control_port']}"
        env = {f"DHP_SIDECAR_{option.upper()}": value for option, value in options.items()}
        command = [sys.executable, "-m", "sidecar.cli", "run"]
        super().__init__(name, command, env, directory, f"{self.control}/readyz", failpoints)
