"""A store that fails now and then, or stands still: nobody who lives by it gives up, and nobody waits for ever."""

from __future__ import annotations

from functools import partial

import pytest

from bridge.handoff import Handoff, State
from tests.chaos.written import Journal, write_all
from tests.integration.raw_agent import RawAgent
from tests.integration.scripted import COMPLETED, WORKING, Play, status, stream, task
from tests.integration.stage import Stage, wait_for

pytestmark = pytest.mark.chaos
GROUP = "raw"
ORPHANS = 250
DEAD = "5" * 32


async def all_end(stage: Stage, tasks: list[str]) -> bool:
    """Every one of these tasks has completed. What has been seen to is not read again."""
    while tasks and Handoff.fold(tasks[-1], await stage.journal(tasks[-1])).state is State.COMPLETED:
        tasks.pop()
    return not tasks


@pytest.mark.parametrize("point", ["store.before_read=fail:5", "store.before_commit=fail:3"])
async def test_case_21_a_store_that_fails_now_and_then_leaves_no_orphan(stage: Stage, point: str) -> None:
    """One in five reads, or in three commits, fails for good: recovery cannot wait for a better time."""
    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED)))
    async with RawAgent(play) as agent:
        journals = [Journal(f"{number}", GROUP, "a", DEAD).claimed().bound(agent.url) for number in range(ORPHANS)]
        await write_all(stage.store, journals)
        a = stage.sidecar(agent.url, "a", failpoints=point)
        left = [journal.task for journal in journals]
        await wait_for(partial(all_end, stage, left), 40, "every orphan ends")
        failed = sum([await stage.metric(a, f"{what}_failures") for what in ("sweep", "recovery")])
        assert failed > 0
        assert a.alive
    await stage.verify()
