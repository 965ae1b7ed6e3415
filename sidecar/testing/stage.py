"""A stage: all processes of one test on one store, what clients do there, and what the store holds at the end.

A test says what stands on it and what happens::

    async with dhp_stage as stage:
        agents = [stage.start_agent(COMMAND) for _ in range(2)]
        a, b = (stage.sidecar(each, lease__ttl_ms=1000) for each in agents)
        await stage.ready()
        seen = stage.send(a, "hello")          # the stock SDK client, in the background
        await wait_for(lambda: len(seen.text) > 3)
        agents[0].kill()
        await seen.ended()
        assert seen.completed
        await stage.verify()

Everything shares one store and one directory of logs. Nothing survives the stage, and only what was started here
is ever signalled. This file must not know what a test wants to see.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from a2a.client import Client, create_client

from bridge.journal import Entry
from sidecar.ops import inspect
from sidecar.ops.shelf import open_shelf
from sidecar.testing.processes import CARD_PATH, AgentProcess, Process, SidecarProcess, free_port, wait_for
from sidecar.testing.recording import Json, Recording, from_raw, from_sdk

READY_S = 20.0
V1 = {"A2A-Version": "1.0"}
LOG_LINES_SHOWN = 40


def message(text: str, **fields: Any) -> Json:
    """The params of a send. ``fields`` go into the message (``taskId``, ``messageId`` …)."""
    base = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": base | fields}


class Stage:
    """All processes of one test, and its clients; to be entered (``async with``) in the loop that uses them.

    Args:
        directory: empty; holds the store and the logs.

    Attributes:
        store: the file that all sidecars share.
        processes: everything that was started, in that order.
        web: an HTTP client for whatever else there is to ask.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = directory / "journal.db"
        self.processes: list[Process] = []
        self.web = httpx.AsyncClient(timeout=5)
        self._clients: list[Client] = []
        self._recordings: list[Recording] = []
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def start_agent(
        self, command: Sequence[str], name: str = "", rpc_path: str = "", env: Mapping[str, str] | None = None
    ) -> AgentProcess:
        """Start an agent.

        Args:
            command: any that starts one; ``{port}`` in it is replaced by a free port, and by the same one in every
                life. It is ready once its card can be read there.
            name: of its log.
            rpc_path: of its JSON-RPC endpoint, where its card should not be asked.
            env: variables for it, ``{port}`` in their values replaced, too.
        """
        name, port = name or f"agent{len(self.processes)}", free_port()
        filled = [each.replace("{port}", str(port)) for each in command]
        variables = {key: value.replace("{port}", str(port)) for key, value in (env or {}).items()}
        self.processes.append(agent := AgentProcess(name, port, filled, self.directory, rpc_path, variables))
        return agent

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
        rpc_path = agent.rpc_path if isinstance(agent, AgentProcess) else ""
        settings = {key: str(value) for key, value in given.items()}
        process = SidecarProcess(log, settings, self.directory, rpc_path, failpoints)
        self.processes.append(process)
        return process

    def gateway(self, name: str = "", **options: object) -> SidecarProcess:
        """Start a sidecar without an agent on the shared store."""
        return self.sidecar("", name or f"gateway{len(self.processes)}", "", gateway=True, **options)

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
        """Hang up, and end everything that was started here."""
        await asyncio.gather(*(recording.close() for recording in self._recordings))
        self.end()
        for client in self._clients:
            await client.close()
        await self.web.aclose()

    def end(self) -> None:
        """Kill everything that was started here; without an event loop, and as often as one likes."""
        for process in self.processes:
            process.kill()
        if not self._over:  # captured; shown where a test fails
            for recording in self._recordings:
                sys.stderr.write(f"{recording}\n")
            for process in self.processes:
                sys.stderr.write("\n".join([f"== {process.name}", *process.lines()[-LOG_LINES_SHOWN:], ""]))
        self._over = True

    def _record(self, recording: Recording) -> Recording:
        self._recordings.append(recording)
        return recording

    async def _ready(self, process: Process) -> None:
        async def answers() -> bool:
            assert process.alive, f"{process.name} ended at its start: {process.lines()[-5:]}"
            return (await self.web.get(process.probe)).status_code == 200

        await wait_for(answers, READY_S, f"{process.name} is ready")
        if isinstance(process, SidecarProcess) and not process.rpc_path:
            process.rpc_path = _rpc_path((await self.web.get(process.url + CARD_PATH)).json())


def _rpc_path(card: Json) -> str:
    found = [each["url"] for each in card["supportedInterfaces"] if each["protocolBinding"] == "JSONRPC"]
    return urlsplit(found[0]).path or "/" if found else ""


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
