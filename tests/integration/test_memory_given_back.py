"""What has ended costs no memory: bounded memory is a promise about every task that a sidecar has ever run."""

from __future__ import annotations

import psutil
import pytest

from tests.integration.stage import Stage, message, wait_for

MIB = 1 << 20
TASKS, TASK_MIB = 10, 5


@pytest.mark.slow
async def test_ended_tasks_give_their_memory_back(stage: Stage) -> None:
    """A cycle between an owner and its journal once kept 18 MB of each 5 MB task until the collector came by."""
    agent = stage.agent("long")
    sidecar = stage.sidecar(agent)
    await stage.ready()
    process = psutil.Process(sidecar.pid)

    async def run() -> None:
        answer = await stage.rpc(sidecar, "SendMessage", message(f"steps={TASK_MIB} pace=0 chunk={MIB}"))
        assert answer["task"]["status"]["state"] == "TASK_STATE_COMPLETED"

    await run()
    await run()
    before = process.memory_info().rss
    for _ in range(TASKS):
        await run()
    await wait_for(lambda: process.memory_info().rss - before < TASKS * TASK_MIB * MIB, 20)
