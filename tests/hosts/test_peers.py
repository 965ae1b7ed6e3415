"""Hosts without a store in common: what one accepts is at a majority, and another one goes on where it dies."""

from __future__ import annotations

import asyncio
from functools import partial

from sidecar.runtime.ownership import RESTING_KEPT_S
from tests.hosts.peers import cluster, completed, verify
from tests.integration.stage import V1, SidecarProcess, Stage, message, wait_for
from tests.integration.test_followups import asked
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole


async def test_a_task_is_known_at_every_host(stage: Stage) -> None:
    a, b, c = hosts = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    seen = stage.send(a, "steps=5 pace=0.01")
    await seen.ended()
    assert seen.completed
    for each in hosts:
        await wait_for(partial(completed, stage, each, seen.task_id))
    tasks = [await stage.task(each, seen.task_id) for each in hosts]
    assert tasks[0]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert tasks[0] == tasks[1] == tasks[2]
    for each in (b, c):
        listed = await stage.rpc(each, "ListTasks", {})
        assert [task["id"] for task in listed["tasks"]] == [seen.task_id]
        unknown = await stage.task(each, "00000000-0000-8000-8000-000000000000")
        assert unknown["error"]["code"] == -32001
    await verify(stage, hosts)


async def test_an_agent_dies_and_another_hosts_agent_goes_on(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, _ = hosts = cluster(stage, agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    beside = stage.subscribe(b, direct.task_id)
    await beside.at_least(2)
    agents[0].kill()
    stage.go()
    await asyncio.gather(direct.ended(), beside.ended())
    as_if_nothing_had_happened(direct, steps(12), whole(12))
    assert beside.completed
    assert sum(len(each.journal()) for each in agents[1:]) == 1
    await verify(stage, hosts)


async def test_a_host_is_destroyed(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, c = hosts = cluster(stage, agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    beside = stage.subscribe(c, direct.task_id)
    await beside.at_least(2)
    a.kill()
    agents[0].kill()
    stage.go()
    await beside.ended()
    assert beside.completed
    # Each front shows what its own host knows to be committed, a moment after the owner's.
    await wait_for(lambda: completed(stage, b, direct.task_id))
    final = await stage.task(b, direct.task_id)
    assert "".join(part["text"] for part in final["artifacts"][0]["parts"]) == whole(12)
    await verify(stage, hosts[1:])


async def test_alone_of_three_nothing_is_accepted_and_later_everything_goes_on(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, c = hosts = cluster(stage, agents)
    await stage.ready()
    first = stage.send(a, "steps=12 pace=0.01 hold=6")
    await first.at_least(5)
    b.kill()
    c.kill()
    refused = await stage.rpc(a, "SendMessage", message("steps=1"))
    assert "error" in refused
    await wait_for(partial(_marked, stage, a, first.task_id, "?1"))
    assert await stage.metric(a, "front_stale") >= 1
    stage.go()
    for each in (b, c):
        await stage.restart(each)
    await first.ended()
    as_if_nothing_had_happened(first, steps(12), whole(12))
    for each in hosts:
        await wait_for(partial(completed, stage, each, first.task_id))
        await wait_for(partial(_marked, stage, each, first.task_id, None))
    await verify(stage, hosts)


async def _marked(stage: Stage, host: SidecarProcess, task_id: str, mark: str | None) -> bool:
    """Whether all that is read there is marked so: stale, or not at all."""
    marks = set()
    for method, params in (("GetTask", {"id": task_id}), ("ListTasks", {})):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await stage.web.post(host.url + host.rpc_path, json=body, headers=V1)
        assert "result" in answer.json(), answer.text
        marks.add(answer.headers.get("dhp-stale"))
    return marks == {mark}


async def test_an_answer_that_comes_to_another_host_reaches_the_owner(stage: Stage) -> None:
    a, b, c = hosts = cluster(stage, [stage.agent("input") for _ in range(3)])
    await stage.ready()
    first = stage.send(a, "questions=2")
    await asked(first, 1, 2)
    second = stage.send(b, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(c, "two", taskId=first.task_id)
    await third.ended()
    assert third.completed
    assert third.text == "2 answers, the last was two"
    assert third.said == []
    await verify(stage, hosts)


async def test_a_wish_to_cancel_that_comes_to_another_host_reaches_the_owner(stage: Stage) -> None:
    a, b, _ = hosts = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    canceled = await stage.rpc(b, "CancelTask", {"id": seen.task_id})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    await seen.ended()
    assert seen.state == "TASK_STATE_CANCELED"
    await verify(stage, hosts)


async def test_an_answer_reaches_an_owner_that_has_long_had_nothing_to_do(stage: Stage) -> None:
    a, b, _ = hosts = cluster(stage, [stage.agent("input") for _ in range(3)])
    await stage.ready()
    first = stage.send(a, "questions=1")
    await asked(first, 1, 1)
    await asyncio.sleep(2 * RESTING_KEPT_S)  # it is let go of, and costs its owner nothing
    second = stage.send(b, "one", taskId=first.task_id)
    await second.ended()
    assert second.completed
    stage.store = stage.directory / "a.db"
    assert (await stage.kinds(first.task_id)).count("claimed") == 2, "it was not let go of"
    await verify(stage, hosts)


async def test_an_answer_at_a_gateway_reaches_whoever_can_run_the_task_after_its_owner_has_gone(
    stage: Stage,
) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    a, b, gate = hosts = cluster(stage, [*agents, None])
    await stage.ready()
    first = stage.send(gate, "questions=1")
    await asked(first, 1, 1)
    owner = 0 if agents[0].journal() else 1
    hosts[owner].kill()
    agents[owner].kill()
    second = stage.send(gate, "one", taskId=first.task_id)
    await second.ended()
    assert second.completed
    assert second.text == "1 answers, the last was one"
    await verify(stage, [each for each in (a, b, gate) if each.alive])
