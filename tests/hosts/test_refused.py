"""``takeover.refused_is_dead``: where addresses are never reused, a host that is gone is not waited for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.hosts.peers import cluster, verify
from tests.integration.stage import Stage
from tests.integration.test_takeover import whole

TTL_MS, MARGIN_MS = 5_000, 500


@pytest.mark.parametrize("proves", [False, True])
async def test_a_host_that_is_destroyed_is_not_waited_for(stage: Stage, proves: bool) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    lease: dict[str, Any] = {"lease__ttl_ms": TTL_MS, "lease__margin_ms": MARGIN_MS}
    a, b, c = cluster(stage, agents, takeover__refused_is_dead=proves, **lease)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    beside = stage.subscribe(c, direct.task_id)
    await beside.at_least(2)
    a.kill()
    agents[0].kill()
    killed = time.monotonic()
    stage.go()
    await beside.ended()
    waited_s = time.monotonic() - killed
    assert beside.completed
    assert (waited_s < TTL_MS / 1000 / 2) == proves
    assert beside.text in whole(12)
    stage.store = stage.directory / "b.db"
    reasons = [each.body for each in await stage.journal(direct.task_id) if each.kind.value == "claimed"]
    assert (b'"refused"' in (reasons[-1] or b"")) == proves
    await verify(stage, [b, c])
