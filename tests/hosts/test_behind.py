"""A host that was away when a task ended, and whose owner has died since: nobody sends it what it missed."""

from __future__ import annotations

from functools import partial

from tests.hosts.peers import cluster, completed, verify
from tests.integration.stage import Stage, wait_for
from tests.integration.test_followups import asked


async def test_what_a_host_missed_reaches_it_although_the_owner_has_died(stage: Stage) -> None:
    agents = [stage.agent("input") for _ in range(3)]
    a, b, c = hosts = cluster(stage, agents)
    await stage.ready()
    first = stage.send(a, "questions=1")
    await asked(first, 1, 1)

    async def told() -> bool:
        task = await stage.task(c, first.task_id)
        return bool(task.get("status", {}).get("state") == "TASK_STATE_INPUT_REQUIRED")

    await wait_for(told)
    c.kill()
    second = stage.send(a, "one", taskId=first.task_id)
    await second.ended()
    assert second.completed
    await wait_for(partial(completed, stage, b, first.task_id))
    a.kill()
    agents[0].kill()
    await stage.restart(c)
    await wait_for(partial(completed, stage, c, first.task_id))
    await verify(stage, [b, c])
    assert hosts[1].alive


async def test_a_task_that_a_host_never_heard_of_reaches_it_although_its_owner_has_died(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, c = cluster(stage, agents)
    await stage.ready()
    c.kill()
    seen = stage.send(a, "steps=3 pace=0.01")
    await seen.ended()
    await wait_for(partial(completed, stage, b, seen.task_id))
    a.kill()
    agents[0].kill()
    await stage.restart(c)

    async def listed() -> bool:
        tasks = await stage.rpc(c, "ListTasks", {})
        return [task["id"] for task in tasks["tasks"]] == [seen.task_id]

    await wait_for(listed)
    await verify(stage, [b, c])
