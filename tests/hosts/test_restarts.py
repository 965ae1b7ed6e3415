"""Hosts that are restarted: all at once, one after the other, and a standby whose agent comes late."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import Any

from bridge.lease import LEASE_MARGIN_MS, LEASE_TTL_MS
from tests.hosts.peers import cluster, completed, verify
from tests.integration.stage import Stage, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

LEASE: dict[str, Any] = {"lease__ttl_ms": LEASE_TTL_MS, "lease__margin_ms": LEASE_MARGIN_MS}
TEXT = "steps=12 pace=0.01 hold=6"


async def test_the_whole_cluster_is_restarted_and_the_run_that_lived_through_it_is_found(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    # As long as by default: who is back within a lease comes before those that would run it again.
    hosts = cluster(stage, agents, **LEASE)
    await stage.ready()
    seen = stage.send(hosts[0], TEXT)
    await seen.at_least(5)
    for each in hosts:
        each.kill()
    await asyncio.gather(*(stage.restart(each) for each in hosts))
    beside = stage.subscribe(hosts[2], seen.task_id)
    await beside.at_least(2)
    stage.go()
    await asyncio.gather(*(wait_for(partial(completed, stage, each, seen.task_id)) for each in hosts))
    await beside.ended()
    assert beside.completed
    assert [len(each.journal()) for each in agents] == [1, 0, 0]
    final = await stage.task(hosts[1], seen.task_id)
    assert "".join(part["text"] for part in final["artifacts"][0]["parts"]) == whole(12)
    await verify(stage, hosts)


async def test_cases_77_78_a_rolling_restart_of_the_hosts_is_not_noticed_at_the_third(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b, gate = hosts = cluster(stage, [*agents, None])
    await stage.ready()
    streams = [stage.send(gate, "steps=60 pace=0.05") for _ in range(6)]
    for each in streams:
        await each.at_least(3)
    for host in (a, b):
        host.signal(signal.SIGTERM)
        assert await host.exited(10) == 0
        await stage.restart(host)
    await asyncio.gather(*(each.ended(30) for each in streams))
    for each in streams:
        as_if_nothing_had_happened(each, steps(60), whole(60))
    await verify(stage, hosts)


async def test_a_standby_whose_agent_comes_late_takes_over_what_waits_for_it(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    agents[1].kill()
    *_, gate = hosts = cluster(stage, [*agents, None])
    await stage.ready(agents[0], hosts[0], gate)
    seen = stage.send(gate, TEXT)
    await seen.at_least(5)
    agents[0].kill()
    stage.go()
    agents[1].start()
    await seen.ended()
    as_if_nothing_had_happened(seen, steps(12), whole(12))
    assert len(agents[1].journal()) == 1
    await verify(stage, hosts)
