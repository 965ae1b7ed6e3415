"""What a sidecar costs that has nothing to do: start, memory, CPU, open streams, tasks that wait for an answer."""

from __future__ import annotations

import asyncio
import time
import uuid

import psutil

from benchmarks.figures import Figures
from benchmarks.load import Stream, closed_loop, rpc_body, send_body, stream
from benchmarks.scale import Scale
from benchmarks.stand import Stand, cpu_s
from tests.integration.processes import AgentProcess, SidecarProcess, wait_for

IDLE_KEPT_S = 6.0  # after which a sidecar has let go of what it does not need
KB, MB = 1 << 10, 1 << 20


async def alone(stand: Stand, scale: Scale, figures: Figures) -> None:
    """Start to ready, and an idle sidecar beside an idle agent."""
    figures.open("idle.start", "Start of the process until /readyz says 200", "s", more_is_better=False)
    figures.open("idle.memory", "Resident memory, idle", "MB", more_is_better=False)
    figures.open("idle.cpu", "CPU, idle", "% of a core", more_is_better=False)
    agent = stand.canned()
    await stand.ready()
    sidecar = stand.sidecar(agent)
    await stand.ready()
    for _ in range(scale.starts):
        sidecar.kill()
        figures.add("idle.start", "sidecar", await _start(stand, sidecar))
    await asyncio.sleep(min(1.0, scale.idle_s))
    for _ in range(3):
        figures.add("idle.cpu", "sidecar", await _cpu_percent(sidecar, scale.idle_s / 3))
        figures.add("idle.memory", "sidecar", _resident(sidecar) / MB)


async def open_streams(stand: Stand, scale: Scale, figures: Figures) -> None:
    """Memory of a client's subscription to one task, and of a running task with its client's stream."""
    figures.open("open.memory", "Resident memory for each", "KB", more_is_better=False)
    figures.open("open.cpu", "CPU with all of them open, silent", "% of a core", more_is_better=False)
    agent = stand.canned()
    await stand.ready()
    for way, count in (("subscription", scale.subscriptions), ("running task", scale.tasks)):
        sidecar = stand.sidecar(agent, store=way.replace(" ", "-"))
        await stand.ready(sidecar)
        url = sidecar.url + sidecar.rpc_path
        first = await _held(url, 5)  # what is loaded or allocated once does not count
        task = await _newest_task(stand, url)
        before = _resident(sidecar)
        if way == "subscription":
            opened = [await stream(url, rpc_body("SubscribeToTask", {"id": task})) for _ in range(count)]
            await asyncio.gather(*(each.opened for each in opened))
        else:
            opened = await _held(url, count)
        figures.add("open.memory", way, (_resident(sidecar) - before) / count / KB)
        figures.add("open.cpu", way, await _cpu_percent(sidecar, scale.idle_s / 2))
        for each in [*first, *opened]:
            each.close()
        sidecar.kill()


async def waiting_tasks(stand: Stand, scale: Scale, figures: Figures) -> None:
    """A sidecar on a store full of tasks that wait for their clients, beside one on an empty store."""
    figures.open("waiting.memory", f"Resident memory, {scale.waiting} waiting tasks", "MB", more_is_better=False)
    figures.open("waiting.cpu", f"CPU, {scale.waiting} waiting tasks", "% of a core", more_is_better=False)
    figures.open("waiting.start", f"Start until ready, {scale.waiting} waiting tasks", "s", more_is_better=False)
    figures.open("waiting.asked", "Tasks taken until they wait", "tasks/s")
    agent = stand.canned()
    await stand.ready()
    full, empty = stand.sidecar(agent, "full"), stand.sidecar(agent, "empty")
    await stand.ready()
    load = await closed_loop(
        full.url + full.rpc_path,
        lambda _: send_body("SendMessage", "ask", str(uuid.uuid4())),
        connections=16,
        count=scale.waiting,
    )
    if load.refused:
        raise SystemExit(f"asking was refused: {load.first_refusal[:300]!r}")
    figures.add("waiting.asked", "sidecar", load.rate)
    await asyncio.sleep(min(IDLE_KEPT_S, scale.idle_s))
    figures.add("waiting.memory", "the sidecar that took them", _resident(full) / MB)
    figures.add("waiting.cpu", "the sidecar that took them", await _cpu_percent(full, scale.idle_s / 2))
    ways: dict[str, SidecarProcess] = {"waiting tasks": full, "empty store": empty}
    for way, sidecar in ways.items():
        for _ in range(scale.starts):
            sidecar.kill()
            figures.add("waiting.start", way, await _start(stand, sidecar))
    await asyncio.sleep(min(1.0, scale.idle_s))
    for _ in range(3):
        for way, sidecar in ways.items():
            figures.add("waiting.cpu", way, await _cpu_percent(sidecar, scale.idle_s / 3))
            figures.add("waiting.memory", way, _resident(sidecar) / MB)


async def _start(stand: Stand, sidecar: SidecarProcess) -> float:
    began = time.perf_counter()
    sidecar.start()
    await stand.ready(sidecar)
    return time.perf_counter() - began


async def _held(url: str, count: int) -> list[Stream]:
    opened = [
        await stream(url, send_body("SendStreamingMessage", "hold", str(uuid.uuid4()))) for _ in range(count)
    ]
    await wait_for(lambda: all(each.events >= 2 for each in opened), 60, "every task is at work")
    return opened


async def _newest_task(stand: Stand, url: str) -> str:
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    answer = await stand.web.post(url, content=rpc_body("ListTasks", {"pageSize": 1}), headers=headers)
    return str(answer.json()["result"]["tasks"][0]["id"])


def _resident(process: AgentProcess | SidecarProcess) -> float:
    return float(psutil.Process(process.pid).memory_info().rss)


async def _cpu_percent(process: SidecarProcess, seconds: float) -> float:
    spent, began = cpu_s(process), time.perf_counter()
    await asyncio.sleep(seconds)
    return (cpu_s(process) - spent) / (time.perf_counter() - began) * 100
