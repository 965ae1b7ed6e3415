"""A process that appends one task under a session of its own, and leaves."""

from __future__ import annotations

import asyncio
import sys

from bridge.journal import Fence
from bridge.quorum import Appended
from sidecar.store import Store
from tests.contract.journals import beginning


async def main(url: str) -> None:
    store = await Store.open(url)
    session = await store.sessions.register("teller")
    assert isinstance(await store.voter.append(beginning("t", Fence(1, session.session))), Appended)
    await store.sessions.release(session)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
