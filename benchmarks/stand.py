"""The processes that a measurement needs: agents, sidecars, nginx where it is installed. All die with the block.

This file must not know what is measured. The failure it prevents: a figure that was taken while a process of the
measurement before still ran.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import httpx
import psutil

from tests.integration.agent_card import RPC_PATH
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess, Process, SidecarProcess, wait_for

P = TypeVar("P", bound=Process)

READY_S = 30.0
NGINX = shutil.which("nginx")
_NGINX_CONF = """
daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log stderr;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  keepalive_requests 100000000;
  upstream agent {{ server {agent}; keepalive 64; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{port} reuseport; location / {{
    proxy_pass http://agent; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    proxy_read_timeout 1h; }} }}
}}
"""


class Agent(AgentProcess):
    """An agent in an interpreter of its own: what is forked off a warm parent cannot be measured."""

    popen = staticmethod(subprocess.Popen)


class Sidecar(SidecarProcess):
    """A sidecar in an interpreter of its own."""

    popen = staticmethod(subprocess.Popen)


class Stand:
    """Everything that one measurement started.

    Args:
        directory: empty; holds stores and logs.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[Process] = []
        self.web = httpx.AsyncClient(timeout=10)

    def canned(self) -> AgentProcess:
        """``benchmarks.canned_agent``."""
        return self._agent("canned", "/rpc", "benchmarks.canned_agent")

    def sdk(self, kind: str) -> AgentProcess:
        """An agent on the SDK's own server (``tests.integration.agents``), with its log of executions."""
        name = self._name(kind)
        log = str(self.directory / f"{name}.jsonl")
        return self._agent(name, RPC_PATH, "tests.integration.agents", "--agent", kind, "--exec-log", log)

    def sidecar(
        self, agent: AgentProcess | None, store: str = "journal", rpc_path: str = "", **more: object
    ) -> SidecarProcess:
        """A sidecar with the defaults of the product, but for what is given; without an agent, a gateway."""
        name = self._name("sidecar")
        given: dict[str, object] = {
            "name": name,
            "port": free_port(),
            "control_port": free_port(),
            "store": f"sqlite:///{self.directory / store}.db",
        }
        given |= {"agent": agent.url} if agent else {"gateway": "true"}
        given |= more
        options = {key: str(value) for key, value in given.items()}
        path = rpc_path or (agent.rpc_path if agent else RPC_PATH)
        return self._add(Sidecar(name, options, self.directory, path))

    def nginx(self, agent: AgentProcess) -> AgentProcess | None:
        """nginx in front of an agent, None where it is not installed."""
        if NGINX is None:
            return None
        port, name = free_port(), self._name("nginx")
        home = self.directory / name
        home.mkdir()
        where = agent.url.removeprefix("http://")
        (home / "conf").write_text(_NGINX_CONF.format(directory=home, agent=where, port=port))
        command = [NGINX, "-c", str(home / "conf"), "-p", str(home), "-e", "stderr"]
        return self._add(Agent(name, port, command, self.directory, agent.rpc_path))

    def ways(self, agent: AgentProcess) -> dict[str, str]:
        """The addresses of an agent: itself, through nginx, through a sidecar. All have to become ready."""
        nginx, sidecar = self.nginx(agent), self.sidecar(agent, self._name("store"))
        found = {"direct": agent, "nginx": nginx, "sidecar": sidecar}
        return {way: each.url + each.rpc_path for way, each in found.items() if each is not None}

    async def ready(self, *processes: Process) -> None:
        """Wait until these, or all, say that they are ready."""
        await asyncio.gather(*(self._ready(each) for each in processes or self.processes))

    async def gauge(self, sidecar: SidecarProcess, name: str) -> float:
        """A sample without labels of the sidecar's metrics."""
        page = (await self.web.get(f"{sidecar.control}/metrics")).text
        samples = dict(line.rpartition(" ")[::2] for line in page.splitlines())
        return float(samples[f"dhp_sidecar_{name}"])

    async def close(self) -> None:
        """End everything that was started here."""
        for process in self.processes:
            children = psutil.Process(process.pid).children() if process.alive else []
            process.kill()
            for child in children:  # nginx's worker
                child.kill()
        await self.web.aclose()

    def _name(self, kind: str) -> str:
        return f"{kind}{len(self.processes)}"

    def _agent(self, name: str, rpc_path: str, module: str, *arguments: str) -> AgentProcess:
        port = free_port()
        command = [sys.executable, "-m", module, "--port", str(port), *arguments]
        return self._add(Agent(name, port, command, self.directory, rpc_path))

    def _add(self, process: P) -> P:
        self.processes.append(process)
        return process

    async def _ready(self, process: Process) -> None:
        async def answers() -> bool:
            if not process.alive:
                raise SystemExit(f"{process.name} ended at its start: {process.lines()[-5:]}")
            return (await self.web.get(process.probe)).status_code == 200

        await wait_for(answers, READY_S, f"{process.name} is ready")


def sidecar_of(stand: Stand) -> SidecarProcess:
    """The newest sidecar."""
    return next(each for each in reversed(stand.processes) if isinstance(each, SidecarProcess))


def cpu_s(process: Process) -> float:
    """CPU time that a process has spent, in user and in system mode."""
    return float(sum(psutil.Process(process.pid).cpu_times()[:2]))


@asynccontextmanager
async def standing() -> AsyncIterator[Stand]:
    """A stand for the duration of the block, in a directory of its own."""
    with TemporaryDirectory(prefix="dhp-bench-") as directory:
        stand = Stand(Path(directory))
        try:
            yield stand
        finally:
            await stand.close()
