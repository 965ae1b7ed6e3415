"""What talking to a peer costs on loopback: a call's time, appends per second, bytes per second.

The peer is a process of its own that answers at once: no disk is in these figures.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Sequence

from benchmarks.figures import Figures
from benchmarks.scale import Scale
from benchmarks.stand import Stand
from bridge.journal import Entry
from bridge.session import Renewal
from sidecar.peers.link import PeerLink
from sidecar.records import SessionCard
from tests.hosts.peer_side import append, entries, link, process

UNANSWERED = 2000  # a link keeps no more than some thousands
EVENT_BYTES, CHUNK, CHUNK_BYTES = 300, 256, 4000
MB = 1e6


async def peer(_: Stand, scale: Scale, figures: Figures) -> None:
    """One link to one peer."""
    figures.open("wire.call", "A call to a peer and its answer, one at a time", "ms", more_is_better=False)
    figures.open("wire.appends", f"Appends of one event of {EVENT_BYTES} bytes, pipelined", "appends/s")
    figures.open("wire.cpu", "CPU of the asking side", "µs/append", more_is_better=False)
    figures.open("wire.bytes", f"Appends of {CHUNK} entries of {CHUNK_BYTES} bytes", "MB/s")
    events, long = entries(scale.events, EVENT_BYTES), entries(CHUNK * 4, CHUNK_BYTES)
    async with process() as (_process, url), link(url) as to:
        for _round in range(scale.rounds):
            figures.add("wire.call", "renewal", *[await _renewal(to) for _call in range(scale.events // 20)])
            seconds, cpu = await _appends(to, events, 1)
            figures.add("wire.appends", "link", len(events) / seconds)
            figures.add("wire.cpu", "link", cpu / len(events) * 1e6)
            seconds, _cpu = await _appends(to, long, CHUNK)
            figures.add("wire.bytes", "link", len(long) * CHUNK_BYTES / seconds / MB)


async def _renewal(to: PeerLink) -> float:
    begun = time.perf_counter()
    await to.renew(Renewal("north", 1, "b" * 32), SessionCard("north", "b" * 32, 1))
    return (time.perf_counter() - begun) * 1000


async def _appends(to: PeerLink, some: Sequence[Entry], each: int) -> tuple[float, float]:
    begun, cpu = time.perf_counter(), _cpu_s()
    for wave in range(0, len(some), UNANSWERED * each):
        ends = range(wave, min(wave + UNANSWERED * each, len(some)), each)
        await asyncio.gather(*(to.append_soon(append(some[at : at + each])) for at in ends))
    return time.perf_counter() - begun, _cpu_s() - cpu


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
