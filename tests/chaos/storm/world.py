"""The processes of a storm: two agents, two sidecars, the gateways; hit as the schedule says, and started again.

Every signal and every end goes into the history, so that the checker knows who was in trouble when. Only what was
started here is ever signalled. This file must not know what clients see.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import httpx

from tests.chaos.net.hosts import Hosts
from tests.chaos.net.switch import Switch
from tests.chaos.nursery import Nursery
from tests.chaos.storm import links
from tests.chaos.storm.faults import AGENTS, DRAIN_S, FRAIL_GATE, SIDECARS, STEADY_GATE, Fault
from tests.chaos.storm.growth import Samples
from tests.chaos.storm.history import History
from tests.integration.agent_card import RPC_PATH
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess, Process, SidecarProcess, wait_for

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}
AGENT_PORT = 9_000
AGENT_GRACE_S = 2.0
EXIT_S = DRAIN_S + 5.0
READY_S = 20.0
SAMPLE_S = 1.0


class Actor(AgentProcess):
    """An agent of a storm: forked, as it is started often."""


class Placed(SidecarProcess):
    """A sidecar of a storm on a host of its own."""


class World:
    """All processes of one storm.

    Args:
        directory: empty; holds the store and the logs.
        history: what happens is written there.
        gateways: one or two.
        declared: the agents' card declares the durability extension.
        apart: every sidecar is a host of its own, with a store of its own; they are peers.
        hosts: where each of them runs, an agent beside its sidecar; None is on this one.
    """

    def __init__(
        self,
        directory: Path,
        history: History,
        *,
        gateways: int = 2,
        declared: bool = True,
        apart: bool = False,
        hosts: Hosts | None = None,
    ) -> None:
        self.directory, self.history = directory, history
        names = [*SIDECARS, *(STEADY_GATE, FRAIL_GATE)[:gateways]]
        self._peer_ports = {name: free_port() for name in names} if apart else {}
        self.samples = Samples()
        self.faults: dict[str, int] = {}
        self.skipped = 0
        self.wrong: list[str] = []
        self._hosts = hosts
        beside = dict(zip(AGENTS, SIDECARS, strict=True)) | {name: name for name in names}
        spaces = {name: hosts.namespaces[host] for name, host in beside.items()} if hosts else {}
        self._nursery = Nursery(spaces)
        if hosts is not None:
            Placed.popen = staticmethod(hosts.popen)
        Actor.popen = staticmethod(self._nursery.popen)  # type: ignore[assignment]
        self.processes: dict[str, Process] = {}
        self._pids: set[int] = set()
        self._recovering: set[str] = set()
        self._web = httpx.AsyncClient(timeout=5)
        for agent, sidecar in zip(AGENTS, SIDECARS, strict=True):
            self._add(actor := self._agent(agent, declared=declared))
            self._add(self._sidecar(sidecar, agent=actor.url, drain_s=DRAIN_S))
        for gate in (STEADY_GATE, FRAIL_GATE)[:gateways]:
            self._add(self._sidecar(gate, agent="", gateway=True, drain_s=DRAIN_S / 2))

    @property
    def stores(self) -> list[Path]:
        """The files of all hosts."""
        return [self.directory / f"{name}.db" for name in self._peer_ports or ("journal",)]

    @property
    def frames(self) -> dict[str, int]:
        """What became of the frames between the hosts, where there are any."""
        return {"passed": self._hosts.switch.passed, "lost": self._hosts.switch.lost} if self._hosts else {}

    @property
    def gates(self) -> dict[str, str]:
        """The gateways' names and addresses."""
        return {
            name: process.url
            for name, process in self.processes.items()
            if name.startswith("gate") and isinstance(process, SidecarProcess)
        }

    async def ready(self, *names: str) -> None:
        """Wait until these (default: all) say that they are ready."""
        await asyncio.gather(*(self._ready(self.processes[name]) for name in names or self.processes))

    async def blow(self, faults: list[Fault]) -> None:
        """Carry out a schedule; returns when everything that it hit is at work again."""
        await asyncio.gather(*(self._carry_out(fault) for fault in faults))

    async def sample(self) -> None:
        """Measure every process now and then, until cancelled."""
        while True:
            await asyncio.sleep(SAMPLE_S)
            for name, process in self.processes.items():
                if process.alive:
                    self.samples.take(self.history.now(), name, process.pid)
            for store in self.stores:
                self.samples.wal(self.history.now(), store)

    async def stop(self) -> None:
        """SIGTERM everything at the end, sidecars first; whatever does not go is named in ``wrong``."""
        named = sorted(self.processes.items(), key=lambda item: item[0], reverse=True)
        for name, process in named:
            process.signal(signal.SIGTERM)
            if isinstance(process, Actor):
                with suppress(AssertionError):
                    await process.exited(AGENT_GRACE_S)
                process.kill()
            else:
                await self._exits(name, process)
        left = [pid for pid in self._pids if Path(f"/proc/{pid}").exists() and _is_ours(pid, self.directory)]
        if left:
            self.wrong.append(f"left running: {left}")

    async def close(self) -> None:
        """Kill whatever is left."""
        for process in self.processes.values():
            process.kill()
        self._nursery.close()
        await self._web.aclose()

    async def _carry_out(self, fault: Fault) -> None:
        await asyncio.sleep(max(0.0, fault.at - self.history.now()))
        # On a busy machine a target may still be on its way back from the fault before.
        free = [name for name in fault.targets if name in self.processes and name not in self._recovering]
        hit = [name for name in free if self.processes[name].alive]
        if not hit or (fault.action not in SIGNALS and len(hit) < len(fault.targets)):
            self.skipped += 1
            return
        self.faults[fault.kind] = self.faults.get(fault.kind, 0) + 1
        self.history.note("fault", action=fault.action, targets=hit, hold=fault.hold)
        for name in hit if fault.action in SIGNALS else ():
            self.processes[name].signal(SIGNALS[fault.action])
        self._recovering.update(hit)
        if fault.action in SIGNALS:
            await asyncio.gather(*(self._recover(name, fault) for name in hit))
        elif self._hosts is not None:
            await self._spoil(self._hosts.switch, fault)
        self._recovering.difference_update(hit)

    async def _spoil(self, switch: Switch, fault: Fault) -> None:
        links.strike(switch, fault.action, fault.targets)
        await asyncio.sleep(fault.hold)
        links.strike(switch, "clear", fault.targets)
        for name in fault.targets:
            await self._ready(self.processes[name])
            self.history.note("ready", target=name)

    async def _recover(self, name: str, fault: Fault) -> None:
        process = self.processes[name]
        if fault.action == "stop":
            await asyncio.sleep(fault.hold)
            process.signal(signal.SIGCONT)
            self.history.note("continued", target=name)
            await self._ready(process)
            self.history.note("ready", target=name)
            return
        if fault.action == "term" and isinstance(process, Actor):
            with suppress(AssertionError):  # an agent that waits for its streams to end
                await process.exited(AGENT_GRACE_S)
            process.kill()
        elif fault.action == "term":
            await self._exits(name, process)
        else:
            process.kill()
        self.history.note("ended", target=name)
        await asyncio.sleep(fault.hold)
        process.start()
        self._pids.add(process.pid)
        try:
            await self._ready(process)
        except AssertionError as error:
            self.wrong.append(str(error)[:500])
            return
        self.history.note("ready", target=name)

    async def _exits(self, name: str, process: Process) -> None:
        try:
            status = await process.exited(EXIT_S)
        except AssertionError:
            self.wrong.append(f"{name} did not end within {EXIT_S} s of SIGTERM")
            process.kill()
        else:
            if status:
                self.wrong.append(f"{name} ended with {status} after SIGTERM")

    async def _ready(self, process: Process) -> None:
        async def answers() -> bool:
            assert process.alive, f"{process.name} ended at its start: {process.lines()[-5:]}"
            answer = await self._web.get(process.probe)
            # A sidecar that is up without an agent works as far as it can; waiting for its agent is not its fault.
            reasons = answer.json().get("reasons", []) if answer.status_code == 503 else []
            return answer.status_code == 200 or (bool(reasons) and all("no agent" in each for each in reasons))

        await wait_for(answers, READY_S, f"{process.name} is ready")

    def _add(self, process: Process) -> None:
        self.processes[process.name] = process
        self._pids.add(process.pid)

    def _agent(self, name: str, *, declared: bool) -> Actor:
        # Of hosts the agents have one address, as they are reached over loopback: of each another one's.
        port, log = AGENT_PORT if self._hosts else free_port(), str(self.directory / f"{name}.jsonl")
        command = [sys.executable, "-m", "tests.chaos.storm.actor", "--port", str(port), "--exec-log", log]
        command += [] if declared else ["--undeclared"]
        if self._hosts is None:
            return Actor(name, port, command, self.directory, RPC_PATH)
        actor = Actor(name, port, [*command, "--host", "0.0.0.0"], self.directory, RPC_PATH)
        address = self._hosts.addresses[dict(zip(AGENTS, SIDECARS, strict=True))[name]]
        actor.probe = actor.probe.replace("127.0.0.1", address)
        return actor

    def _sidecar(self, name: str, **options: object) -> SidecarProcess:
        store = self.directory / f"{name if self._peer_ports else 'journal'}.db"
        given = {
            "name": name, "port": free_port(), "control_port": free_port(), "store": f"sqlite:///{store}",
            "takeover__attempts_max": 1000, **options,
        }  # fmt: skip
        if self._peer_ports:
            where = self._hosts.addresses if self._hosts else dict.fromkeys(self._peer_ports, "127.0.0.1")
            given["peers"] = ",".join(f"http://{where[each]}:{port}" for each, port in self._peer_ports.items())
            given["peer_port"] = self._peer_ports[name]
        if self._hosts is not None:
            given |= {
                "host": self._hosts.addresses[name],
                "insecure": True,
                "cluster_secret": "of this storm alone",
            }
        settings = {key: str(value) for key, value in given.items()}
        return (Placed if self._hosts else SidecarProcess)(name, settings, self.directory, RPC_PATH)


def _is_ours(pid: int, directory: Path) -> bool:
    """The process is not another one that has got the same number since."""
    with suppress(OSError):
        told = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        return os.fsencode(directory) in told
    return False
