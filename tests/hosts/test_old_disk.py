"""Stores that are copies: the host's own old one, copied back or set back in place, and another host's."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from tests.hosts.peers import cluster, verify
from tests.hosts.test_cluster_show import gauges, report
from tests.hosts.test_peer_misfits import _reason, completed, done, refused
from tests.hosts.test_told_of_peers import address, alarms
from tests.integration.stage import SidecarProcess, Stage, wait_for
from tests.integration.test_told_to_operators import logged


def files(stage: Stage, name: str) -> list[Path]:
    """What a store consists of, but for sockets and locks."""
    return [each for each in stage.directory.glob(f"{name}.db*") if each.is_file()]


def backed_up(stage: Stage, host: SidecarProcess) -> Path:
    """A copy of a store that is not in use."""
    copy = stage.directory / "backup"
    copy.mkdir()
    for file in files(stage, host.name):
        shutil.copy(file, copy / file.name)
    return copy


async def _old_and_new(stage: Stage) -> tuple[list[SidecarProcess], Path, str]:
    """Hosts of which the last was backed up, went on and is stopped; a task from before its backup."""
    hosts = a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    before = await done(stage, a)
    await completed(stage, before, a, b, c)
    c.kill()
    copy = backed_up(stage, c)
    await stage.restart(c)
    c.kill()
    return list(hosts), copy, before


async def test_an_old_copy_of_the_disk_is_another_voter(stage: Stage) -> None:
    (a, b, c), copy, before = await _old_and_new(stage)
    for file in files(stage, "c"):
        file.unlink()
    for file in copy.iterdir():
        shutil.copy(file, stage.directory / file.name)
    c.start()
    told = await _reason(stage, c, "is not a member of cluster")
    assert "its file is new or a copy" in told
    ((level, _),) = logged(c, "this store is a copy of voter")
    assert level == "warning"
    for host in (a, b):
        await wait_for(partial(logged, host, "--peers leads to what is no member of this cluster", "c at"))
        assert (await gauges(stage, host))["strangers"] == 1
        assert await stage.reasons(host) == []
    # It is a new life of the same sidecar all the same: nobody takes it for the one from before the backup.
    assert not logged(c, "another sidecar named")
    living = [each["name"] for each in (await report(a))[1]["sessions"] if each["lives"]]
    assert living == ["a", "b", "c"]
    after = await done(stage, a)
    for task in (before, after):
        await completed(stage, task, a, b)
    await verify(stage, [a, b])


async def test_an_old_copy_that_was_set_back_in_place_is_refused(stage: Stage) -> None:
    (a, b, c), copy, before = await _old_and_new(stage)
    for host in (a, b):  # they remember whom they have met
        host.kill()
        await stage.restart(host)
    for file in files(stage, "c"):
        old = copy / file.name
        file.write_bytes(old.read_bytes()) if old.exists() else file.unlink()
    c.start()
    told = await _reason(stage, c, "a store was set back to an older copy of itself")
    assert told.startswith("the session cannot be renewed: 1 of 3 members stand by it")
    for host in (a, b):
        await wait_for(partial(logged, host, "which calls itself c,", "a store was set back to an older copy"))
        ((level, told),) = logged(host, "which calls itself c,")
        assert (level, "replace this one by a copy (cp and mv)" in told) == ("warning", True)
        assert await refused(stage, host, "peers_refused", "old_copy") >= 1
        assert await stage.reasons(host) == []
    assert logged(c, f"peer at {address(a)} refuses this sidecar", "an older copy of itself")
    assert not logged(c, "another sidecar named")
    after = await done(stage, a)
    for task in (before, after):
        await completed(stage, task, a, b)
    # What the line says to do is of use: the copy of the file is another voter, which nobody has met.
    c.kill()
    for file in files(stage, "c"):
        moved = file.with_name(f"new-{file.name}")
        shutil.copy(file, moved)
        moved.replace(file)
    c.start()
    await _reason(stage, c, "is not a member of cluster")
    for host in (a, b):
        await wait_for(partial(logged, host, "--peers leads to what is no member of this cluster", "c at"))
    await verify(stage, [a, b])


async def test_a_store_that_was_cloned_for_another_host(stage: Stage) -> None:
    hosts = a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    before = await done(stage, a)
    await completed(stage, before, *hosts)
    for host in hosts:
        host.kill()
    for file in files(stage, "b"):
        file.unlink()
    for file in files(stage, "a"):
        shutil.copy(file, file.with_name(file.name.replace("a.db", "b.db")))
    for host in hosts:
        host.start()
    await stage.ready(a, c)
    told = await _reason(stage, b, "is not a member of cluster")
    assert "or a copy" in told
    ((level, _),) = logged(b, "this store is a copy of voter")
    assert level == "warning"
    for host in (a, c):
        await wait_for(partial(logged, host, "--peers leads to what is no member of this cluster", "b at"))
        assert (await gauges(stage, host))["strangers"] == 1
        assert await stage.reasons(host) == []
    voters = {each["name"]: each for each in (await report(a))[1]["members"]}
    assert voters["a"]["voter"] != voters["b"]["voter"]
    assert (voters["a"]["member"], voters["b"]["member"], voters["c"]["member"]) == (True, False, True)
    after = await done(stage, c)
    for task in (before, after):
        await completed(stage, task, a, c)
    assert not [each for each in alarms(a) if "another sidecar named" in each]
    await verify(stage, [a, c])
