"""The container engine of this machine, if there is one, and the project's containers in it.

Docker with its compose plugin, or podman with buildah and podman-compose; where ``SHARED_TOOLS`` has the script
``container-engine``, its podman-compose and (in CI) its way to install all of it. This file must not know what a
walk wants to see. The failures it prevents: a test that calls an image built from other sources its own, and
containers or volumes that outlive the test.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(os.environ.get("SHARED_TOOLS", ROOT.parent / "shared" / "tools")) / "container-engine"
BASES = ("python:3.13-slim", "docker.io/library/python:3.13-slim", "docker.io/library/python:3.11-slim")
IMAGES = {"sidecar": "dhp-sidecar-under-test", "examples": "dhp-sidecar-examples-under-test"}
PROBE = ("python", "-m", "sidecar.ops.probe", "http://127.0.0.1:8472/readyz")
PROFILES = ("--profile", "client", "--profile", "shared")
BUILD_S, COMMAND_S = 600, 60


class NoEngine(Exception):
    """Containers cannot be run here; says why."""


def say(*command: str, timeout_s: float = COMMAND_S, **env: str) -> str:
    """Run a command; its standard output.

    Raises:
        AssertionError: it failed; the message is what it said.
    """
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Engine:
    """Docker or podman.

    Args:
        cli: the command that talks to it.
        compose: the command that reads compose files.
    """

    def __init__(self, cli: str, compose: list[str]) -> None:
        self.cli, self.compose = cli, compose

    def base(self) -> str:
        """The image to build on: the default where it is, else what is there.

        Raises:
            NoEngine: there is none, and none can be had.
        """
        for image in BASES:
            if _works(self.cli, "image", "inspect", image):
                return image
        pulled = subprocess.run([self.cli, "pull", BASES[0]], capture_output=True, text=True, check=False)
        if pulled.returncode:
            raise NoEngine(f"no base image is here: {pulled.stderr.strip()[-400:]}")
        return BASES[0]

    def build(self) -> None:
        """Build both images from the working tree."""
        arguments = ["--build-arg", f"BASE={self.base()}"]
        if self.cli == "docker":
            command = ["docker", "build", *arguments]
        else:
            # Without a systemd or nested cgroups a build step runs in a chroot; HEALTHCHECK is docker's format.
            command = [
                "buildah",
                "bud",
                "--format",
                "docker",
                "--isolation",
                "chroot",
                "--network",
                "host",
                "--layers",
            ]
            for path in ("/etc/ssl/certs", "/etc/xdg/pip", "/etc/pip.conf"):
                command += ["-v", f"{path}:{path}:ro"] if Path(path).exists() else []
            command += arguments
        for target, tag in IMAGES.items():
            say(*command, "--target", target, "-t", tag, ".", timeout_s=BUILD_S)


def find() -> Engine:
    """The engine of this machine, tried out.

    Raises:
        NoEngine: none is there, or it cannot run a container.
    """
    if shutil.which("docker") and _works("docker", "info") and _works("docker", "compose", "version"):
        return Engine("docker", ["docker", "compose"])
    ci = os.environ.get("CI") == "true" and os.geteuid() == 0
    scripted = ["bash", str(SCRIPT), "compose"]
    complete = shutil.which("podman") and shutil.which("buildah") and _works(*scripted, "version")
    if ci and SCRIPT.exists() and not complete:
        done = subprocess.run(["bash", str(SCRIPT), "setup"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoEngine(f"{SCRIPT.name} setup: {done.stderr[-400:]}")
    if not (shutil.which("podman") and shutil.which("buildah")):
        raise NoEngine("neither a Docker daemon nor podman with buildah is here")
    if _works(*scripted, "version"):
        compose = scripted
    elif shutil.which("podman-compose"):
        compose = ["podman-compose"]
    else:
        raise NoEngine("podman is here, podman-compose is not")
    engine = Engine("podman", compose)
    tried = subprocess.run(
        ["podman", "run", "--rm", "--network", "none", engine.base(), "true"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if tried.returncode:
        raise NoEngine(f"containers are not permitted here: {tried.stderr.strip()[-400:]}")
    return engine


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Stack(NamedTuple):
    """One of the two ways in which docker-compose.yml runs the walk, by the names of its services.

    Attributes:
        gateway, client: theirs.
        sidecar: of a sidecar, before its letter.
        shared: all sidecars share a volume, else each has its own.
        started: what has to be named to start it.
    """

    gateway: str
    client: str
    sidecar: str
    shared: bool
    started: tuple[str, ...] = ()

    @property
    def sidecars(self) -> tuple[str, ...]:
        """Services that keep journals."""
        return f"{self.sidecar}b", f"{self.sidecar}c", self.gateway


PEERS = Stack("gateway", "client", "sidecar-", shared=False)
SHARED = Stack("shared-gateway", "shared-client", "shared-", shared=True, started=("shared-gateway", "pages"))


class Project:
    """The containers of docker-compose.yml under a project name of their own.

    Args:
        engine: builds and runs them.
        stack: which of them.
        port: of this host, for the gateway.
        pace: seconds of rest a page.
    """

    def __init__(self, engine: Engine, stack: Stack, port: int, pace: float) -> None:
        self.engine, self.stack = engine, stack
        self._name = f"dhp-walk-test-{os.getpid()}"
        self._env = {
            "GATEWAY_PORT": str(port), "SHARED_PORT": str(port), "CENSUS_PACE": str(pace),
            "SIDECAR_IMAGE": IMAGES["sidecar"], "EXAMPLES_IMAGE": IMAGES["examples"],
        }  # fmt: skip

    def compose(self, *arguments: str) -> str:
        """A compose command on this project."""
        return say(*self._composed(*arguments), timeout_s=120, **self._env)

    def up(self) -> None:
        """Start everything but the client."""
        profile = ("--profile", "shared") if self.stack.shared else ()
        self.compose(*profile, "up", "-d", "--no-build", *self.stack.started)

    def client(self, out: Path) -> subprocess.Popen[bytes]:
        """Start the client of the walk; its output goes to a file."""
        command = self._composed(*PROFILES, "run", "--rm", "--no-deps", "-T", self.stack.client)
        with out.open("wb") as file:
            return subprocess.Popen(
                command, cwd=ROOT, env=os.environ | self._env, stdout=file, stderr=subprocess.STDOUT
            )

    def container(self, service: str) -> str:
        """The container of a service, whichever separator the engine puts into names."""
        wanted = [f"{self._name}{mark}{service}{mark}1" for mark in "-_"]
        names = say(self.engine.cli, "ps", "-a", "--format", "{{.Names}}").split()
        found = next((name for name in names if name in wanted), None)
        assert found, f"{service} has no container among {names}"
        return found

    def inspect(self, service: str) -> dict[str, Any]:
        """What the engine knows of a container."""
        found: list[dict[str, Any]] = json.loads(say(self.engine.cli, "inspect", self.container(service)))
        return found[0]

    def run_in(self, service: str, *command: str) -> str:
        """Run a command in a service's container."""
        return say(self.engine.cli, "exec", self.container(service), *command)

    def ready(self, service: str) -> bool:
        """Whether a sidecar or gateway says so itself."""
        command = [self.engine.cli, "exec", self.container(service), *PROBE]
        return subprocess.run(command, capture_output=True, timeout=COMMAND_S, check=False).returncode == 0

    def logs(self, service: str) -> list[str]:
        """Everything a service has written."""
        command = [self.engine.cli, "logs", self.container(service)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False)
        return (done.stdout + done.stderr).splitlines()

    def kill(self, service: str) -> tuple[float, float]:
        """``docker kill``; monotonic seconds of the command and of the process's death."""
        process = os.pidfd_open(self.inspect(service)["State"]["Pid"])
        try:
            said = time.monotonic()
            command = subprocess.Popen(
                [self.engine.cli, "kill", self.container(service)], stdout=subprocess.DEVNULL
            )
            assert select.select([process], [], [], 20)[0], f"{service} still lives"
            died = time.monotonic()
            assert command.wait(20) == 0
        finally:
            os.close(process)
        return said, died

    def start(self, service: str) -> None:
        """Start a container that has ended."""
        say(self.engine.cli, "start", self.container(service))

    def down(self) -> None:
        """Remove everything, the journals too."""
        self.compose(*PROFILES, "down", "-v")

    def _composed(self, *arguments: str) -> list[str]:
        return [*self.engine.compose, "-p", self._name, *arguments]


def monotonic_lines(lines: list[str]) -> Iterator[tuple[float, str]]:
    """The client's lines: monotonic seconds, and what it said."""
    for line in lines:
        stamp, _, said = line.strip().partition("  ")
        if said and stamp.replace(".", "", 1).isdigit():
            yield float(stamp), said
