"""Real processes for tests: agents and sidecars that are started, killed, stopped and started again.

A test says what stands on the stage and what happens to it::

    async def test_…(stage: Stage) -> None:
        agents = [stage.agent("long"), stage.agent("long")]
        a, b = (stage.sidecar(each, lease__ttl_ms=1000) for each in agents)
        await stage.ready()
        seen = stage.send(a, "steps=10 pace=0.05")          # the stock SDK client, in the background
        await wait_for(lambda: len(seen.statuses) > 3)
        agents[0].kill()
        await seen.ended()
        assert seen.completed
        await stage.verify()

Everything shares one store and one directory of logs. Nothing survives the fixture, and only what was started here
is ever signalled. This file must not know what a test wants to see.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import httpx
from a2a.client import Client, create_client

from bridge.journal import Entry
from sidecar.ops import inspect
from sidecar.ops.shelf import open_shelf
from tests.integration.agent_card import RPC_PATH
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess, Process, SidecarProcess, wait_for
from tests.integration.recording import Json, Recording, from_raw, from_sdk

READY_S = 20.0
V1 = {"A2A-Version": "1.0"}
RAW_PATH = "/rpc"
__all__ = ["AgentProcess", "Recording", "SidecarProcess", "Stage", "message", "staged", "wait_for"]


def message(text: str, **fields: Any) -> Json:
    """The params of a send. ``fields`` go into the message (``taskId``, ``messageId`` …)."""
    base = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": base | fields}


class Stage:
    """All processes of one test, and its clients.

    Args:
        directory: empty; holds the store and the logs.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = directory / "journal.db"
        self.processes: list[Process] = []
        self.web = httpx.AsyncClient(timeout=5)
        self._clients: list[Client] = []
        self._recordings: list[Recording] = []

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
        self, agent: AgentProcess | str, name: str = "", failpoints: str = "", **options: object
    ) -> SidecarProcess:
        """Start a sidecar on the shared store.

        Args:
            agent: in front of which, or its URL; "" for a gateway.
            name: unlike the others', unless the test is about that.
            failpoints: for its first life (``sidecar.failpoints``).
            options: names of the options; ``__`` where they have a dot (``lease__ttl_ms=600``).
        """
        taken = [process.name for process in self.processes]
        name = name or f"sidecar{len(taken)}"
        given = {
            "agent": agent if isinstance(agent, str) else agent.url, "name": name, "port": free_port(),
            "control_port": free_port(), "store": f"sqlite:///{self.store}", "log__level": "debug", **options,
        }  # fmt: skip
        log = name if name not in taken else f"{name}-{len(taken)}"
        rpc_path = agent.rpc_path if isinstance(agent, AgentProcess) else RAW_PATH if agent else RPC_PATH
        settings = {key: str(value) for key, value in given.items()}
        process = SidecarProcess(log, settings, self.directory, rpc_path, failpoints)
        self.processes.append(process)
        return process

    def gateway(self, name: str = "", **options: object) -> SidecarProcess:
        """Start a sidecar without an agent on the shared store, for agents of ``tests.integration.agents``."""
        return self.sidecar("", name or f"gateway{len(self.processes)}", gateway=True, **options)

    async def ready(self, *processes: Process) -> None:
        """Wait until these, or all that live, answer 200 where they say whether they are ready."""
        await asyncio.gather(
            *(self._ready(each) for each in processes or self.processes if each.alive or processes)
        )

    async def restart(self, process: Process) -> None:
        """Start a process that has ended again, on the same ports, and wait until it is ready."""
        process.start()
        await self.ready(process)

    async def reasons(self, sidecar: SidecarProcess) -> list[str]:
        """Why ``/readyz`` says no; empty when it says yes."""
        reasons: list[str] = (await self.web.get(sidecar.probe)).json().get("reasons", [])
        return reasons

    async def metric(self, sidecar: SidecarProcess, name: str) -> float:
        """A counter, summed over its labels; ``name`` without prefix and ``_total``."""
        page = (await self.web.get(f"{sidecar.control}/metrics")).text
        samples = (line.rpartition(" ") for line in page.splitlines())
        return sum(
            float(value) for key, _, value in samples if key.partition("{")[0] == f"dhp_sidecar_{name}_total"
        )

    async def client(self, sidecar: SidecarProcess) -> Client:
        """A stock SDK client, closed with the stage."""
        self._clients.append(client := await create_client(sidecar.url))
        return client

    def send(self, sidecar: SidecarProcess, text: str, *, binding: str = "JSONRPC", **fields: Any) -> Recording:
        """Send a message with a stock client of its own, and record its stream in the background."""
        return self._record(from_sdk(sidecar.url, message(text, **fields), binding))

    def subscribe(self, sidecar: SidecarProcess, task_id: str, *, binding: str = "JSONRPC") -> Recording:
        """The same for a subscription."""
        return self._record(from_sdk(sidecar.url, {"id": task_id}, binding))

    def stream(self, sidecar: SidecarProcess, method: str, params: Json, **headers: str) -> Recording:
        """The same as raw SSE frames, with their ids."""
        return self._record(from_raw(sidecar.url + sidecar.rpc_path, method, params, V1 | headers))

    async def rpc(self, sidecar: SidecarProcess, method: str, params: Json, timeout_s: float = 30) -> Json:
        """One JSON-RPC call. Returns the answer's ``result``, or ``{"error": …}``."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = (
            await self.web.post(sidecar.url + sidecar.rpc_path, json=body, headers=V1, timeout=timeout_s)
        ).json()
        result: Json = answer["result"] if "result" in answer else {"error": answer["error"]}
        return result

    def go(self) -> None:
        """Let agents go on that hold (``hold=``) until the test has seen enough."""
        (self.directory / "go").touch()

    async def task(self, sidecar: SidecarProcess, task_id: str) -> Json:
        """GetTask."""
        return await self.rpc(sidecar, "GetTask", {"id": task_id})

    async def journal(self, task_id: str) -> list[Entry]:
        """All committed entries of a task, read from the file."""
        return await asyncio.to_thread(_journal, self.store, task_id)

    async def kinds(self, task_id: str) -> list[str]:
        """The kinds of the entries."""
        return [str(entry.kind) for entry in await self.journal(task_id)]

    async def task_ids(self) -> list[str]:
        """Everything that was dispatched, whether a client has heard of it or not."""
        return await asyncio.to_thread(_task_ids, self.store)

    async def verify(self) -> None:
        """``dhp-sidecar verify`` on everything that is stored; it must find nothing wrong."""
        status, said = await asyncio.to_thread(_verify, self.store)
        assert status == inspect.OK, said

    async def close(self) -> None:
        """End everything that was started here."""
        await asyncio.gather(*(recording.close() for recording in self._recordings))
        for process in self.processes:
            process.kill()
        for client in self._clients:
            await client.close()
        await self.web.aclose()
        for recording in self._recordings:
            sys.stderr.write(f"{recording}\n")
        for process in self.processes:  # captured; shown where a test fails
            sys.stderr.write("\n".join([f"== {process.name}", *process.lines()[-40:], ""]))

    def _record(self, recording: Recording) -> Recording:
        self._recordings.append(recording)
        return recording

    def _agent(self, name: str, module: str, *arguments: str) -> AgentProcess:
        port = free_port()
        command = [sys.executable, "-m", f"tests.integration.{module}", "--port", str(port), *arguments]
        rpc_path = RPC_PATH if module == "agents" else RAW_PATH
        self.processes.append(agent := AgentProcess(name, port, command, self.directory, rpc_path))
        return agent

    async def _ready(self, process: Process) -> None:
        async def answers() -> bool:
            assert process.alive, f"{process.name} ended at its start: {process.lines()[-5:]}"
            return (await self.web.get(process.probe)).status_code == 200

        await wait_for(answers, READY_S, f"{process.name} is ready")


@asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Stage]:
    """A stage for the duration of the block."""
    stage = Stage(directory)
    try:
        yield stage
    finally:
        await stage.close()


def _journal(store: Path, task_id: str) -> list[Entry]:
    with open_shelf(store) as shelf:
        return list(shelf.entries(task_id))


def _task_ids(store: Path) -> list[str]:
    with open_shelf(store) as shelf:
        return list(shelf.find(""))


def _verify(store: Path) -> tuple[int, str]:
    with open_shelf(store) as shelf:
        status = inspect.verify_store(shelf, inspect.Screen(out := StringIO(), BytesIO()), "")
    return status, out.getvalue()
