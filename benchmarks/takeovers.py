"""Takeovers: from SIGKILL to the standby agent's hearing of the task, and to the client's next event."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
import uuid

from benchmarks.figures import GATEWAY, SIDECAR, Figures
from benchmarks.load import Stream, send_body, stream
from benchmarks.scale import Scale
from benchmarks.stand import Stand
from tests.integration.processes import AgentProcess, Process, SidecarProcess, wait_for

STEPS, PACE_S = 60, 0.01


async def agent_killed(stand: Stand, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """The agent is killed; its sidecar lives and holds the client's stream."""
    pairs = await _pairs(stand)
    await stand.ready()
    _open(figures)
    for _ in range(scale.takeovers):
        entrance = pairs[0][1]
        executing, standby, client = await started(pairs, entrance, chance)
        await measured(figures, SIDECAR, (executing[0],), standby[0], client)
        executing[0].start()
        await stand.ready(executing[0])
        await _sidecars_ready(stand, pairs)


async def both_killed(stand: Stand, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """The agent and its sidecar are killed together; a gateway holds the client's stream."""
    pairs = await _pairs(stand)
    await stand.ready()
    gateway = stand.sidecar(None, rpc_path=pairs[0][0].rpc_path)
    await stand.ready()
    _open(figures)
    for _ in range(scale.takeovers):
        executing, standby, client = await started(pairs, gateway, chance)
        await measured(figures, GATEWAY, executing, standby[0], client)
        for process in executing:
            process.start()
        await stand.ready()


Pair = tuple[AgentProcess, SidecarProcess]


async def _pairs(stand: Stand) -> list[Pair]:
    agents = [stand.sdk("steady"), stand.sdk("steady")]
    await stand.ready()
    return [(agent, stand.sidecar(agent)) for agent in agents]


def _open(figures: Figures) -> None:
    figures.open("takeover.resumed", "SIGKILL until the standby's agent has the task", "ms", more_is_better=False)
    figures.open("takeover.event", "SIGKILL until the client's next event", "ms", more_is_better=False)


async def started(pairs: list[Pair], entrance: SidecarProcess, chance: random.Random) -> tuple[Pair, Pair, Stream]:
    """A task that is at a random place in its work: who executes it, who could, and its client."""
    before = [len(agent.journal()) for agent, _ in pairs]
    body = send_body("SendStreamingMessage", f"steps={STEPS} pace={PACE_S}", str(uuid.uuid4()))
    client = await stream(entrance.url + entrance.rpc_path, body)
    goal = chance.randint(10, STEPS)  # two events a step: somewhere in the first half
    await wait_for(lambda: client.events >= goal, 15, "the task is at work")
    mine = next(index for index, (agent, _) in enumerate(pairs) if len(agent.journal()) > before[index])
    return pairs[mine], pairs[1 - mine], client


async def measured(
    figures: Figures,
    way: str,
    victims: tuple[Process, ...],
    standby: AgentProcess,
    client: Stream,
    group: str = "takeover",
) -> None:
    """Kill, and note when the standby's agent heard of the task and when the client did."""
    heard = len(standby.journal())
    killed = time.time()
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    await wait_for(lambda: len(standby.journal()) > heard, 30, "the standby's agent has the task")
    for victim in victims:
        await victim.exited()
    resumed = standby.journal()[heard]["t"]
    await asyncio.wait_for(client.over, 30)
    shown = client.first_after(resumed)
    if shown is None or not client.complete:
        raise SystemExit("the client's stream did not go on after the takeover")
    figures.add(f"{group}.resumed", way, (resumed - killed) * 1e3)
    figures.add(f"{group}.event", way, (shown - killed) * 1e3)


async def _sidecars_ready(stand: Stand, pairs: list[Pair]) -> None:
    await stand.ready(*(sidecar for _, sidecar in pairs))
