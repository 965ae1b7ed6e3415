"""An agent is killed; its task ends as if nothing had happened."""

from __future__ import annotations

from tests.integration.stage import Stage, wait_for


def steps(count: int) -> list[str]:
    return [f"step {step}/{count}" for step in range(1, count + 1)]


def whole(count: int) -> str:
    return "".join(f"[{step}]".ljust(16, "x") for step in range(1, count + 1))


async def test_case_42_a_standby_finishes_what_a_killed_agent_began(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.05")
    await wait_for(lambda: len(seen.said) >= 5)
    agents[0].kill()
    await seen.ended()
    assert seen.completed
    assert seen.said == steps(12)
    assert seen.text == whole(12)
    assert len(agents[1].journal()) == 1
    assert (await stage.task(b, seen.task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    await stage.verify()
