"""Who is configured wrongly, or asks for what is not here, is told so, counted and logged; the others go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from bridge.journal import Draft, Fence, Kind, chain, genesis
from bridge.jsontext import write
from bridge.placement import MEMBERS, chosen
from bridge.quorum import Append, Claim, Refused
from sidecar.errors import PeerUnavailable
from sidecar.peers.handshake import Side
from sidecar.peers.link import PeerLink
from tests.hosts.peer_side import identity, link
from tests.hosts.peers import cluster, verify
from tests.hosts.test_cluster_show import gauges, report
from tests.hosts.test_told_of_peers import address, alarms
from tests.integration.agents import free_port
from tests.integration.stage import SidecarProcess, Stage, wait_for
from tests.integration.test_told_to_operators import logged

SECRET = "what all of them know"
FENCE = Fence(9, "f" * 32)


async def refused(stage: Stage, at: SidecarProcess, counter: str, code: str) -> float:
    """How often something was refused for this reason."""
    page = (await stage.web.get(f"{at.control}/metrics")).text
    samples = [line for line in page.splitlines() if line.startswith(f"dhp_sidecar_{counter}_total{{")]
    return sum(float(line.rpartition(" ")[2]) for line in samples if f'code="{code}"' in line)


async def done(stage: Stage, at: SidecarProcess) -> str:
    """A task that was completed there; its id."""
    seen = stage.send(at, "steps=3 pace=0.01")
    await seen.ended()
    assert seen.completed
    return seen.task_id


async def completed(stage: Stage, task: str, *hosts: SidecarProcess) -> None:
    for each in hosts:

        async def there(host: SidecarProcess = each) -> bool:
            found = await stage.task(host, task)
            return found.get("status", {}).get("state") == "TASK_STATE_COMPLETED"

        await wait_for(there)


async def _reason(stage: Stage, at: SidecarProcess, words: str) -> str:
    async def said() -> list[str]:
        return [each for each in await stage.reasons(at) if words in each]

    found: list[str] = await wait_for(said, 15)
    return found[0]


def peered(stage: Stage, name: str, port: int, *peers: int) -> SidecarProcess:
    """A sidecar with its own agent and store, and peers on these ports."""
    given: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100, "peer_port": port}
    urls = ",".join(f"http://127.0.0.1:{each}" for each in peers)
    return stage.sidecar(
        stage.agent("long"), name, store=f"sqlite:///{stage.directory / name}.db", peers=urls, **given
    )


async def test_two_clusters_that_point_at_each_other(stage: Stage) -> None:
    ports = [free_port() for _ in range(5)]
    a, b = (peered(stage, name, port, *ports[:2]) for name, port in zip("ab", ports[:2], strict=True))
    c, d = (peered(stage, name, port, *ports[2:4]) for name, port in zip("cd", ports[2:4], strict=True))
    await stage.ready()
    here, there = await done(stage, a), await done(stage, c)
    b.kill()
    b._env["DHP_SIDECAR_PEERS"] += f",{address(c)}"
    await stage.restart(b)
    await wait_for(lambda: logged(b, f"peer at {address(c)} refuses this sidecar: the two belong to different"))
    ((level, told),) = logged(b, "different clusters")
    assert (level, told.endswith("; take its address out of --peers here, and this one's there")) == (
        "warning",
        True,
    )
    ((level, _),) = logged(c, "which calls itself b, is refused at the peer port: the two belong to different")
    assert level == "warning"
    assert await refused(stage, b, "peers_refused", "cluster") >= 1
    assert await refused(stage, c, "peers_refused", "cluster") >= 1
    status, found = await report(b)
    assert (status, found["formed"], found["wrong"]) == (1, True, found["wrong"][:1])
    assert f"peer at {address(c)} refuses this sidecar" in found["wrong"][0]

    # A new host that is told of both joins neither, and writes nothing into either.
    e = peered(stage, "e", ports[4], *ports)
    told = await _reason(stage, e, "different clusters")
    clusters = [(await report(each))[1]["cluster"] for each in (a, c)]
    assert all(each[:8] in told for each in clusters)
    await wait_for(lambda: logged(e, "this cluster takes no work yet", "different clusters"))
    assert (await gauges(stage, e))["formed"] == 0
    assert [each.alive for each in (a, b, c, d)] == [True] * 4
    await completed(stage, here, a, b)
    await completed(stage, there, c, d)
    await done(stage, a)
    await done(stage, c)
    await verify(stage, [a, b, c, d])


async def test_peers_that_name_only_the_sidecar_itself(stage: Stage) -> None:
    ports = [free_port() for _ in range(3)]
    a = peered(stage, "a", ports[0], ports[0])
    told = await _reason(stage, a, "names only this sidecar itself")
    assert "give every sidecar the addresses of all members" in told
    await wait_for(lambda: logged(a, "this cluster takes no work yet", "names only this sidecar itself"))
    assert (await gauges(stage, a))["formed"] == 0
    assert (await report(a))[0] == 1
    # Nothing was formed that would be in the way now.
    a.kill()
    a._env["DHP_SIDECAR_PEERS"] = ",".join(f"http://127.0.0.1:{port}" for port in ports)
    a.start()
    hosts = [a, *(peered(stage, name, port, *ports) for name, port in zip("bc", ports[1:], strict=True))]
    await stage.ready()
    await completed(stage, await done(stage, a), *hosts)
    assert (await report(a))[0] == 0


async def test_peers_that_leave_a_member_out(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    c.kill()
    c._env["DHP_SIDECAR_PEERS"] = f"{address(a)},{address(c)}"
    await stage.restart(c)
    await wait_for(lambda: logged(c, "--peers names 2 of the 3 members"))
    ((level, told),) = logged(c, "--peers names 2 of the 3 members")
    assert (level, told.endswith("give every sidecar the addresses of all members")) == ("warning", True)
    status, found = await report(c)
    assert (status, found["wrong"][0]) == (1, told)
    await completed(stage, await done(stage, c), a, b, c)  # it does no harm


async def test_a_host_that_comes_back_with_an_empty_disk(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    before = await done(stage, c)
    await completed(stage, before, a, b, c)
    c.kill()
    for file in stage.directory.glob("c.db*"):
        if file.is_file():
            file.unlink()
    c.start()
    told = await _reason(stage, c, "is not a member of cluster")
    assert "its file is new or a copy" in told
    await wait_for(lambda: logged(c, "is not a member of cluster"))
    for each in (a, b):
        await wait_for(partial(logged, each, "--peers leads to what is no member"))
        ((level, told),) = logged(each, "--peers leads to what is no member")
        assert (level, f"c at {address(c)}" in told) == ("warning", True)
        assert await stage.reasons(each) == []  # the two go on
        assert (await gauges(stage, each))["strangers"] == 1
        assert (await gauges(stage, each))["members_reached"] == 2
    assert (await gauges(stage, c))["formed"] == 0
    status, found = await report(a)
    assert (status, len(found["members"])) == (1, 4)
    assert [each["name"] for each in found["members"] if each["reached"] and not each["member"]] == ["c"]
    after = await done(stage, a)
    for task in (before, after):
        await completed(stage, task, a, b)
    assert "error" in await stage.rpc(c, "SendMessage", {"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "steps=1"}]}})  # fmt: skip
    await verify(stage, [a, b])


@asynccontextmanager
async def stranger(at: SidecarProcess) -> AsyncIterator[PeerLink]:
    """A peer that knows the cluster's secret and is no member."""
    async with link(address(at), Side(identity("north"), SECRET.encode())) as to:
        yield to


