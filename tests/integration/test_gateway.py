"""A gateway has no agent: it serves what its group does, whoever of it dies, and keeps no work to itself."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict

from bridge.jsontext import parse
from tests.integration.raw_agent import RawAgent
from tests.integration.raw_scripts import reset_at_once
from tests.integration.recording import Json
from tests.integration.scripted import answer, in_turn
from tests.integration.stage import RAW_PATH, Recording, SidecarProcess, Stage, message, wait_for
from tests.integration.test_subscribers import same
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

BINDINGS = ["JSONRPC", "HTTP+JSON"]
TOLD_WITHIN_S = 5.0
AT_ONCE: dict[str, Any] = {"lease__ttl_ms": 60_000}  # so long that no death could be noticed by its expiry


async def owners(stage: Stage, task_id: str) -> list[str]:
    claims = [entry.body for entry in await stage.journal(task_id) if entry.kind == "claimed"]
    return [parse(body)["owner"] for body in claims if body is not None]


async def one_answer(client: Any, params: Json) -> Json:
    events = [MessageToDict(each) async for each in client.send_message(ParseDict(params, SendMessageRequest()))]
    (only,) = events
    return only


@pytest.mark.parametrize("binding", BINDINGS)
async def test_every_operation_works_through_a_gateway(stage: Stage, binding: str) -> None:
    gateway = stage.gateway("g")  # before there is any sidecar
    agent = stage.agent("input")
    a = stage.sidecar(agent, "a")
    await stage.ready()
    asked = stage.send(gateway, "questions=2", binding=binding)
    await asked.ended()
    assert asked.state == "TASK_STATE_INPUT_REQUIRED"
    assert asked.said == ["question 1 of 2?"]
    follower = stage.subscribe(gateway, asked.task_id, binding=binding)
    await wait_for(lambda: follower.frames)
    more = stage.send(gateway, "one", binding=binding, taskId=asked.task_id)
    await more.ended()
    client = await create_client(gateway.url, ClientConfig(streaming=False, supported_protocol_bindings=[binding]))
    try:
        last = await one_answer(client, message("two", taskId=asked.task_id))
        assert last["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        await follower.ended()
        assert follower.completed
        assert follower.text == "2 answers, the last was two"
        second = await one_answer(client, message("questions=1"))
        canceled = await client.cancel_task(CancelTaskRequest(id=second["task"]["id"]))
        assert MessageToDict(canceled)["status"]["state"] == "TASK_STATE_CANCELED"
        got = MessageToDict(await client.get_task(GetTaskRequest(id=asked.task_id, history_length=1)))
        assert got["status"]["state"] == "TASK_STATE_COMPLETED"
        assert len(got["history"]) == 1
        listed = MessageToDict(await client.list_tasks(ListTasksRequest(page_size=1)))
        assert listed["totalSize"] == 2
        assert [each["id"] for each in listed["tasks"]] == [second["task"]["id"]]
    finally:
        await client.close()
    whole_task = await stage.task(gateway, asked.task_id)
    assert whole_task == await stage.task(a, asked.task_id)
    for method, task_id, code in (
        ("GetTask", "nobody's", -32001), ("CancelTask", asked.task_id, -32002),
        ("SubscribeToTask", asked.task_id, -32004),
    ):  # fmt: skip
        assert (await stage.rpc(gateway, method, {"id": task_id}))["error"]["code"] == code
    await stage.verify()


@pytest.mark.parametrize("lost", [0, 1], ids=["at-once", "after-a-lost-run"])
async def test_a_message_that_the_agent_refuses_is_refused_and_not_run_again(stage: Stage, lost: int) -> None:
    """The client is told what the agent said, as beside the agent; no task is left that nobody began."""
    refused: Json = {"code": -32005, "message": "Only text", "data": [{"reason": "CONTENT_TYPE_NOT_SUPPORTED"}]}
    async with RawAgent(answer(error=refused)) as agent:
        gateway, _ = stage.gateway(), stage.sidecar(agent.url)
        gateway.rpc_path = RAW_PATH
        await stage.ready()
        agent.script = in_turn(*[reset_at_once] * lost, answer(error=refused))
        assert await stage.rpc(gateway, "SendMessage", message("hello")) == {"error": refused}
        agent.script = in_turn(*[reset_at_once] * lost, answer(error=refused))
        told = stage.stream(gateway, "SendStreamingMessage", message("hello"))
        await told.answered()
        assert told.rpc_error == refused, told
        assert len(agent.requests) == 2 * (lost + 1)
        assert (await stage.rpc(gateway, "ListTasks", {}))["tasks"] == []
    for task_id in await stage.task_ids():
        assert (await stage.kinds(task_id)).count("bound") == lost + 1
    await stage.verify()


async def test_the_card_of_a_gateway_leads_to_the_gateway(stage: Stage) -> None:
    gateway, agent = stage.gateway(), stage.agent("long")
    early = await _answered(stage, f"{gateway.url}/.well-known/agent-card.json")
    assert early.status_code == 503
    assert early.headers["retry-after"]
    assert await stage.reasons(gateway)
    a = stage.sidecar(agent)
    await stage.ready()
    of_gateway, of_sidecar = [
        (await stage.web.get(f"{each.url}/.well-known/agent-card.json")).text for each in (gateway, a)
    ]
    assert parse(of_gateway.encode()) == parse(of_sidecar.replace(a.url, gateway.url).encode())


async def _answered(stage: Stage, url: str) -> httpx.Response:
    answer: httpx.Response = await wait_for(lambda: stage.web.get(url))
    return answer


async def test_what_is_not_a2a_passes_through_a_gateway_to_a_sidecar_that_is_ready(stage: Stage) -> None:
    gateway = stage.gateway("g", **AT_ONCE)
    agents = [stage.agent("long"), stage.agent("long")]
    sidecars = [stage.sidecar(each, **AT_ONCE) for each in agents]
    await stage.ready()
    for dead in range(2):
        answer = await stage.web.get(f"{gateway.url}/their/own/page?x=1")
        assert (answer.status_code, answer.text) == (404, "Not Found")  # the agents' own words
        sidecars[dead].kill()
        if not dead:
            agents[0].kill()
            await wait_for(lambda: _status(stage, f"{gateway.url}/their/own/page", 404))
    await wait_for(lambda: _status(stage, f"{gateway.url}/their/own/page", 503))


async def _status(stage: Stage, url: str, status: int) -> bool:
    return (await stage.web.get(url)).status_code == status


@pytest.mark.parametrize("killed", ["sidecar", "agent", "both"])
async def test_streams_through_gateways_survive_the_death_of_anybody_else(stage: Stage, killed: str) -> None:
    """Two gateways serve the same tasks, one of them over both bindings: same events, same order, same ids."""
    agents = [stage.agent("long"), stage.agent("long")]
    sidecars = [stage.sidecar(each, name, **AT_ONCE) for each, name in zip(agents, "ab", strict=True)]
    first, second = stage.gateway("first", **AT_ONCE), stage.gateway("second", **AT_ONCE)
    await stage.ready()
    text = "steps=40 pace=0.01 hold=20"
    sender = stage.stream(first, "SendStreamingMessage", message(text))
    clients = [stage.send(first, text, binding=each) for each in BINDINGS]
    await asyncio.gather(*(each.at_least(19) for each in (sender, *clients)))
    beside = [stage.stream(each, "SubscribeToTask", {"id": sender.task_id}) for each in (first, second)]
    await asyncio.gather(*(each.at_least(19) for each in beside))
    at = "ab".index((await owners(stage, sender.task_id))[-1])
    began = time.monotonic()
    if killed != "agent":
        sidecars[at].kill()
    if killed != "sidecar":
        agents[at].kill()
    await wait_for(lambda: len(agents[1 - at].journal()) == 3)
    assert time.monotonic() - began < AT_ONCE["lease__ttl_ms"] / 4000
    stage.go()
    await asyncio.gather(*(each.ended() for each in (sender, *clients, *beside)))
    for each in (sender, *clients):
        as_if_nothing_had_happened(each, steps(40), whole(40))
        assert (await owners(stage, each.task_id)).count("first") == 1  # it accepted, and gave the task away
    for each in beside:
        assert each.completed
        assert same(sender, each) > 20
    assert await stage.task(first, sender.task_id) == await stage.task(second, sender.task_id)
    await stage.verify()


async def test_without_a_sidecar_a_gateway_says_so_soon_and_still_reads(stage: Stage) -> None:
    """It waits 4 s for one; here 2 s, so that a busy machine does not stretch them beyond the 5 s of clients."""
    agent = stage.agent("long")
    a, gateway = stage.sidecar(agent), stage.gateway(agent__absent_timeout_s=2)
    await stage.ready()
    done = stage.send(gateway, "steps=2 pace=0.01")
    await done.ended()
    as_before = await stage.task(gateway, done.task_id)
    agent.kill()
    a.kill()
    gateway.kill()  # what it knew is gone, too
    gateway.start()
    await wait_for(lambda: _reads(stage, gateway, done.task_id, as_before))
    assert any("no sidecar" in reason for reason in await stage.reasons(gateway))
    began = time.monotonic()
    streamed = stage.send(gateway, "steps=2")
    refused = await stage.rpc(gateway, "SendMessage", message("steps=2"))
    assert time.monotonic() - began < TOLD_WITHIN_S
    assert refused["error"]["code"] == -32603
    assert "agent" in refused["error"]["message"]
    assert "again" in refused["error"]["message"]
    await streamed.answered()
    assert streamed.error is not None
    listed = await stage.rpc(gateway, "ListTasks", {})
    assert [each["id"] for each in listed["tasks"]] == [done.task_id]
    await stage.restart(agent)
    await stage.restart(a)
    await stage.ready()
    again = stage.send(gateway, "steps=2 pace=0.01")
    await again.ended()
    as_if_nothing_had_happened(again, steps(2), whole(2))
    assert len(agent.journal()) == 2  # what was refused is not run later
    await stage.verify()


async def _reads(stage: Stage, gateway: SidecarProcess, task_id: str, expected: Json) -> bool:
    answer = await stage.web.get(f"{gateway.url}/.well-known/agent-card.json")
    return answer.status_code == 200 and await stage.task(gateway, task_id) == expected


async def _waiting_task(stage: Stage, gateway: SidecarProcess) -> Recording:
    asked = stage.send(gateway, "questions=1")
    await asked.ended()
    assert asked.state == "TASK_STATE_INPUT_REQUIRED"
    return asked


async def test_an_answer_to_a_dead_owner_goes_to_who_can_run_it_not_to_the_gateway(stage: Stage) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    gateway = stage.gateway("g", **AT_ONCE)
    a = stage.sidecar(agents[0], "a", **AT_ONCE)
    await stage.ready()
    asked = await _waiting_task(stage, gateway)
    b = stage.sidecar(agents[1], "b", **AT_ONCE)
    await stage.ready(b)
    a.kill()
    agents[0].kill()
    answer = stage.send(gateway, "blue", taskId=asked.task_id)
    await answer.ended()
    assert answer.completed
    assert answer.text == "1 answers, the last was blue"
    assert await owners(stage, asked.task_id) == ["g", "a", "b"]
    assert (await stage.task(b, asked.task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    await stage.verify()


@pytest.mark.parametrize("wish", ["an answer", "a cancel", "both"])
async def test_what_comes_while_only_gateways_live_is_not_stranded(stage: Stage, wish: str) -> None:
    agent = stage.agent("input")
    gateway, other = stage.gateway("g"), stage.gateway("h")
    a = stage.sidecar(agent, "a")
    await stage.ready()
    asked = await _waiting_task(stage, gateway)
    agent.kill()
    a.kill()
    await wait_for(lambda: stage.reasons(gateway))
    await wait_for(lambda: stage.reasons(other))
    seen = stage.subscribe(other, asked.task_id)
    await wait_for(lambda: seen.frames)
    if wish != "a cancel":
        answer = stage.send(gateway, "blue", taskId=asked.task_id)
        await wait_for(lambda: _has(stage, asked.task_id, "input"))
        assert not answer.done
    if wish != "an answer":
        canceled = await stage.rpc(other, "CancelTask", {"id": asked.task_id})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED", canceled
    else:
        await stage.restart(agent)
        await stage.restart(a)
    await seen.ended()
    assert seen.state == f"TASK_STATE_{'COMPLETED' if wish == 'an answer' else 'CANCELED'}"
    await stage.verify()


async def _has(stage: Stage, task_id: str, kind: str) -> bool:
    return kind in await stage.kinds(task_id)


async def test_a_gateway_that_cannot_tell_its_group_says_what_to_give(stage: Stage) -> None:
    """Two groups in one store; the agents are well. The first lines of the log say the rest."""
    agents = [stage.agent("long") for _ in range(2)]
    sidecars = [stage.sidecar(agent, group=group) for agent, group in zip(agents, ("left", "right"), strict=True)]
    await stage.ready()
    lost, told = stage.gateway("lost"), stage.gateway("told", group="right")

    async def complains() -> bool:
        said = "no agent: the store has several groups (left, right): give --group"
        return said in await stage.reasons(lost)

    await wait_for(lambda: told.lines() and lost.lines())
    await stage.ready(told)
    await wait_for(complains)
    lines = [json.loads(line) for line in told.lines()]
    assert "told is starting" in lines[0]["message"]
    serves = next(line for line in lines if " serves " in line["message"])
    assert "for group right, as a gateway" in serves["message"]
    assert all(line["session"] == serves["session"] for line in lines[1:])
    assert len({line["session"] for each in (*sidecars, told) for line in map(json.loads, each.lines()[1:])}) == 3
