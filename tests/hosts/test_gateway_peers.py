"""A gateway among hosts without a store in common: it has its group's card, and its streams outlive any host."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from bridge.jsontext import parse
from tests.hosts.peers import cluster, verify
from tests.integration.stage import AgentProcess, SidecarProcess, Stage, wait_for
from tests.integration.test_followups import asked
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

CARD = "/.well-known/agent-card.json"


async def _card(stage: Stage, at: SidecarProcess) -> Any:
    answer = await stage.web.get(at.url + CARD)
    return parse(answer.text.replace(at.url, "http://clients.example").encode()) if answer.is_success else None


def _at_work(agents: list[AgentProcess]) -> int:
    (at,) = [at for at, agent in enumerate(agents) if agent.journal()]
    return at


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_stream_through_a_gateway_outlives_its_owners_host(stage: Stage, binding: str) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    *hosts, gateway = everyone = cluster(stage, [*agents, None])
    await stage.ready()
    seen = stage.send(gateway, "steps=12 pace=0.01 hold=6", binding=binding)
    await seen.at_least(5)
    dead = _at_work(agents)
    hosts[dead].kill()
    agents[dead].kill()
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    assert len(agents[1 - dead].journal()) == 1
    await verify(stage, [each for each in everyone if each.alive])


async def test_the_card_of_a_gateway_is_its_groups_and_outlives_everybody(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b, gateway = cluster(stage, [*agents, None])
    await stage.ready()
    card = await _card(stage, gateway)
    assert card is not None
    assert card == await _card(stage, a)
    for each in (a, b, gateway):
        each.kill()
    gateway.start()
    await wait_for(partial(_card, stage, gateway), what="a gateway alone serves the card that it had")
    assert await _card(stage, gateway) == card
    assert await stage.reasons(gateway)


async def test_what_a_client_does_at_a_gateway_reaches_the_owner(stage: Stage) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    *_, gateway = everyone = cluster(stage, [*agents, None])
    await stage.ready()
    first = stage.send(gateway, "questions=2")
    await asked(first, 1, 2)
    beside = stage.subscribe(gateway, first.task_id)
    second = stage.send(gateway, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(gateway, "two", taskId=first.task_id)
    await asyncio.gather(third.ended(), beside.ended())
    assert third.completed
    assert (third.text, beside.text) == ("2 answers, the last was two",) * 2
    other = stage.send(gateway, "questions=1")
    await asked(other, 1, 1)
    canceled = await stage.rpc(gateway, "CancelTask", {"id": other.task_id})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    listed = await stage.rpc(gateway, "ListTasks", {})
    assert {task["id"] for task in listed["tasks"]} == {first.task_id, other.task_id}
    passed = await stage.web.get(f"{gateway.url}/their/own/page?x=1")
    assert (passed.status_code, passed.text) == (404, "Not Found")  # the agents' own words
    await verify(stage, everyone)
