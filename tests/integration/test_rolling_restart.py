"""Every sidecar is stopped and started again under load: the gateway's clients see no error, and nothing twice."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter

from tests.integration.recording import Recording
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

CLIENTS = 10
STEPS = 6
TEXT = f"steps={STEPS} pace=0.05"


class Load:
    """So many clients at any time, each with one task after the other, until told to end."""

    def __init__(self, stage: Stage, at: SidecarProcess) -> None:
        self.tasks: list[str] = []
        self._stage, self._at = stage, at
        self._over = asyncio.Event()
        self._clients = [asyncio.ensure_future(self._client(number)) for number in range(CLIENTS)]

    async def _client(self, number: int) -> None:
        asks = (self._streams, self._streams_rest, self._blocks)[number % 3]
        while not self._over.is_set():
            self.tasks.append(await asks())

    async def _streams(self, binding: str = "JSONRPC") -> str:
        seen = self._stage.send(self._at, TEXT, binding=binding)
        return await self._as_ever(seen)

    async def _streams_rest(self) -> str:
        return await self._streams("HTTP+JSON")

    async def _blocks(self) -> str:
        sent = await self._stage.rpc(self._at, "SendMessage", message(TEXT))
        task: dict[str, object] = sent["task"]
        assert await self._stage.task(self._at, str(task["id"])) == task
        assert sent["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        assert "".join(part["text"] for part in sent["task"]["artifacts"][0]["parts"]) == whole(STEPS)
        return str(task["id"])

    async def _as_ever(self, seen: Recording) -> str:
        await seen.ended(30)
        as_if_nothing_had_happened(seen, steps(STEPS), whole(STEPS))
        return seen.task_id

    def failed(self) -> bool:
        """Whether a client has seen an error."""
        return any(each.done() for each in self._clients) and not self._over.is_set()

    async def more(self, count: int) -> None:
        """Wait until so many more tasks have ended."""
        goal = len(self.tasks) + count
        await wait_for(lambda: len(self.tasks) >= goal or self.failed(), 30, f"{count} more tasks end")

    async def end(self) -> None:
        """Let everybody come to an end; what a client saw is raised here."""
        self._over.set()
        await asyncio.gather(*self._clients)


async def test_case_78_a_rolling_restart_under_load(stage: Stage) -> None:
    """First the sidecars one by one, then each together with its agent, as when a pod is replaced."""
    agents = [stage.agent("long"), stage.agent("long")]
    sidecars = [stage.sidecar(each, name) for each, name in zip(agents, "ab", strict=True)]
    gateway = stage.gateway("g")
    await stage.ready()
    load = Load(stage, gateway)
    try:
        for both in (False, True):
            for agent, sidecar in zip(agents, sidecars, strict=True):
                await load.more(CLIENTS)
                sidecar.signal(signal.SIGTERM)
                if both:
                    agent.signal(signal.SIGTERM)
                    await agent.exited()
                    agent.start()
                assert await sidecar.exited() == 0
                await stage.restart(sidecar)
        await load.more(CLIENTS)
    finally:
        await load.end()
    assert sorted(load.tasks) == sorted(await stage.task_ids())
    assert len(set(load.tasks)) == len(load.tasks) > 6 * CLIENTS
    for task_id in load.tasks:
        kinds = Counter(await stage.kinds(task_id))
        assert kinds["completed"] == kinds["dispatched"] == 1
        assert kinds["rewound"] == 0
    await stage.verify()
