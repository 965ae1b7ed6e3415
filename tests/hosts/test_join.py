"""Gateways and standbys that belong to a cluster without a vote of their own: ``--join``."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.hosts.peers import BRIEF, cluster, completed, verify
from tests.integration.agents import free_port
from tests.integration.stage import AgentProcess, SidecarProcess, Stage, wait_for
from tests.integration.test_followups import asked
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole


def joined_gateway(
    stage: Stage, hosts: list[SidecarProcess], name: str = "gate", **options: Any
) -> SidecarProcess:
    """A gateway of a cluster, with a store of its own and no vote."""
    own = {
        "store": f"sqlite:///{stage.directory / name}.db",
        "peer_port": free_port(),
        "join": hosts[0]._env["DHP_SIDECAR_PEERS"],
    }
    return stage.gateway(name, **{**BRIEF, **own, **options})


def _at_work(agents: list[AgentProcess]) -> int:
    (at,) = [at for at, agent in enumerate(agents) if agent.journal()]
    return at


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_stream_through_a_joined_gateway_outlives_its_owners_host(stage: Stage, binding: str) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    hosts = cluster(stage, agents)
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    seen = stage.send(gate, "steps=12 pace=0.01 hold=6", binding=binding)
    await seen.at_least(5)
    dead = _at_work(agents)
    hosts[dead].kill()
    agents[dead].kill()
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    await wait_for(lambda: completed(stage, gate, seen.task_id))
    await verify(stage, [each for each in hosts if each.alive])


async def test_a_stream_goes_on_at_another_voter_from_where_it_stood(stage: Stage) -> None:
    """Whichever voter it comes from: each of the two that do not own the task is killed, one after the other."""
    agents = [stage.agent("long") for _ in range(3)]
    hosts = cluster(stage, agents)
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    seen = stage.send(gate, "steps=40 pace=0.2")
    await seen.at_least(5)
    owner = _at_work(agents)
    for at in (each for each in range(3) if each != owner):
        hosts[at].kill()
        await seen.at_least(len(seen.said) + 4)
        await stage.restart(hosts[at])
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(40), whole(40))
    await verify(stage, hosts)


async def test_a_client_whose_gateway_dies_goes_on_at_another_one(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    hosts = cluster(stage, agents)
    first, second = (joined_gateway(stage, hosts, name) for name in ("north", "south"))
    await stage.ready()
    seen = stage.send(first, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    first.kill()
    again = stage.subscribe(second, seen.task_id)
    await again.at_least(1)
    stage.go()
    await again.ended()
    assert again.completed
    final = await stage.task(second, seen.task_id)
    assert "".join(part["text"] for part in final["artifacts"][0]["parts"]) == whole(12)
    assert sum(len(each.journal()) for each in agents) == 1, "nothing happened to the run"
    await verify(stage, hosts)


async def test_what_a_client_does_at_a_joined_gateway_reaches_the_owner(stage: Stage) -> None:
    hosts = cluster(stage, [stage.agent("input") for _ in range(3)])
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    first = stage.send(gate, "questions=2")
    await asked(first, 1, 2)
    beside = stage.subscribe(gate, first.task_id)
    second = stage.send(gate, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(gate, "two", taskId=first.task_id)
    await asyncio.gather(third.ended(), beside.ended())
    assert third.completed
    assert (third.text, beside.text) == ("2 answers, the last was two",) * 2
    other = stage.send(gate, "questions=1")
    await asked(other, 1, 1)
    canceled = await stage.rpc(gate, "CancelTask", {"id": other.task_id})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    listed = await stage.rpc(gate, "ListTasks", {})
    assert {task["id"] for task in listed["tasks"]} == {first.task_id, other.task_id}
    unknown = await stage.task(gate, "00000000-0000-8000-8000-000000000000")
    assert unknown["error"]["code"] == -32001
    passed = await stage.web.get(f"{gate.url}/their/own/page?x=1")
    assert (passed.status_code, passed.text) == (404, "Not Found")  # the agents' own words
    await verify(stage, hosts)


async def test_what_is_not_known_is_not_said_to_be_missing(stage: Stage) -> None:
    """Alone with one of three voters a gateway shows what that one has, and cannot tell what does not exist."""
    a, b, c = hosts = cluster(stage, [stage.agent("long") for _ in range(3)])
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    seen = stage.send(gate, "steps=3 pace=0.01")
    await seen.ended()
    for each in hosts:
        await wait_for(partial(completed, stage, each, seen.task_id))
    b.kill()
    c.kill()
    assert (await stage.task(gate, seen.task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    unknown = await stage.task(gate, "00000000-0000-8000-8000-000000000000")
    assert unknown["error"]["code"] != -32001
    a.kill()

    async def told() -> bool:
        return any("stand by it" in each for each in await stage.reasons(gate))

    await wait_for(told, what="the gateway says that it reaches nobody")


async def test_a_joined_gateway_never_votes_and_is_no_member(stage: Stage) -> None:
    hosts = cluster(stage, [stage.agent("long") for _ in range(3)])
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    report = (await stage.web.get(f"{gate.control}/cluster")).json()
    voters = (await stage.web.get(f"{hosts[0].control}/cluster")).json()
    assert report["well"], report["wrong"]
    assert {each["name"] for each in report["members"]} == {"a", "b", "c"}
    assert report["cluster"] == voters["cluster"]
    assert report["list"] == voters["list"]
    assert {each["name"] for each in report["sessions"]} == {"a", "b", "c", "gate"}
    assert {each["name"]: each["role"] for each in voters["sessions"]}["gate"] == "gateway"
    assert {each["name"] for each in voters["members"]} == {"a", "b", "c"}
    page = (await stage.web.get(f"{gate.control}/metrics")).text
    assert "dhp_sidecar_cluster_joined 1" in page
    assert "dhp_sidecar_cluster_members_reached 3" in page


async def test_urls_that_lead_to_no_voter_are_told(stage: Stage) -> None:
    hosts = cluster(stage, [stage.agent("long") for _ in range(3)])
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    lost = joined_gateway(stage, hosts, "lost", join=f"http://127.0.0.1:{gate._env['DHP_SIDECAR_PEER_PORT']}")

    async def told() -> bool:
        return any("--join" in each and "no voter" in each for each in await stage.reasons(lost))

    await wait_for(told, what="it says that its URLs lead to no voter")


def joined_standby(stage: Stage, hosts: list[SidecarProcess], agent: AgentProcess, name: str) -> SidecarProcess:
    """A sidecar of a cluster with an agent and a store of its own, and no vote."""
    own = {"store": f"sqlite:///{stage.directory / name}.db", "peer_port": free_port()}
    return stage.sidecar(agent, name, **{**BRIEF, **own, "join": hosts[0]._env["DHP_SIDECAR_PEERS"]})


async def test_a_joined_standby_goes_on_where_no_voter_has_an_agent_any_more(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(4)]
    hosts = cluster(stage, agents[:3])
    standby = joined_standby(stage, hosts, agents[3], "standby")
    await stage.ready()
    seen = stage.send(hosts[0], "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    beside = stage.subscribe(standby, seen.task_id)
    await beside.at_least(2)
    for each in agents[:3]:
        each.kill()
    stage.go()
    await asyncio.gather(seen.ended(), beside.ended())
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    assert beside.completed
    assert len(agents[3].journal()) == 1
    await wait_for(lambda: completed(stage, standby, seen.task_id))
    await verify(stage, hosts)


async def test_voters_without_agents_keep_what_joined_standbys_run(stage: Stage) -> None:
    """Three gateways with votes, two standbys without, a gateway without: whoever dies, the stream goes on."""
    hosts = cluster(stage, [None, None, None])
    agents = [stage.agent("long") for _ in range(2)]
    standbys = [joined_standby(stage, hosts, agent, f"s{at}") for at, agent in enumerate(agents)]
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    seen = stage.send(gate, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    dead = _at_work(agents)
    standbys[dead].kill()
    agents[dead].kill()
    hosts[0].kill()
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    assert len(agents[1 - dead].journal()) == 1
    await verify(stage, hosts[1:])


async def test_what_comes_for_a_joined_owner_reaches_it(stage: Stage) -> None:
    hosts = cluster(stage, [None, None, None])
    joined_standby(stage, hosts, stage.agent("input"), "standby")
    gate = joined_gateway(stage, hosts)
    await stage.ready()
    first = stage.send(hosts[0], "questions=2")
    await asked(first, 1, 2)
    second = stage.send(hosts[1], "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(gate, "two", taskId=first.task_id)
    await third.ended()
    assert third.completed
    assert third.text == "2 answers, the last was two"
    for at in (hosts[2], gate):
        other = stage.send(at, "questions=1")
        await asked(other, 1, 1)
        canceled = await stage.rpc(at, "CancelTask", {"id": other.task_id})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    await verify(stage, hosts)
