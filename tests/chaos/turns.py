"""An agent that keeps its conversations and pays for each page: ``tests.integration.agents`` with one more kind.

    python -m tests.chaos.turns --agent steady …    (``steady``: the kind whose card declares durability)

Text: [pages=6 pace=0.05]. In its log it also notes ``turn`` when it keeps the user's turn, which it does unless it
is told that it resumes, and ``paid N`` for every payment. Beside the log is the bank: a file for every key paid.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.types import Part

from sidecar.worker import NOT_DONE, durable_run
from tests.integration import agents


class Turns(agents.TestAgent):
    kind = "steady"

    def _bank(self, key: str) -> Path:
        assert self._log is not None
        return self._log.with_name(key.replace("/", "-"))

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.note("exec", context)
        run = await durable_run(context, event_queue)
        if not run.info.resumed:
            self.note("turn", context)
        given = agents.numbers_of(context)
        pages = int(given.get("pages", 6))
        first = int(run.last_checkpoint or 0) + 1
        if first == 1:
            await run.start_work()
        for page in range(first, pages + 1):

            async def pay(key: str, page: int = page) -> str:
                self.note(f"paid {page}", context)
                self._bank(key).touch()
                return key

            async def was_paid(key: str) -> object:
                return key if self._bank(key).exists() else NOT_DONE

            await run.effect(f"pay {page}", pay, reconcile=was_paid)
            await asyncio.sleep(given.get("pace", 0.05))
            place: dict[str, Any] = {"append": page > 1, "last_chunk": page == pages}
            await run.add_artifact([Part(text=f"[{page}]")], "pages", name="pages", checkpoint=page, **place)
        await run.complete()


if __name__ == "__main__":
    agents.KINDS[Turns.kind] = Turns  # type: ignore[assignment]
    asyncio.run(agents.main())
