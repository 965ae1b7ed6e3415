"""Agents that know the durability extension go on from what is kept: no turn comes twice, no payment either."""

from __future__ import annotations

import sys

import pytest

from bridge.jsontext import parse
from tests.integration.agent_card import RPC_PATH
from tests.integration.agents import free_port
from tests.integration.processes import AgentProcess
from tests.integration.stage import Stage, message, wait_for

pytestmark = pytest.mark.chaos


def paying_agent(stage: Stage, name: str) -> AgentProcess:
    port, log = free_port(), str(stage.directory / f"{name}.jsonl")
    command = [
        sys.executable,
        "-m",
        "tests.chaos.turns",
        "--agent",
        "steady",
        "--port",
        str(port),
        "--exec-log",
        log,
    ]
    stage.processes.append(agent := AgentProcess(name, port, command, stage.directory, RPC_PATH))
    return agent


@pytest.mark.parametrize("dies", ["agent", "agent and sidecar"])
async def test_cases_46_47_a_resumed_agent_adds_no_turn_and_pays_once(stage: Stage, dies: str) -> None:
    """Case 47 light: a receipt is durable before what follows the next step is."""
    agents = [paying_agent(stage, name) for name in ("one", "two")]
    a, b = (stage.sidecar(each, lease__ttl_ms=800, lease__margin_ms=100) for each in agents)
    await stage.ready()
    params = message("pages=8 pace=0.05")
    direct = stage.stream(a, "SendStreamingMessage", params)
    await wait_for(lambda: "[3]" in direct.text)
    agents[0].kill()
    if dies != "agent":
        a.kill()
    seen = stage.stream(b, "SendStreamingMessage", params)  # attaches
    await seen.ended()
    assert seen.text == "".join(f"[{page}]" for page in range(1, 9))
    assert seen.task_id == direct.task_id
    assert [len(each.journal()) for each in agents] == [1, 1]
    assert sum(len(each.journal("turn")) for each in agents) == 1
    said = (await stage.task(b, seen.task_id))["history"]
    assert sum(each["role"] == "ROLE_USER" for each in said) == 1
    for page in range(1, 9):
        assert sum(len(each.journal(f"paid {page}")) for each in agents) == 1, page
    await _receipts_precede(stage, seen.task_id)
    await stage.verify()


async def test_a_run_that_resumed_inside_an_artifact_is_followed_again_without_loss(stage: Stage) -> None:
    """Its agent's own Task has only the rest of the artifact: who reattaches reads that, and keeps the start."""
    agents = [stage.agent("steady"), stage.agent("steady")]
    a, b = (stage.sidecar(each, lease__ttl_ms=800, lease__margin_ms=100) for each in agents)
    gateway = stage.gateway()
    await stage.ready()
    seen = stage.stream(gateway, "SendStreamingMessage", message("steps=8 pace=0.05 hold=6"))
    await seen.at_least(2)
    owner = 0 if agents[0].journal() else 1
    agents[owner].kill()
    await seen.at_least(5)  # made by the other one, from a checkpoint on; it holds there
    again = (b, a)[owner]
    again.kill()
    await stage.restart(again)
    stage.go()
    await seen.ended()
    assert seen.completed, seen
    assert seen.text == "".join(f"[{step}]".ljust(16, "x") for step in range(1, 9))
    assert seen.replaced == 0
    await stage.verify()


async def _receipts_precede(stage: Stage, task_id: str) -> None:
    done: list[str] = []
    for entry in await stage.journal(task_id):
        body = parse(entry.body or b"{}")
        if entry.kind == "step":
            done += [each["step"] for each in body["receipts"] if each["phase"] == "done"]
        for page in range(2, 9):
            if entry.kind == "event" and f"[{page}]" in str(body.get("event", {}).get("artifactUpdate", "")):
                assert f"pay {page - 1}" in done, f"page {page} is shown before page {page - 1}'s receipt is kept"
    assert len(done) >= 7
