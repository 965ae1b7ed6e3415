"""The library's processes as this suite starts them: forked off a warm parent, from the root of the repository."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sidecar.testing import processes
from sidecar.testing.processes import Process, SidecarProcess, wait_for
from sidecar.testing.recording import Json
from tests.integration.forking import start

__all__ = ["DEADLINE_S", "ROOT", "AgentProcess", "Json", "Process", "SidecarProcess", "wait_for"]

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = processes.DEADLINE_S
Process.popen = staticmethod(start)
Process.cwd = ROOT


class AgentProcess(processes.AgentProcess):
    """An agent of these tests, which writes down what it does."""

    def __init__(
        self, name: str, port: int, command: Sequence[str], directory: Path, rpc_path: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._journal = directory / f"{name}.jsonl"
        super().__init__(name, port, command, directory, rpc_path, env)

    def journal(self, event: str = "exec") -> list[Json]:
        """Its ``--exec-log`` over all its lives: ``exec``, ``done`` or ``cancel`` lines."""
        if not self._journal.exists():
            return []
        lines = (json.loads(line) for line in self._journal.read_text("utf-8").splitlines())
        return [line for line in lines if line["event"] == event]
