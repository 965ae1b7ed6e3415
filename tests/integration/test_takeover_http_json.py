"""HTTP+JSON through real sidecars: an agent is killed, and its clients notice nothing on this binding either."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.integration.agent_card import REST_PATH
from tests.integration.stage import V1, SidecarProcess, Stage, message, wait_for

Json = dict[str, Any]
REST = "HTTP+JSON"
STEPS = [f"step {step}/12" for step in range(1, 13)]
WHOLE = "".join(f"[{step}]".ljust(16, "x") for step in range(1, 13))


async def ask(stage: Stage, sidecar: SidecarProcess, verb: str, path: str, body: Json | None = None) -> Any:
    return await stage.web.request(
        verb, sidecar.url + REST_PATH + path, json=body, headers=V1, timeout=httpx.Timeout(5, read=20)
    )


async def test_a_stream_a_subscription_and_a_blocking_send_outlive_the_agent(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6", binding=REST)
    await seen.at_least(2)
    watching = stage.subscribe(b, seen.task_id, binding=REST)
    blocking = asyncio.ensure_future(ask(stage, a, "POST", "/message:send", message("steps=12 pace=0.01 hold=6")))
    await seen.at_least(5)
    await watching.at_least(1)
    await wait_for(lambda: len(agents[0].journal()) == 2)
    agents[0].kill()
    stage.go()
    await asyncio.gather(seen.ended(), watching.ended())
    assert seen.completed
    assert seen.said == STEPS
    assert seen.text == watching.text == WHOLE
    assert seen.replaced == 0
    assert watching.completed
    answer = await blocking
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/a2a+json")
    assert "".join(part["text"] for part in answer.json()["task"]["artifacts"][0]["parts"]) == WHOLE
    assert len(agents[1].journal()) == 2
    assert "orphaned" in await stage.kinds(seen.task_id)

    for sidecar in (a, b):
        task = (await ask(stage, sidecar, "GET", f"/tasks/{seen.task_id}")).json()
        assert task == await stage.task(sidecar, seen.task_id)
        page = (await ask(stage, sidecar, "GET", "/tasks?status=TASK_STATE_COMPLETED")).json()
        assert {each["id"] for each in page["tasks"]} == {seen.task_id, answer.json()["task"]["id"]}
        for verb, path, reason in (
            ("POST", ":cancel", "TASK_NOT_CANCELABLE"),
            ("GET", ":subscribe", "UNSUPPORTED_OPERATION"),
        ):
            refused = await ask(stage, sidecar, verb, f"/tasks/{seen.task_id}{path}")
            assert refused.status_code == 400
            assert refused.json()["error"]["details"][0]["reason"] == reason
    await stage.verify()


async def test_a_cancel_over_http_json_reaches_the_agent(stage: Stage) -> None:
    agent = stage.agent("cancel")
    a = stage.sidecar(agent)
    await stage.ready()
    seen = stage.send(a, "seconds=60", binding=REST)
    while not seen.task_id:
        await asyncio.sleep(0.01)
    canceled = await ask(stage, a, "POST", f"/tasks/{seen.task_id}:cancel")
    assert (canceled.status_code, canceled.json()["status"]["state"]) == (200, "TASK_STATE_CANCELED")
    await seen.ended()
    assert seen.state == "TASK_STATE_CANCELED"
    await stage.verify()


async def test_the_extended_card_is_the_agent_s_own_refusal(stage: Stage) -> None:
    """The agent's card declares none: what the agent says reaches the client, over either binding."""
    agent = stage.agent("echo")
    a = stage.sidecar(agent)
    await stage.ready()
    direct = await stage.web.get(f"{agent.url}{REST_PATH}/extendedAgentCard", headers=V1)
    through = await ask(stage, a, "GET", "/extendedAgentCard")
    assert (through.status_code, through.json()) == (direct.status_code, direct.json())
    assert through.status_code == 400


async def test_a_refusal_that_comes_too_late_for_its_status_is_told_when_the_message_is_sent_again(
    stage: Stage,
) -> None:
    """Decision 0005."""
    a = stage.sidecar(stage.raw_agent("late_refusal"), front__keep_alive_s=0.2)
    await stage.ready()
    params = message("x")
    with pytest.raises(httpx.RemoteProtocolError):
        await stage.web.post(f"{a.url}/rest/message:send", json=params, headers=V1)
    again = await stage.web.post(f"{a.url}/rest/message:send", json=params, headers=V1)
    error = again.json()["error"]
    assert (again.status_code, error["message"]) == (400, "Not on Sundays")
    assert error["details"][0]["reason"] == "UNSUPPORTED_OPERATION"
    assert len(await stage.task_ids()) == 1
    await stage.verify()
