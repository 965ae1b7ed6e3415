"""A process that claims every orphan it is told of, and finishes what it won."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys

from bridge.journal import Draft, Fence, Kind, Tip, chain
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from sidecar.store import Store


async def main(url: str, name: str, count: int) -> None:
    store = await Store.open(url)
    session = await store.sessions.register(name)
    by = Fence(2, session.session)
    os.write(1, b"ready\n")
    await asyncio.to_thread(sys.stdin.readline)
    tasks = [f"t{n}" for n in range(count)]
    random.Random(name).shuffle(tasks)
    won: list[str] = []

    async def take(task: str) -> None:
        answer = await store.voter.claim(Claim(task, by, by.session))
        if isinstance(answer, Refused):
            return
        assert isinstance(answer, Granted)
        tip: Tip = answer.tip
        drafts = [Draft(Kind.CLAIMED, b'{"attempt":2}'), Draft(Kind.COMPLETED, f'{{"by":"{name}"}}'.encode())]
        append = Append(task, by, tip.seq, tip.hash, chain(tip, by, 3, drafts), tip.seq)
        assert isinstance(await store.voter.append(append), Appended)
        won.append(task)

    for start in range(0, count, 5):
        await asyncio.gather(*(take(task) for task in tasks[start : start + 5]))
    await store.close()
    os.write(1, json.dumps(won).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
