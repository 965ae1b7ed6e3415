"""What reaches a sidecar that does not own the task is not lost with the one that does, however that one dies."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from typing import Any

import pytest

from tests.integration.recording import Json, Recording
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_gateway import owners
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

BRIEF: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100}  # the defaults divided by 3.75
LONG: dict[str, Any] = {"lease__ttl_ms": 60_000}  # no death is noticed by its expiry
AT_ONCE_S = 15.0


async def question(stage: Stage, seen: Recording, number: int) -> None:
    await seen.ended()
    assert seen.state == "TASK_STATE_INPUT_REQUIRED", seen
    assert seen.said[-1] == f"question {number} of 2?"


@pytest.mark.parametrize("wish", ["answer", "cancel"])
async def test_what_waits_in_the_inbox_when_its_owner_dies_is_carried_out_at_once(stage: Stage, wish: str) -> None:
    """The owner is stopped first: what comes is left in the inbox, and it dies before it can look there."""
    agents = [stage.agent("input"), stage.agent("input")]
    a, b = (stage.sidecar(each, name, **LONG) for each, name in zip(agents, "ab", strict=True))
    await stage.ready()
    asked = stage.send(a, "questions=2")
    await question(stage, asked, 1)
    stage.stop_between_commits(a)
    task_id = asked.task_id
    seen = stage.send(b, "one", taskId=task_id) if wish == "answer" else stage.subscribe(b, task_id)
    canceling = asyncio.ensure_future(_cancel(stage, b, task_id if wish == "cancel" else ""))
    await wait_for(lambda: waiting(stage), what="something waits in the inbox")
    agents[0].kill()
    killed = a.kill()
    if wish == "answer":
        await question(stage, seen, 2)
        assert await owners(stage, asked.task_id) == ["a", "b"]
    else:
        canceled = await canceling
        assert canceled.get("status", {}).get("state") == "TASK_STATE_CANCELED", canceled
        await seen.ended()
        assert seen.state == "TASK_STATE_CANCELED"
        assert agents[1].journal() == []
    assert time.monotonic() - killed < AT_ONCE_S
    await wait_for(lambda: not waiting(stage), what="the inbox is empty")
    await stage.verify()


@pytest.mark.parametrize("at", ["the standby", "a gateway"])
async def test_case_112_a_cancel_between_death_and_takeover_keeps_the_standby_from_resuming(
    stage: Stage, at: str
) -> None:
    """The standby is of the same group and would take over at once, were its agent not away just then."""
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, name, **LONG) for each, name in zip(agents, "ab", strict=True))
    gateway = stage.gateway("g", **LONG)
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    beside = stage.subscribe(gateway, seen.task_id)
    await beside.at_least(5)
    agents[1].kill()
    await wait_for(lambda: stage.reasons(b))
    a.kill()
    agents[0].kill()
    sidecar = b if at == "the standby" else gateway
    canceled = await stage.rpc(sidecar, "CancelTask", {"id": seen.task_id})
    assert canceled.get("status", {}).get("state") == "TASK_STATE_CANCELED", canceled
    await stage.restart(agents[1])
    await stage.ready(b)
    stage.go()
    await beside.ended()
    assert beside.state == "TASK_STATE_CANCELED"
    fresh = stage.send(b, "steps=1 pace=0")  # its sweep has come by again
    await fresh.ended()
    assert [line["text"] for line in agents[1].journal()] == ["steps=1 pace=0"]
    kinds = await stage.kinds(seen.task_id)
    assert kinds.count("bound") == 2  # the first run and its name
    assert kinds[-1] == "canceled"
    await stage.verify()


async def _cancel(stage: Stage, at: SidecarProcess, task_id: str) -> Json:
    return await stage.rpc(at, "CancelTask", {"id": task_id}) if task_id else {}


def waiting(stage: Stage) -> int:
    file = sqlite3.connect(f"file:{stage.store}?mode=ro", uri=True)
    try:
        count: int = file.execute("SELECT count(*) FROM inbox").fetchone()[0]
    finally:
        file.close()
    return count


async def test_a_message_to_a_run_whose_owner_dies_is_given_to_the_next_run(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, name, **LONG) for each, name in zip(agents, "ab", strict=True))
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    beside = stage.subscribe(b, seen.task_id)
    await beside.at_least(5)
    stage.stop_between_commits(a)
    more = asyncio.ensure_future(stage.rpc(b, "SendMessage", message("more", taskId=seen.task_id)))
    await wait_for(lambda: waiting(stage), what="the message waits in the inbox")
    agents[0].kill()
    killed = a.kill()
    await wait_for(lambda: _has_input(stage, seen.task_id))
    assert time.monotonic() - killed < AT_ONCE_S
    assert not more.done()
    stage.go()
    await beside.ended()
    assert beside.completed
    assert beside.text == whole(12)
    assert (await more)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    texts = [each["text"] for each in agents[1].journal()]
    assert sorted(texts) == ["more", "steps=12 pace=0.01 hold=6"]
    said = (await stage.task(b, seen.task_id))["history"]
    assert sum(each["parts"][0]["text"] == "more" for each in said) == 1
    await stage.verify()


async def _has_input(stage: Stage, task_id: str) -> bool:
    return "input" in await stage.kinds(task_id)


async def test_an_answer_that_wakes_with_a_sidecar_that_was_replaced_reaches_the_new_owner(stage: Stage) -> None:
    """It lay in the socket of a stopped sidecar, which still takes itself for the owner when it wakes."""
    agents = [stage.agent("input"), stage.agent("input")]
    a, b = (stage.sidecar(each, name, **BRIEF) for each, name in zip(agents, "ab", strict=True))
    await stage.ready()
    asked = stage.send(a, "questions=2")
    await question(stage, asked, 1)
    stage.stop_between_commits(a)
    try:
        second = asyncio.ensure_future(stage.rpc(a, "SendMessage", message("two", taskId=asked.task_id)))
        first = stage.send(b, "one", taskId=asked.task_id)
        await question(stage, first, 2)
        assert not second.done()
    finally:
        a.signal(signal.SIGCONT)
    task = (await second)["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [each["parts"][0]["text"] for each in task["artifacts"]] == ["2 answers, the last was two"]
    assert (await owners(stage, asked.task_id))[:2] == ["a", "b"]
    await stage.ready(a)
    await stage.verify()


async def test_sidecar_and_agent_die_together_and_the_standby_is_there_at_once(stage: Stage) -> None:
    """The kernel frees the dead one's lock: nobody waits for a lease of 60 s."""
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, name, **LONG) for each, name in zip(agents, "ab", strict=True))
    await stage.ready()
    sent = [stage.send(a, "steps=12 pace=0.01 hold=6") for _ in range(3)]
    await asyncio.gather(*(each.at_least(5) for each in sent))
    beside = [stage.subscribe(b, each.task_id) for each in sent]
    await asyncio.gather(*(each.at_least(5) for each in beside))
    a.kill()
    killed = agents[0].kill()
    await wait_for(lambda: len(agents[1].journal()) == 3)
    assert time.monotonic() - killed < AT_ONCE_S
    stage.go()
    await asyncio.gather(*(each.ended() for each in beside))
    for each in beside:
        as_if_nothing_had_happened(each, steps(12), whole(12))
        assert await owners(stage, each.task_id) == ["a", "b"]
    await stage.verify()
