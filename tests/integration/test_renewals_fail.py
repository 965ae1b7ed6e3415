"""Renewals of a session fail: that alone loses nothing; where it lasts, the run that was taken over is stopped.

Only the owner's fail, and nothing else of it does: on one host that is what a partition between sidecars is.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stage import SidecarProcess, Stage, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole
from tests.integration.test_takeover_of_sidecars import owners

TEXT = "steps=12 pace=0.01 hold=6"


def cut_off(file: Path) -> str:
    """The failpoint for a sidecar whose renewals fail while a file is there."""
    return f"session.before_renew=fail-while:{file}"


async def failures(stage: Stage, sidecar: SidecarProcess, count: int) -> bool:
    return await stage.metric(sidecar, "renewal_failures") >= count


async def test_case_36_renewals_that_fail_for_less_than_a_lease_change_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    """Two of four: the margin (1.9 s here) is what a busy machine may need to say that the third may succeed."""
    lease: dict[str, Any] = {"lease__ttl_ms": 4000, "lease__margin_ms": 1900}
    agents = [stage.agent("long"), stage.agent("long")]
    fails = tmp_path / "fails"
    a = stage.sidecar(agents[0], "a", cut_off(fails), **lease)
    stage.sidecar(agents[1], "b", **lease)
    await stage.ready()
    seen = stage.send(a, TEXT)
    await seen.at_least(5)
    fails.touch()
    await wait_for(partial(failures, stage, a, 2))
    assert any("renewed" in reason for reason in await stage.reasons(a))
    fails.unlink()
    await stage.ready(a)
    stage.go()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    assert await owners(stage, seen.task_id) == ["a"]
    assert [len(each.journal()) for each in agents] == [1, 0]
    assert agents[0].journal("cancel") == []
    await stage.verify()


@pytest.mark.parametrize("kind", ["long", "silent"])
async def test_cases_36_38_an_owner_that_cannot_renew_is_replaced_and_stops_its_run(
    stage: Stage, tmp_path: Path, kind: str
) -> None:
    """It still reaches its agent, and the store of journals: nothing of it hangs or dies."""
    lease: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100}
    agents = [stage.agent(kind), stage.agent(kind)]
    fails = tmp_path / "fails"
    a = stage.sidecar(agents[0], "a", cut_off(fails), **lease)
    b = stage.sidecar(agents[1], "b", **lease)
    await stage.ready()
    seen = stage.send(a, TEXT)
    await (seen.at_least(5) if kind == "long" else seen.reaches("TASK_STATE_WORKING"))
    fails.touch()
    await wait_for(agents[1].journal)
    await wait_for(lambda: agents[0].journal("cancel"), what="the run that was taken over is told to stop")
    assert any("renewed" in reason for reason in await stage.reasons(a))
    if kind == "long":
        stage.go()
    else:
        canceled = await stage.rpc(b, "CancelTask", {"id": seen.task_id})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    await seen.ended()  # its client is still at the sidecar that lost the task, and misses nothing
    assert await owners(stage, seen.task_id) == ["a", "b"]
    fences = [entry.fence.n for entry in await stage.journal(seen.task_id)]
    assert fences == sorted(fences)
    assert [len(each.journal()) for each in agents] == [1, 1]
    if kind == "long":
        as_if_nothing_had_happened(seen, steps(12), whole(12))
        assert agents[1].journal("cancel") == []
    fails.unlink()
    await stage.ready(a)
    await stage.verify()
