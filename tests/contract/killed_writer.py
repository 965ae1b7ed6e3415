"""A process that appends, says what was acknowledged, and waits to be killed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque

from bridge.journal import Fence
from bridge.quorum import Appended, Refused
from sidecar.store import Store
from tests.contract.journals import after, beginning, events
from tests.contract.journals import at as append_at


async def main(url: str, task: str) -> None:
    store = await Store.open(url)
    session = await store.sessions.register(task)
    by = Fence(1, session.session)
    first = beginning(task, by)
    await store.voter.append(first)
    tip = after(first)
    flying: deque[asyncio.Future[Appended | Refused]] = deque()
    os.write(1, f"session {session.session}\n".encode())
    while True:
        while len(flying) < 8:
            append = append_at(task, tip, by, events(16))
            flying.append(store.voter.append_soon(append))
            tip = after(append)
        answer = await flying.popleft()
        assert isinstance(answer, Appended)
        os.write(1, f"{answer.seq}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
