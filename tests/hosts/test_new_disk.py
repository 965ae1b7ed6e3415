"""A host that comes back with an empty disk: it says so, has no vote, and leaves the others' list alone."""

from __future__ import annotations

from tests.hosts.peers import cluster, lose_disk, verify
from tests.integration.stage import SidecarProcess, Stage, wait_for

MEMBERS = "members"


async def _list(stage: Stage, host: SidecarProcess) -> list[str]:
    store, stage.store = stage.store, stage.directory / f"{host.name}.db"
    try:
        return await stage.kinds(MEMBERS)
    finally:
        stage.store = store


async def test_a_host_without_its_disk_has_no_vote_and_says_so(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(3)]
    a, b, c = cluster(stage, agents)
    await stage.ready()
    before = stage.send(a, "steps=5 pace=0.01")
    await before.ended()
    written = await _list(stage, a)
    c.kill()
    lose_disk(stage, c)
    c.start()

    async def told() -> bool:
        return any("is not a member of cluster" in each for each in await stage.reasons(c))

    await wait_for(told, what="the host without its disk says so")
    after = stage.send(a, "steps=5 pace=0.01")  # and takes longer than many turns to write in the list
    await after.ended()
    assert before.completed
    assert after.completed
    for each in (a, b):
        assert await stage.reasons(each) == []
        assert await _list(stage, each) == written
    for seen in (before, after):  # reads it can serve: others have what it has not
        assert (await stage.task(c, seen.task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    await verify(stage, [a, b])
