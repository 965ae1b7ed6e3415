"""What operators find in log, metrics and journal when agents and sidecars die: every change once, and why."""

from __future__ import annotations

import json
import signal
import uuid
from typing import Any

import pytest

from bridge.journal import Kind
from sidecar.ops.timeline import describe
from tests.integration.stage import SidecarProcess, Stage, message, wait_for


def logged(sidecar: SidecarProcess, *words: str) -> list[tuple[str, str]]:
    """(level, message) of the lines that hold all of these words."""
    lines = (json.loads(line) for line in sidecar.lines() if line.startswith("{"))
    return [(each["level"], each["message"]) for each in lines if all(word in each["message"] for word in words)]


async def timed(stage: Stage, sidecar: SidecarProcess, name: str) -> tuple[float, float]:
    """(count, sum) of a histogram."""
    page = (await stage.web.get(f"{sidecar.control}/metrics")).text
    samples = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    count, total = (float(samples[f"dhp_sidecar_{name}_seconds_{each}"]) for each in ("count", "sum"))
    return count, total


async def claims(stage: Stage, task_id: str) -> list[str]:
    """How ``show`` describes the claims of a task."""
    return [describe(entry) for entry in await stage.journal(task_id) if entry.kind is Kind.CLAIMED]


async def test_an_agent_that_dies_and_returns_is_told_once_each_and_its_takeover_is_timed(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    assert await timed(stage, b, "takeover") == (0, 0)
    seen = stage.send(a, "steps=8 pace=0.01 hold=4")
    await seen.at_least(3)
    agents[0].kill()
    stage.go()
    await seen.ended()
    assert seen.completed

    await wait_for(lambda: logged(a, "no agent at"))
    ((level, told),) = logged(a, "no agent at")
    assert level == "warning"
    assert told.startswith(f"no agent at {agents[0].url.rstrip('/')}: ")
    assert told.endswith("; new messages are handed to others of the group or refused until it answers")
    ((level, told),) = logged(a, f"task {seen.task_id}", "agent_gone")
    assert level == "warning"
    assert "given up for another sidecar, or for this one when its agent is back" in told
    await wait_for(lambda: logged(b, f"task {seen.task_id}: completed"))  # the client is answered first
    assert logged(b, f"task {seen.task_id}: completed") == [
        ("info", f"task {seen.task_id}: completed after 2 runs")
    ]
    assert logged(a, f"task {seen.task_id}: completed") == []
    assert await stage.metric(b, "takeovers") == 1
    count, seconds = await timed(stage, b, "takeover")
    assert count == 1
    assert 0 < seconds < 2
    count, seconds = await timed(stage, b, "append")
    assert count >= 4
    assert 0 < seconds < 2 * count

    assert logged(a, "answers again") == []
    await stage.restart(agents[0])
    await stage.ready(a)
    assert len(logged(a, "answers again")) == 1


async def test_a_client_that_is_refused_for_want_of_an_agent_is_told_of(stage: Stage) -> None:
    """The wait of 3 s for an absent agent is 0.2 s here."""
    agent = stage.agent("long")
    a = stage.sidecar(agent, agent__absent_timeout_s=0.2)
    await stage.ready()
    agent.kill()
    await wait_for(lambda: logged(a, "no agent at"))
    params = message("hello", messageId=str(uuid.uuid4()))
    assert "error" in await stage.rpc(a, "SendMessage", params)
    await wait_for(lambda: logged(a, params["message"]["messageId"]))  # the client is answered first
    ((level, told),) = logged(a, params["message"]["messageId"])
    assert level == "warning"
    assert "was refused: The agent of sidecar" in told
    assert len(logged(a, "no agent at")) == 1  # and not one for each attempt


async def test_a_gateway_says_when_its_group_has_an_agent_and_when_not(stage: Stage) -> None:
    gateway = stage.gateway(group="scripted")
    missing = "no sidecar of the group has an agent at the moment; new messages wait for one or are refused"
    await wait_for(lambda: logged(gateway, missing) == [("warning", missing)])
    stage.sidecar(stage.agent("long"), group="scripted")
    await stage.ready()
    ((level, _),) = logged(gateway, "a sidecar of the group has an agent")
    assert level == "info"
    assert len(logged(gateway, missing)) == 1


async def test_a_dead_letter_says_why_to_operators_and_clients(stage: Stage) -> None:
    """Two runs instead of five."""
    agent = stage.agent("long")
    a = stage.sidecar(agent, takeover__attempts_max=2)
    await stage.ready()
    seen = stage.send(a, "steps=8 pace=0.01 hold=4")
    await seen.at_least(3)
    agent.kill()
    await wait_for(lambda: logged(a, "agent_gone"))
    await stage.restart(agent)
    await wait_for(lambda: len(agent.journal()) == 2)
    agent.kill()
    await seen.ended()
    status: dict[str, Any] = (await stage.task(a, seen.task_id))["status"]
    said = "Given up after 2 runs: the agent died in each of them. The journal is kept whole."
    assert (status["state"], status["message"]["parts"][0]["text"]) == ("TASK_STATE_FAILED", said)
    where = f"see dhp-sidecar show {seen.task_id[:8]}"
    told = f"task {seen.task_id}: given up after 2 runs (takeover.attempts_max); last: agent_gone; {where}"
    assert logged(a, "takeover.attempts_max") == [("error", told)]
    assert await stage.metric(a, "dead_letters") == 1
    await stage.verify()


@pytest.mark.parametrize(
    ("number", "evidence"),
    [(signal.SIGKILL, "lock"), (signal.SIGSTOP, "expired"), (signal.SIGTERM, "released")],
)
async def test_a_claim_names_what_showed_that_its_owner_was_gone(
    stage: Stage, number: signal.Signals, evidence: str
) -> None:
    """A session lasts 0.9 s instead of 3.3 s."""
    agents = [stage.agent("long"), stage.agent("long")]
    lease: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100}
    a, b = (stage.sidecar(each, **lease) for each in agents)
    await stage.ready()
    seen = stage.send(a, "steps=8 pace=0.01 hold=4")
    await seen.at_least(3)
    stage.stop_between_commits(a) if number is signal.SIGSTOP else a.signal(number)
    try:

        async def claimed() -> bool:
            return len(await claims(stage, seen.task_id)) == 2

        await wait_for(claimed)
    finally:
        a.signal(signal.SIGCONT)
    assert (await claims(stage, seen.task_id))[1].startswith(f"by {b.name}: {evidence}")
    await wait_for(lambda: len(agents[1].journal()) == 1)
    assert await stage.metric(b, "takeovers") == 1
    assert (await timed(stage, b, "takeover"))[0] == 1


async def test_a_sidecar_that_is_back_takes_its_own_as_a_newer_boot(stage: Stage) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    seen = stage.send(a, "steps=8 pace=0.01 hold=4")
    await seen.at_least(3)
    a.kill()
    await stage.restart(a)
    stage.go()

    async def ended() -> bool:
        return "completed" in await stage.kinds(seen.task_id)

    await wait_for(ended)
    assert (await claims(stage, seen.task_id))[1].startswith(f"by {a.name}: newer_boot")
    assert len(agent.journal()) == 1
    assert await stage.metric(a, "takeovers") == 1
