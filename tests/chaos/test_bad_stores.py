"""A store that fails now and then, or stands still: nobody who lives by it gives up, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from bridge.handoff import Handoff, State
from tests.chaos.written import Journal, write_all
from tests.integration.raw_agent import RawAgent
from tests.integration.scripted import COMPLETED, WORKING, Play, status, stream, task
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

pytestmark = pytest.mark.chaos
GROUP = "raw"
ORPHANS = 250
DEAD = "5" * 32
TOLD_WITHIN_S = 5.0


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


async def test_case_39_a_writer_that_stands_still_is_told_and_takes_nothing(stage: Stage, tmp_path: Path) -> None:
    """No write fails: none comes back. What was under way goes on where it was once the writer moves again."""
    agent = stage.agent("long")
    frozen = tmp_path / "frozen"
    a = stage.sidecar(agent, "a", failpoints=f"store.before_begin=hold-while:{frozen}")
    idle = stage.sidecar(agent, "idle", failpoints=f"store.before_begin=hold-while:{frozen}")
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    before = await stage.task_ids()
    frozen.touch()
    began = time.monotonic()
    params = message("steps=2 pace=0.01")
    answers = await asyncio.gather(*(stage.rpc(each, "SendMessage", params) for each in (a, idle)))
    for answer in answers:
        assert answer["error"]["code"] == -32603, answer
        assert answer["error"]["data"][0]["metadata"]["retryable"] == "true"
    await asyncio.gather(*(wait_for(partial(says_why, stage, each)) for each in (a, idle)))
    assert time.monotonic() - began < TOLD_WITHIN_S
    refused = time.monotonic()
    assert "error" in await stage.rpc(a, "SendMessage", message("steps=2"))
    assert time.monotonic() - refused < TOLD_WITHIN_S / 2  # from now on at once
    assert (await stage.task(a, seen.task_id))["status"]["state"] == WORKING
    assert await stage.task_ids() == before
    idle.signal(signal.SIGTERM)
    await idle.exited()  # it waits no longer than clients do
    frozen.unlink()
    await stage.ready(a)
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    again = await stage.rpc(a, "SendMessage", params)
    assert again["task"]["status"]["state"] == COMPLETED
    await stage.verify()


async def says_why(stage: Stage, sidecar: SidecarProcess) -> bool:
    """Not ready, for its store."""
    return any("has not come back" in reason for reason in await stage.reasons(sidecar))
