"""The processes of the demo: started, waited for, killed by their own pid, asked for their journals.

Everything on stage is a real process with its own log files in one temporary directory. Sidecars share one SQLite
store there, or each has a host's: a directory of its own and peers instead.
This file must not know what an act wants to see. It prevents two failures: killing anything that the demo did not
start, and leaving something running after it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

ROOT: Final = Path(__file__).resolve().parent.parent.parent
READY_S: Final = 60.0
POLL_S: Final = 0.05
STOP_S: Final = 3.0
FATES: Final = {signal.SIGKILL: "killed", signal.SIGTERM: "told to stop"}


class NotReady(RuntimeError):
    """A process did not come up."""


@dataclass(frozen=True, slots=True)
class Home:
    """What a host has that no other host sees.

    Attributes:
        directory: holds its sidecar's journals.
        peer_port: where the other hosts reach its sidecar.
        peers: the addresses of all hosts' sidecars.
        told: the option that tells them.
    """

    directory: Path
    peer_port: int
    peers: str
    told: str = "--peers"

    @property
    def store(self) -> str:
        """Of its sidecar."""
        return f"sqlite:///{self.directory / 'journal.db'}"

    def destroy(self) -> None:
        """Nothing that was kept there can be read again."""
        shutil.rmtree(self.directory)


class Actor:
    """One process.

    Args:
        name: for people.
        command: what runs.
        directory: where its output goes.
        url: where it serves.
        probe: URL that answers 200 when it is ready.
        home: of a sidecar that shares no store.

    Attributes:
        fate: what was done to it, "" while nothing was.
    """

    def __init__(
        self, name: str, command: list[str], directory: Path, url: str, probe: str, home: Home | None = None
    ) -> None:
        self.name = name
        self.home = home
        self.url = url
        self.probe = probe
        self.fate = ""
        self.out = directory / f"{self.label}.out"
        self.err = directory / f"{self.label}.err"
        # What the operator's shell says about sidecars must not change what the demo shows.
        env = {key: value for key, value in os.environ.items() if not key.startswith("DHP_SIDECAR_")}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._process = subprocess.Popen(  # noqa: S603 - its own examples and the sidecar
                command, stdout=out, stderr=err, cwd=ROOT, env=env
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def label(self) -> str:
        """Its name in one word: of its files, and of a sidecar in the journal."""
        return self.name.replace(" ", "-")

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def strike(self, number: signal.Signals) -> float:
        """Send a signal to exactly this process. Returns the monotonic time of it."""
        at = time.monotonic()
        os.kill(self.pid, number)
        self.fate = FATES[number]
        return at

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        if self.status is None:
            self._process.terminate()

    def stop(self) -> None:
        """Wait for its end; insist after a while."""
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def announced(self, what: str) -> list[float]:
        """Monotonic times at which an example agent "received" a message or "ended" a run."""
        lines = self.out.read_text(encoding="utf-8", errors="replace").splitlines()
        return [float(json.loads(line)[what]) for line in lines if line.startswith(f'{{"{what}"')]

    def complaint(self) -> str:
        """The last lines it wrote, for a report of what went wrong."""
        written = self.err.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return " / ".join(written[-3:])


class Stage:
    """All processes and the directory they share.

    Args:
        directory: empty; holds the store and the logs.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = f"sqlite:///{directory / 'journal.db'}"
        self.actors: list[Actor] = []
        self._ports: set[int] = set()

    def example(self, name: str, module: str, probe: str, *arguments: str) -> Actor:
        """Start one of the examples.

        Args:
            name: for people.
            module: below ``examples``.
            probe: path that answers 200 when it is ready.
            arguments: its own.
        """
        port = self._port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", f"examples.{module}", "--port", str(port), *arguments]
        return self._start(name, command, url, url + probe)

    def agent(self, name: str, module: str, *arguments: str) -> Actor:
        """Start an example agent; ready when it shows its card."""
        return self.example(name, module, "/.well-known/agent-card.json", *arguments)

    def homes(self, *names: str, told: str = "--peers") -> list[Home]:
        """As many hosts, each with a directory of its own; their sidecars are one another's peers, or a pair."""
        ports = [self._port() for _ in names]
        peers = ",".join(f"http://127.0.0.1:{port}" for port in ports)
        homes = [Home(self.directory / name, port, peers, told) for name, port in zip(names, ports, strict=True)]
        for home in homes:
            home.directory.mkdir()
        return homes

    def sidecar(self, name: str, group: str, agent: Actor | None, home: Home | None = None) -> Actor:
        """Start a sidecar on the shared store or on a host's own, beside an agent or as a gateway."""
        port, control = self._port(), self._port()
        options = {
            "--port": str(port),
            "--control-port": str(control),
            "--store": home.store if home else self.store,
            "--name": name.replace(" ", "-"),
            "--group": group,
        }
        if home:
            options |= {home.told: home.peers, "--peer-port": str(home.peer_port)}
        beside = ["--agent", agent.url] if agent else ["--gateway"]
        flat = [word for pair in options.items() for word in pair]
        command = [sys.executable, "-m", "sidecar.cli", "run", *beside, *flat]
        url, probe = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{control}/readyz"
        return self._start(name, command, url, probe, home)

    async def ready(self, *actors: Actor) -> None:
        """Wait until all of them answer.

        Raises:
            NotReady: one ended, or took too long.
        """
        async with httpx.AsyncClient(timeout=2) as web:
            await asyncio.gather(*(self._ready(web, actor) for actor in actors))

    async def ask(self, store: str, command: str, *arguments: str) -> tuple[int, bytes, str]:
        """Run a read-only command of the sidecar's command line.

        Args:
            store: on which.
            command: ``verify`` or ``export``.
            arguments: the task.

        Returns:
            Exit status, standard output, standard error.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sidecar.cli", command, *arguments, "--store", store),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        out, err = await process.communicate()
        return process.returncode or 0, out, err.decode("utf-8", "replace").strip()

    def clear(self) -> None:
        """End everything that was started."""
        for actor in self.actors:
            actor.ask_to_stop()
        for actor in self.actors:
            actor.stop()

    def _start(self, name: str, command: list[str], url: str, probe: str, home: Home | None = None) -> Actor:
        actor = Actor(name, command, self.directory, url, probe, home)
        self.actors.append(actor)
        return actor

    async def _ready(self, web: httpx.AsyncClient, actor: Actor) -> None:
        deadline = time.monotonic() + READY_S
        last = "no answer"
        while time.monotonic() < deadline:
            if actor.status is not None:
                raise NotReady(f"{actor.name} ended at its start: {actor.complaint()}")
            try:
                answer = await web.get(actor.probe)
                if answer.status_code == 200:
                    return
                last = f"{answer.status_code} {answer.text[:200]}"
            except httpx.TransportError:
                last = "no answer"
            await asyncio.sleep(POLL_S)
        raise NotReady(f"{actor.name} is not ready after {READY_S:.0f} s: {last} {actor.complaint()}")

    def _port(self) -> int:
        while True:
            with closing(socket.socket()) as probe:
                probe.bind(("127.0.0.1", 0))
                port: int = probe.getsockname()[1]
            if port not in self._ports:
                self._ports.add(port)
                return port
