"""An agent that is not there when its sidecar is: clear answers meanwhile, and no restart once it comes."""

from __future__ import annotations

import asyncio
import time

from tests.integration.agents import free_port
from tests.integration.raw_agent import RawAgent
from tests.integration.raw_scripts import good
from tests.integration.scripted import COMPLETED
from tests.integration.stage import V1, SidecarProcess, Stage, message, wait_for

TOLD_WITHIN_S = 5.0


async def no_agent(stage: Stage, sidecar: SidecarProcess) -> str:
    """Wait until the sidecar serves and says that it has no agent; its reasons."""

    async def says_so() -> str:
        assert sidecar.alive
        reasons = "; ".join(await stage.reasons(sidecar))
        return reasons if "no agent" in reasons else ""  # before it has looked it says that it has not

    reasons: str = await wait_for(says_so)
    assert (await stage.web.get(sidecar.probe)).status_code == 503
    return reasons


async def test_an_agent_that_was_never_there(stage: Stage) -> None:
    port = free_port()
    sidecar = stage.sidecar(f"http://127.0.0.1:{port}")
    assert "no agent" in await no_agent(stage, sidecar)
    assert (await stage.web.get(f"{sidecar.control}/healthz")).status_code == 200
    body = {"jsonrpc": "2.0", "id": "x", "method": "SendMessage", "params": message("hello")}
    for path in ("/rpc", "/", "/.well-known/agent-card.json"):
        began = time.monotonic()
        refused = await stage.web.post(sidecar.url + path, json=body, headers=V1)
        assert time.monotonic() - began < TOLD_WITHIN_S
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert "agent" in refused.text
    assert await stage.task_ids() == []
    await stage.verify()
    async with RawAgent(good, port=port) as agent:
        await stage.ready()
        done = (await stage.web.post(f"{sidecar.url}/rpc", json=body, headers=V1)).json()
        assert done["id"] == "x"
        assert done["result"]["task"]["status"]["state"] == COMPLETED
        assert [each.rpc["method"] for each in agent.requests] == ["SendStreamingMessage"]
    await stage.verify()


async def test_what_is_known_is_served_without_an_agent_and_new_messages_are_refused_in_time(
    stage: Stage,
) -> None:
    port = free_port()
    sidecar = stage.sidecar(f"http://127.0.0.1:{port}")
    async with RawAgent(good, port=port):
        await stage.ready()
        card = (await stage.web.get(f"{sidecar.url}/.well-known/agent-card.json")).content
        finished = (await stage.rpc(sidecar, "SendMessage", message("hello")))["task"]
        sidecar.kill()
    sidecar.start()
    assert "no agent" in await no_agent(stage, sidecar)

    assert (await stage.web.get(f"{sidecar.url}/.well-known/agent-card.json")).content == card
    assert await stage.task(sidecar, finished["id"]) == finished
    asked = [message("hello") for _ in range(2)]
    began = time.monotonic()
    streamed = stage.stream(sidecar, "SendStreamingMessage", asked[0])
    blocked = await stage.rpc(sidecar, "SendMessage", asked[1])
    await wait_for(lambda: streamed.done)
    assert time.monotonic() - began < TOLD_WITHIN_S
    for error in (blocked["error"], streamed.rpc_error):
        assert error is not None
        assert error["code"] == -32603
        assert "not reachable" in error["message"]
    assert [task["id"] for task in (await stage.rpc(sidecar, "ListTasks", {}))["tasks"]] == [finished["id"]]
    refused = [task for task in await stage.task_ids() if task != finished["id"]]
    assert len(refused) == 2
    for task in refused:
        assert (await stage.kinds(task)).count("expired") == 1
        assert (await stage.task(sidecar, task))["error"]["code"] == -32001
    await stage.verify()

    async with RawAgent(good, port=port) as agent:
        await stage.ready()
        for params in asked:
            task = (await stage.rpc(sidecar, "SendMessage", params))["task"]
            assert task["status"]["state"] == COMPLETED
        assert len(agent.requests) == 2  # none of the refused ones ever ran
    await stage.verify()


async def test_a_message_waits_for_an_agent_that_is_being_restarted(stage: Stage) -> None:
    port = free_port()
    sidecar = stage.sidecar(f"http://127.0.0.1:{port}", agent__absent_timeout_s=30)
    async with RawAgent(good, port=port):
        await stage.ready()
    seen = stage.send(sidecar, "hello")
    blocked = asyncio.ensure_future(stage.rpc(sidecar, "SendMessage", message("hello")))

    async def both_wait() -> bool:
        return len(await stage.task_ids()) == 2

    await wait_for(both_wait)
    async with RawAgent(good, port=port) as agent:
        await seen.ended()
        assert seen.completed
        assert (await blocked)["task"]["status"]["state"] == COMPLETED
        assert len(agent.requests) == 2
    await stage.verify()


async def test_case_26_what_comes_before_a_restarted_agent_has_answered_belongs_to_its_group(stage: Stage) -> None:
    """The group is the card's name, and that card was read in an earlier life only."""
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    for process in (a, agents[0]):
        process.kill()
    a.start()
    assert "no agent" in await no_agent(stage, a)
    task = (await stage.rpc(a, "SendMessage", message("steps=2 pace=0")))["task"]
    assert task["status"]["state"] == COMPLETED
    assert [len(each.journal()) for each in agents] == [0, 1]
    assert await stage.metric(b, "takeovers") == 1
    await stage.verify()