def dispatch(task: str, voters: list[str], version: int) -> Append:
    """The first append of a handoff."""
    tip = genesis(task)
    body = write({"task": task, "handoff": "0" * 64, "voters": voters, "list": version})
    entries = chain(tip, FENCE, 1_700_000_000_000, [Draft(Kind.DISPATCHED, body)])
    return Append(task, FENCE, 0, tip.hash, entries, 0)


async def test_what_is_meant_for_another_voter_list_or_cluster(stage: Stage) -> None:
    a, *_ = hosts = cluster(stage, [stage.agent("long") for _ in range(3)], cluster_secret=SECRET)
    await stage.ready()
    members = [each["voter"] for each in (await report(a))[1]["members"]]
    task = "0b54c6b8-8f4a-8a5e-9f53-2f1d1c0b7a11"
    async with stranger(a) as to:
        mine = to.voter
        assert mine == members[0]
        to.voter = "v" * 32
        for answer in (
            await to.pre_vote(Claim(task, FENCE, "f" * 32)),
            await to.claim(Claim(task, FENCE, "f" * 32)),
            await to.append_soon(dispatch(task, ["v" * 32], 1)),
        ):
            assert isinstance(answer, Refused)
            assert answer.reason == "unknown_voter"
        to.voter = mine
        voters = [*chosen(task, members)]
        for append in (dispatch(task, voters, 2), dispatch(task, ["v" * 32], 1)):
            answer = await to.append_soon(append)
            assert isinstance(answer, Refused)
            assert answer.reason == "misplaced"
        # Taken for a change of what is committed, this would stop the voter.
        with pytest.raises(PeerUnavailable, match="another cluster"):
            await to.append_soon(dispatch(MEMBERS, ["v" * 32], 1))
        assert await to.row(task) is None
    for code, count, words in (
        ("unknown_voter", 3, f"means another voter than this one, {mine[:8]}"),
        ("misplaced", 2, "places tasks by another version of the member list"),
        ("cluster", 1, "sends the member list of cluster"),
    ):
        assert await refused(stage, a, "peers_unfit", code) == count
        ((level, told),) = logged(a, "peer north at 127.0.0.1", words)
        assert (level, told.endswith("; it is refused")) == ("warning", True)
    assert len(alarms(a)) == 3
    await completed(stage, await done(stage, a), *hosts)
    await verify(stage, hosts)
