"""Three hosts that share nothing: what a majority costs, and how long a takeover between them lasts.

Two hosts have an agent and the third is a gateway; each sidecar has a store of its own, and they are peers. One
machine plays all of them: its disk and its cores are shared, as no real hosts' are.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
import uuid
from typing import Any, NamedTuple

from benchmarks.figures import Figures
from benchmarks.load import Stream, send_body, stream
from benchmarks.scale import Scale
from benchmarks.stand import Stand
from benchmarks.takeovers import Pair, measured, started
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess, SidecarProcess, wait_for

AGENT, HOST, PROVEN, ALL = "another host's agent", "host killed", "host killed, refused is dead", "slowest of all"
ONE, THREE = "one voter", "three voters"
CROWD_PACE_S = 0.5
_BUCKET = re.compile(r'^dhp_sidecar_append_seconds_bucket\{le="([^"]+)"\} (\S+)$', re.MULTILINE)


class Cluster(NamedTuple):
    """Hosts with an agent each, and the gateway that clients use."""

    pairs: list[Pair]
    gateway: SidecarProcess


async def cluster(stand: Stand, agents: list[AgentProcess], **options: object) -> Cluster:
    """Start a sidecar for each agent, and a gateway; ready once they have met."""
    await stand.ready()
    ports = [free_port() for _ in range(len(agents) + 1)]
    peers: dict[str, Any] = {"peers": ",".join(f"http://127.0.0.1:{port}" for port in ports), **options}
    pairs = [
        (agent, stand.sidecar(agent, f"host{port}", peer_port=port, **peers))
        for agent, port in zip(agents, ports, strict=False)
    ]
    last = ports[-1]
    gateway = stand.sidecar(None, f"host{last}", agents[0].rpc_path, peer_port=last, **peers)
    await stand.ready()
    return Cluster(pairs, gateway)


async def agents_killed(stand: Stand, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """The agent of one host is killed; the agent of another host goes on."""
    _open(figures)
    hosts = await cluster(stand, [stand.sdk("steady"), stand.sdk("steady")])
    for _ in range(scale.takeovers):
        executing, standby, client = await started(hosts.pairs, hosts.gateway, chance)
        await measured(figures, AGENT, executing[:1], standby[0], client, "hosts")
        executing[0].start()
        await stand.ready()


async def hosts_killed(stand: Stand, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """All processes of a host are killed, with the default lease."""
    await _hosts_killed(stand, scale, figures, chance, HOST)


async def hosts_proven_dead(stand: Stand, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """The same where a refused connection proves death."""
    await _hosts_killed(stand, scale, figures, chance, PROVEN, takeover__refused_is_dead=True)


async def _hosts_killed(
    stand: Stand, scale: Scale, figures: Figures, chance: random.Random, way: str, **options: object
) -> None:
    _open(figures)
    hosts = await cluster(stand, [stand.sdk("steady"), stand.sdk("steady")], **options)
    for _ in range(scale.takeovers):
        executing, standby, client = await started(hosts.pairs, hosts.gateway, chance)
        await measured(figures, way, executing, standby[0], client, "hosts")
        for process in executing:
            process.start()
        await stand.ready()


async def crowd(stand: Stand, scale: Scale, figures: Figures) -> None:
    """A host dies with many running tasks: how long until each of them runs again."""
    figures.open("crowd.resumed", f"{scale.crowd} tasks of a dead host: until each has its next event", "ms",
                 more_is_better=False)  # fmt: skip
    hosts = await cluster(stand, [stand.sdk("steady"), stand.sdk("steady")])
    (victim, sidecar), (standby, _) = hosts.pairs
    standby.kill()  # all of it runs at the first host
    text = f"steps=40 pace={CROWD_PACE_S}"
    clients = [await _client(hosts.gateway, text) for _ in range(scale.crowd)]
    await wait_for(lambda: len(victim.journal()) == scale.crowd, 30, "all of them run")
    standby.start()
    await stand.ready()
    killed = time.time()
    for process in (victim, sidecar):
        process.kill()
    await wait_for(lambda: len(standby.journal()) >= scale.crowd, 60, "all of them run again")
    resumed = sorted(line["t"] for line in standby.journal())
    await asyncio.gather(*(asyncio.wait_for(client.over, 60) for client in clients))
    if not all(client.complete for client in clients):
        raise SystemExit("a stream of the crowd did not go on after the takeover")
    figures.add("crowd.resumed", "each", *((at - killed) * 1e3 for at in resumed[: scale.crowd]))
    figures.add("crowd.resumed", ALL, (resumed[scale.crowd - 1] - killed) * 1e3)


async def majority(stand: Stand, scale: Scale, figures: Figures) -> None:
    """One stream of the canned agent, and commits one at a time: a store of one's own, and three hosts."""
    figures.open("majority.stream", "One stream of the canned agent", "events/s")
    figures.open("majority.p50", "An append until it is durable, one at a time, p50", "ms", more_is_better=False)
    figures.open("majority.p99", "The same, p99", "ms", more_is_better=False)
    agents = [stand.canned(), stand.canned()]
    alone = stand.sidecar(agents[0], "alone")
    hosts = await cluster(stand, agents)
    paced = stand.sdk("steady")
    await stand.ready()
    slow = {ONE: stand.sidecar(paced, "slow"), THREE: (await cluster(stand, [paced, paced])).pairs[0][1]}
    for _ in range(scale.rounds):
        for way, entrance in ((ONE, alone), (THREE, hosts.pairs[0][1])):
            began = time.perf_counter()
            client = await _client(entrance, f"steps={scale.events}")
            await client.over
            if not client.complete:
                raise SystemExit(f"{way}: a stream ended without completing")
            figures.add("majority.stream", way, client.events / (time.perf_counter() - began))
    for way, entrance in slow.items():
        before = await _appends(stand, entrance)
        client = await _client(entrance, f"steps={scale.paced} pace=0.005")
        await client.over
        after = await _appends(stand, entrance)
        counts = {limit: after[limit] - before.get(limit, 0.0) for limit in after}
        figures.add("majority.p50", way, _percentile(counts, 0.5) * 1e3)
        figures.add("majority.p99", way, _percentile(counts, 0.99) * 1e3)


def _open(figures: Figures) -> None:
    figures.open("hosts.resumed", "SIGKILL until another host's agent has the task", "ms", more_is_better=False)
    figures.open("hosts.event", "SIGKILL until the client's next event", "ms", more_is_better=False)


async def _client(entrance: SidecarProcess, text: str) -> Stream:
    url = entrance.url + entrance.rpc_path
    return await stream(url, send_body("SendStreamingMessage", text, str(uuid.uuid4())))


async def _appends(stand: Stand, sidecar: SidecarProcess) -> dict[float, float]:
    page = (await stand.web.get(f"{sidecar.control}/metrics")).text
    return {float(limit): float(count) for limit, count in _BUCKET.findall(page)}


def _percentile(counts: dict[float, float], part: float) -> float:
    """From a cumulative histogram, within a bucket by proportion."""
    below, seen, goal = 0.0, 0.0, part * max(counts.values())
    for limit, count in sorted(counts.items()):
        if count >= goal:
            return below + (limit - below) * (goal - seen) / (count - seen) if limit < float("inf") else below
        below, seen = limit, count
    return below
