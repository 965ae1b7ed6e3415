"""What nobody living can tell: an owner dies when a majority has its entry and nobody else knows of the commit."""

from __future__ import annotations

from functools import partial

from tests.hosts.peers import cluster, completed, verify
from tests.integration.stage import Stage, message, wait_for


async def test_a_task_that_ended_is_known_to_have_although_nobody_left_can_run_it(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, c = hosts = cluster(stage, agents, failpoints={"a": "terminal.after_commit=kill"})
    await stage.ready()
    for agent in agents[1:]:
        agent.kill()
    seen = stage.send(a, "steps=5 pace=0.01 hold=3")
    await seen.at_least(2)
    beside = stage.subscribe(c, seen.task_id)
    await beside.at_least(1)
    stage.go()
    await beside.ended()
    assert beside.completed
    for each in (b, c):
        await wait_for(partial(completed, stage, each, seen.task_id))
    assert [len(each.journal()) for each in agents] == [1, 0, 0]
    await verify(stage, hosts[1:])


async def test_a_message_that_was_accepted_and_never_answered_is_run_once_by_somebody_else(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    _, b, _ = hosts = cluster(stage, agents, failpoints={"a": "accept.after_commit=kill"})
    await stage.ready()
    said = message("steps=5 pace=0.01", messageId="4f1a2c60-7c7e-4b7e-9d1c-0c9a54c7f001")
    lost = stage.stream(hosts[0], "SendStreamingMessage", said)
    await wait_for(lambda: not hosts[0].alive)
    again = stage.stream(b, "SendStreamingMessage", said)
    await again.ended()
    assert again.completed
    assert lost.frames == []
    assert sum(len(each.journal()) for each in agents) == 1
    await verify(stage, hosts[1:])
