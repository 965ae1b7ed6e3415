"""Streams: how many durable events a second, and what a sidecar takes from an agent that is slower than it."""

from __future__ import annotations

import asyncio
import time
import uuid

from benchmarks.figures import SIDECAR, Figures
from benchmarks.load import send_body, stream
from benchmarks.scale import Scale
from benchmarks.stand import Stand, cpu_s, sidecar_of


async def one_stream(stand: Stand, scale: Scale, figures: Figures) -> None:
    """One stream of the canned agent: what the sidecar itself can do. With it the commits, each one an fsync."""
    figures.open("stream", "One stream of the canned agent", "events/s")
    figures.open("stream.fsyncs", "Commits (each one fsync) per event", "fsyncs/event", more_is_better=False)
    figures.open("stream.cpu", "CPU time of the process", "µs/event", more_is_better=False)
    agent = stand.canned()
    ways = stand.ways(agent)
    await stand.ready()
    sidecar = sidecar_of(stand)
    for url in ways.values():
        await _events_per_s(url, f"steps={scale.events // 10}", 1)
    for _ in range(scale.rounds):
        for way, url in ways.items():
            commits, spent = await stand.gauge(sidecar, "store_commits"), cpu_s(sidecar)
            rate, events = await _events_per_s(url, f"steps={scale.events}", 1)
            figures.add("stream", way, rate)
            if way == SIDECAR:
                spent = cpu_s(sidecar) - spent
                commits = await stand.gauge(sidecar, "store_commits") - commits
                figures.add("stream.fsyncs", way, commits / events)
                figures.add("stream.cpu", way, spent / events * 1e6)


async def many_streams(stand: Stand, scale: Scale, figures: Figures) -> None:
    """Many streams of the SDK agent, which is the bottleneck: what is lost by going through the sidecar."""
    figures.open("streams", f"{scale.streams} streams of the SDK agent", "events/s")
    agent = stand.sdk("long")
    ways = stand.ways(agent)
    await stand.ready()
    text = f"steps={scale.steps} pace=0 chunk=64"
    for url in ways.values():
        await _events_per_s(url, "steps=5 pace=0", scale.streams // 2)
    for _ in range(scale.rounds):
        for way, url in ways.items():
            rate, _ = await _events_per_s(url, text, scale.streams)
            figures.add("streams", way, rate)


async def _events_per_s(url: str, text: str, count: int) -> tuple[float, int]:
    began = time.perf_counter()
    opened = [await stream(url, send_body("SendStreamingMessage", text, str(uuid.uuid4()))) for _ in range(count)]
    await asyncio.gather(*(each.over for each in opened))
    took = time.perf_counter() - began
    if not all(each.complete for each in opened):
        raise SystemExit(f"{url}: a stream ended without completing")
    events = sum(each.events for each in opened)
    return events / took, events
