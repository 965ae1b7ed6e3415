"""``dhp-sidecar cluster show`` against running sidecars: what an operator sees, as text, as JSON, as exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from tests.hosts.peers import cluster, pair
from tests.hosts.test_told_of_peers import address
from tests.integration.processes import ROOT
from tests.integration.stage import SidecarProcess, Stage, wait_for
from tests.integration.test_followups import asked


async def shown(at: SidecarProcess, *options: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of the command, as an operator on that host would run it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DHP_SIDECAR_")}
    command = (sys.executable, "-m", "sidecar.cli", "cluster", "show", *options)
    port = at.control.rpartition(":")[2]
    done = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=ROOT,
        env={**env, "DHP_SIDECAR_CONTROL_PORT": port},
    )  # fmt: skip
    out, err = await done.communicate()
    assert done.returncode is not None
    return done.returncode, out.decode(), err.decode()


async def report(at: SidecarProcess) -> tuple[int, dict[str, Any]]:
    status, out, err = await shown(at, "--json")
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return status, found


async def gauges(stage: Stage, at: SidecarProcess) -> dict[str, float]:
    page = (await stage.web.get(f"{at.control}/metrics")).text
    samples = (line.split() for line in page.splitlines() if line.startswith("dhp_sidecar_cluster_"))
    return {name.removeprefix("dhp_sidecar_cluster_"): float(value) for name, value in samples}


ALL_WELL = {
    "formed": 1, "list_version": 1, "members": 3, "members_reached": 3, "peers": 3, "peers_reached": 3,
    "strangers": 0, "sessions": 3, "joined": 0,
}  # fmt: skip


async def test_all_hosts_show_one_cluster_and_who_owns_what(stage: Stage) -> None:
    a, b, c = hosts = cluster(stage, [stage.agent("input"), stage.agent("long"), stage.agent("long")])
    await stage.ready()
    working = stage.send(b, "steps=12 pace=0.01 hold=6")
    question = stage.send(a, "questions=1")
    await asyncio.gather(working.at_least(5), asked(question, 1, 1))
    seen = []
    for each in hosts:

        async def settled(host: SidecarProcess = each) -> bool:
            owners = (await report(host))[1]["owners"]
            return [(one["name"], one["at_work"], one["waiting"]) for one in owners] == [("a", 0, 1), ("b", 1, 0)]

        await wait_for(settled)
        status, found = await report(each)
        assert (status, found["well"], found["wrong"]) == (0, True, [])
        assert (found["sidecar"], found["formed"], found["list"]) == (each.name, True, 1)
        members = {one["name"]: one for one in found["members"]}
        assert sorted(members) == ["a", "b", "c"]
        assert [one["name"] for one in found["members"] if one["itself"]] == [each.name]
        assert all(one["member"] and one["reached"] and one["list"] == 1 for one in found["members"])
        addresses = {one.name: "" if one is each else address(one) for one in hosts}
        assert {name: one["address"] for name, one in members.items()} == addresses
        assert {one["name"] for one in found["sessions"] if one["lives"] and one["ready"]} == {"a", "b", "c"}
        assert {one["url"] for one in found["sessions"]} == {one.url for one in hosts}
        assert {one["peer_url"] for one in found["sessions"]} == {address(one) for one in hosts}
        seen.append((found["cluster"], {name: one["voter"] for name, one in members.items()}))
        assert await gauges(stage, each) == ALL_WELL
    assert seen[0] == seen[1] == seen[2]
    status, out, err = await shown(c)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == "ok  formed, and all of --peers are reached"
    assert "\x1b" not in out
    stage.go()
    await working.ended()


async def test_who_listens_everywhere_says_where_the_others_reach_it(stage: Stage) -> None:
    everywhere: dict[str, Any] = {"peer_host": "0.0.0.0", "cluster_secret": "known to all three of these hosts"}
    hosts = cluster(stage, [stage.agent("long") for _ in range(3)], **everywhere)
    await stage.ready()
    for each in hosts:

        async def told(host: SidecarProcess = each) -> bool:
            sessions = (await report(host))[1]["sessions"]
            return {one["peer_url"] for one in sessions} == {address(one) for one in hosts}

        await wait_for(told)


async def test_a_host_that_is_away_and_a_majority_that_is_away(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    c.signal(signal.SIGSTOP)
    status, found = await report(a)
    assert status == 1
    assert found["wrong"] == [f"peer c at {address(c)} is connected and has not answered within 1 s"]
    c.kill()

    async def noticed() -> bool:
        return (await gauges(stage, a))["sessions"] == 2

    await wait_for(noticed)
    status, out, _ = await shown(a)
    assert status == 1
    (wrong,) = [line for line in out.splitlines() if line.startswith("WRONG")]
    assert wrong.startswith(f"WRONG  peer c at {address(c)} cannot be reached: connection refused")
    (row,) = [line for line in out.splitlines() if address(c) in line and line.startswith("c ")]
    assert "no: cannot be reached: connection refused" in row
    (row,) = [line for line in out.splitlines() if c.url in line]
    assert "silent" in row
    assert await gauges(stage, a) == ALL_WELL | {"members_reached": 2, "peers_reached": 2, "sessions": 2}
    b.kill()

    async def lost() -> bool:
        return (await gauges(stage, a))["members_reached"] == 1

    await wait_for(lost)
    status, found = await report(a)
    assert status == 1
    assert len(found["wrong"]) == 3
    assert found["wrong"][-1].startswith("1 of 3 members are reached and 2 are needed")


async def test_a_pair_is_shown_as_one(stage: Stage) -> None:
    a, b = pair(stage, [stage.agent("long") for _ in range(2)])
    await stage.ready()
    status, out, _ = await shown(a)
    assert status == 0
    assert "  a pair of hosts, as a sees it at " in out.splitlines()[0]
    assert "no member" not in out
    b.kill()

    async def alone() -> bool:
        return (await gauges(stage, a))["members_reached"] == 1

    await wait_for(alone)
    status, found = await report(a)
    assert (status, len(found["members"])) == (1, 2)
    assert found["wrong"][-1].startswith("1 of 2 members are reached and 2 are needed")


async def test_a_host_that_has_met_nobody(stage: Stage) -> None:
    (a,) = cluster(stage, [stage.agent("long")], peers="http://127.0.0.1:9,http://127.0.0.1:10")

    async def answers() -> bool:
        return (await shown(a))[0] == 1

    await wait_for(answers)
    status, out, _ = await shown(a)
    assert status == 1
    assert out.startswith("cluster  not formed, as a sees it at ")
    assert "WRONG  not all of the configured peers have been met: peer at http://127.0.0.1:9 cannot" in out
    assert (await gauges(stage, a)) == {
        "formed": 0, "list_version": 0, "members": 0, "members_reached": 0, "peers": 3, "peers_reached": 1,
        "strangers": 0, "sessions": 1, "joined": 0,
    }  # fmt: skip


async def test_a_sidecar_without_peers_says_so(stage: Stage) -> None:
    a = stage.sidecar(stage.agent("long"))
    await stage.ready()
    status, out, err = await shown(a)
    assert (status, out) == (2, "")
    assert "this sidecar has no peers: it was started without --peers" in err
