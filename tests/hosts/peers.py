"""Hosts of a cluster on one machine: a sidecar each, with an agent and a store of its own, nothing in common."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from sidecar.testing.processes import AgentProcess
from sidecar.testing.stage import Stage as Theatre
from tests.integration.agents import free_port
from tests.integration.stage import SidecarProcess, Stage

BRIEF: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100}


def cluster(
    stage: Stage,
    agents: Sequence[AgentProcess | None],
    failpoints: Mapping[str, str] | None = None,
    named: str = "peers",
    **options: Any,
) -> list[SidecarProcess]:
    """Start a sidecar for each agent, a gateway for each None: one another's peers, named a, b, c …

    Failpoints are given by name.
    """
    ports = [free_port() for _ in agents]
    peers = ",".join(f"http://127.0.0.1:{port}" for port in ports)
    given = {**BRIEF, named: peers, **options}
    started = []
    for agent, port, name in zip(agents, ports, "abcdefgh", strict=False):
        own = {**given, "store": f"sqlite:///{stage.directory / name}.db", "peer_port": port}
        points = (failpoints or {}).get(name, "")
        started.append(stage.gateway(name, **own) if agent is None else stage.sidecar(agent, name, points, **own))
    return started


def pair(stage: Stage, agents: Sequence[AgentProcess | None], **options: Any) -> list[SidecarProcess]:
    """Start two sidecars that are a pair, named a and b."""
    return cluster(stage, agents, named="pair", **options)


def lose_disk(stage: Stage, host: SidecarProcess) -> None:
    """Delete a host's files; its process has ended."""
    for file in stage.directory.glob(f"{host.name}.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()


async def completed(stage: Stage, at: SidecarProcess, task_id: str) -> bool:
    """Whether a host knows of a task that it has completed."""
    task = await stage.task(at, task_id)
    return bool(task.get("status", {}).get("state") == "TASK_STATE_COMPLETED")


async def verify(stage: Stage, sidecars: list[SidecarProcess]) -> None:
    """Every host's file holds what its chain says, and the hosts agree."""
    for each in sidecars:
        store, stage.store = stage.store, stage.directory / f"{each.name}.db"
        try:
            await Theatre.verify(stage)
        finally:
            stage.store = store
