"""A process that appends as fast as the store takes it, and reports how long its commits were waited for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import deque

from bridge.journal import Draft, Fence, Kind, chain, genesis, tip_of
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from sidecar.store import Store

WINDOW = 8
ENTRIES = 64
BODY = (
    b'{"agent":"a","event":{"artifactUpdate":{"taskId":"t","artifact":{"parts":[{"text":"'
    + b"y" * 160
    + b'"}]}}}}'
)


async def main(url: str, name: str, seconds: float) -> None:
    store = await Store.open(url)
    session = await store.sessions.register(name)
    fence = Fence(1, session.session)
    task = f"task-{name}"
    granted = await store.voter.claim(Claim(task, fence, session.session))
    assert isinstance(granted, Granted), granted
    os.write(1, b"ready\n")
    await asyncio.to_thread(sys.stdin.readline)
    tip, entries = genesis(task), 0
    waits: list[float] = []
    flying: deque[tuple[float, asyncio.Future[Appended | Refused]]] = deque()
    began = time.monotonic()
    while time.monotonic() - began < seconds or flying:
        while len(flying) < WINDOW and time.monotonic() - began < seconds:
            batch = chain(tip, fence, 1, [Draft(Kind.EVENT, BODY)] * ENTRIES)
            future = store.voter.append_soon(Append(task, fence, tip.seq, tip.hash, batch, tip.seq))
            flying.append((time.monotonic(), future))
            tip = tip_of(task, batch)
        queued, future = flying.popleft()
        answer = await future
        assert isinstance(answer, Appended), answer
        waits.append(time.monotonic() - queued)
        entries += ENTRIES
    took = time.monotonic() - began
    waits.sort()
    report = {
        "name": name,
        "entries_per_s": round(entries / took),
        "commits": store.writer.commits,
        "p99_ms": round(waits[int(len(waits) * 0.99)] * 1e3, 1),
        "longest_ms": round(waits[-1] * 1e3, 1),
        "longest_turn_ms": round(store.writer.longest_wait_s * 1e3, 1),
    }
    await store.close()
    os.write(1, json.dumps(report).encode() + b"\n")


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)  # as the sidecar itself does: turns are held for as long as the writer waits
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
