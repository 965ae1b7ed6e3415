"""Sidecars are killed, stopped, started twice: the task goes on, and no run that lives is run twice."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

from bridge.jsontext import parse
from tests.integration.stage import Recording, SidecarProcess, Stage, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

TTL_MS, MARGIN_MS = 800, 100  # the defaults divided by 3.75
BRIEF: dict[str, Any] = {"lease__ttl_ms": TTL_MS, "lease__margin_ms": MARGIN_MS}


async def _claims(stage: Stage, task_id: str, count: int) -> bool:
    return len(await owners(stage, task_id)) >= count


async def owners(stage: Stage, task_id: str) -> list[str]:
    """The names in the claims, in order."""
    claims = [entry.body for entry in await stage.journal(task_id) if entry.kind == "claimed"]
    return [parse(body)["owner"] for body in claims if body is not None]


async def test_case_8_a_restarted_sidecar_finds_the_run_that_is_still_alive(stage: Stage) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent, "a")
    await stage.ready()
    cut_off = stage.stream(a, "SendStreamingMessage", _numbered(100))
    await wait_for(lambda: cut_off.text.count("[") >= 25)
    a.kill()
    await cut_off.answered()
    assert cut_off.error is not None
    a.start()
    await stage.ready(a)
    rest = stage.subscribe(a, cut_off.task_id)
    await wait_for(lambda: rest.frames)
    stage.go()
    await rest.ended()
    # What was missed while the sidecar was away is in the snapshot; what follows comes once, in order.
    assert rest.completed
    assert rest.text == whole(100)
    assert rest.replaced == 0
    assert whole(100).startswith(cut_off.text)
    assert len(agent.journal()) == 1
    assert agent.journal("cancel") == []
    assert await owners(stage, rest.task_id) == ["a", "a"]
    await stage.verify()


def _numbered(count: int) -> dict[str, object]:
    text = f"steps={count} pace=0.01 status=0 hold=80"
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}}


async def test_cases_4_10_42_sidecar_and_agent_are_killed_together(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(2)
    beside = stage.subscribe(b, direct.task_id)  # case 10: a subscriber where the task does not run
    await beside.at_least(5)
    a.kill()
    agents[0].kill()
    task = await stage.task(b, direct.task_id)  # case 4: asked at once, answered from the journal
    stage.go()
    assert task["status"]["state"] == "TASK_STATE_WORKING", task
    await beside.ended()
    as_if_nothing_had_happened(beside, steps(12), whole(12))
    assert len(agents[1].journal()) == 1
    final = await stage.task(b, direct.task_id)
    assert final["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "".join(part["text"] for part in final["artifacts"][0]["parts"]) == whole(12)
    listed = await stage.rpc(b, "ListTasks", {})
    assert [each["id"] for each in listed["tasks"]] == [direct.task_id]
    await stage.verify()


async def test_a_newer_sidecar_of_the_same_name_goes_on_with_the_same_run(stage: Stage) -> None:
    agent = stage.agent("long")
    older = stage.sidecar(agent, "twin")
    await stage.ready()
    seen = stage.send(older, "steps=40 pace=0.02 hold=20")
    await seen.at_least(5)
    newer = stage.sidecar(agent, "twin")
    await stage.ready(newer)
    await wait_for(lambda: stage.reasons(older))
    assert ["twin" in reason for reason in await stage.reasons(older)] == [True]
    await wait_for(lambda: _claims(stage, seen.task_id, 2))
    stage.go()
    # The older one only reads on, from the store; its clients' streams stay open.
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(40), whole(40))
    assert len(agent.journal()) == 1
    assert agent.journal("cancel") == []
    assert (await stage.reasons(newer)) == []
    assert older.alive
    await stage.verify()


async def test_a_superseded_sidecar_stops_its_run_when_the_newer_one_has_another_agent(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    older = stage.sidecar(agents[0], "twin")
    await stage.ready()
    seen = stage.send(older, "steps=60 pace=0.01 hold=20")
    await seen.at_least(5)
    newer = stage.sidecar(agents[1], "twin")
    await stage.ready(newer)
    await wait_for(lambda: agents[0].journal("cancel"))
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(60), whole(60))
    assert [len(each.journal()) for each in agents] == [1, 1]
    assert agents[1].journal("cancel") == []
    await stage.verify()


async def test_a_superseded_sidecar_takes_nothing_any_more(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    older = stage.sidecar(agents[0], "twin", **BRIEF)
    await stage.ready()
    newer = stage.sidecar(agents[1], "twin", **BRIEF)
    await stage.ready(newer)
    await wait_for(lambda: stage.reasons(older))
    refused = stage.send(older, "steps=2 pace=0.01")
    await refused.answered()
    assert refused.error is not None
    assert agents[0].journal() == []
    # An orphan that only the older one could resume now is left to the newer one.
    seen = stage.send(newer, "steps=20 pace=0.05")
    await seen.at_least(3)
    agents[1].kill()
    await wait_for(lambda: stage.reasons(newer))
    await stage.restart(agents[1])
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(20), whole(20))
    assert agents[0].journal() == []
    await stage.verify()


async def test_case_24_a_sidecar_that_wakes_after_its_lease_writes_nothing_any_more(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, name, **BRIEF) for each, name in zip(agents, "ab", strict=True))
    await stage.ready()
    held = stage.send(a, "steps=60 pace=0.05")
    await held.at_least(3)
    beside = stage.subscribe(b, held.task_id)
    await beside.at_least(5)
    stage.stop_between_commits(a)
    stopped = time.monotonic()
    try:
        await wait_for(agents[1].journal)
        assert time.monotonic() - stopped > (TTL_MS - TTL_MS / 4) / 1000  # not before the lease was over
        await wait_for(lambda: len(agents[0].journal("exec")) == 1)
    finally:
        a.signal(signal.SIGCONT)
    for each in (beside, held):  # also the client of the one that was stopped: it only reads on there
        await each.ended()
        as_if_nothing_had_happened(each, steps(60), whole(60))
    await wait_for(lambda: stage.metric(a, "writes_refused"))
    assert await owners(stage, held.task_id) == ["a", "b"]
    fences = [entry.fence.n for entry in await stage.journal(held.task_id)]
    assert fences == sorted(fences)
    # The superseded run is told to stop, and the sidecar, whose session lives again, is fit for new work.
    await wait_for(lambda: agents[0].journal("cancel"))
    assert await stage.reasons(a) == []
    fresh = stage.send(a, "steps=2 pace=0.01")
    await fresh.ended()
    as_if_nothing_had_happened(fresh, steps(2), whole(2))
    await stage.verify()


async def test_a_stopping_sidecar_hands_its_tasks_to_a_standby(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    seen = stage.send(a, "steps=20 pace=0.05")
    await seen.at_least(5)
    a.signal(signal.SIGTERM)
    await seen.ended()  # it serves the stream until the task has ended elsewhere
    as_if_nothing_had_happened(seen, steps(20), whole(20))
    assert await a.exited() == 0
    assert len(agents[1].journal()) == 1
    await asyncio.wait_for(wait_for(lambda: agents[0].journal("cancel")), 5)
    assert await stage.reasons(b) == []
    await stage.verify()


async def test_everything_is_killed_at_once_and_started_again(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("steady")]
    sidecars = [stage.sidecar(each) for each in agents]
    await stage.ready()
    cut_off = [stage.send(each, "steps=20 pace=0.01 hold=10") for each in sidecars]
    await asyncio.gather(*(each.at_least(9) for each in cut_off))
    for process in stage.processes:
        process.kill()
    stage.go()
    for process in stage.processes:
        process.start()
    await stage.ready()
    for sidecar, before in zip(sidecars, cut_off, strict=True):

        async def done(sidecar: SidecarProcess = sidecar, before: Recording = before) -> bool:
            task = await stage.task(sidecar, before.task_id)
            return bool(task["status"]["state"] == "TASK_STATE_COMPLETED")

        await wait_for(done)
        task = await stage.task(sidecar, before.task_id)
        said = [each for each in task["history"] if each["role"] == "ROLE_AGENT"]
        assert ["".join(part["text"] for part in each["parts"]) for each in said] == steps(20)
        assert "".join(part["text"] for part in task["artifacts"][0]["parts"]) == whole(20)
    await stage.verify()


async def test_of_two_standbys_one_resumes(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, *_ = (stage.sidecar(each) for each in agents)
    await stage.ready()
    seen = [stage.send(a, "steps=10 pace=0.01 hold=5") for _ in range(8)]
    await asyncio.gather(*(each.at_least(4) for each in seen))
    agents[0].kill()
    stage.go()
    for each in seen:
        await each.ended()
        as_if_nothing_had_happened(each, steps(10), whole(10))
        assert len(await owners(stage, each.task_id)) == 2
    assert len(agents[1].journal()) + len(agents[2].journal()) == 8
    await stage.verify()
