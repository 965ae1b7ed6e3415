"""One host of three that has another secret, another version, no answers or slow ones: the other two go on."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sidecar.peers.handshake import Side
from tests.hosts.peer_side import identity, port
from tests.hosts.peers import BRIEF, cluster, verify
from tests.hosts.test_cluster_show import ALL_WELL, gauges, report
from tests.hosts.test_peer_misfits import _reason, completed, done, refused
from tests.hosts.test_told_of_peers import address, alarms
from tests.integration.agents import free_port
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_told_to_operators import logged

SECRET = "what all of them know"


async def test_a_member_that_comes_back_with_another_secret(stage: Stage) -> None:
    hosts = a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)], cluster_secret=SECRET)
    await stage.ready()
    before = await done(stage, c)
    c.kill()
    c._env["DHP_SIDECAR_CLUSTER_SECRET"] = "what nobody else knows"
    c.start()
    told = await _reason(stage, c, "different cluster secrets")
    assert told.startswith("the session cannot be renewed: 1 of 3 members stand by it")
    assert "error" in await stage.rpc(c, "SendMessage", message("steps=1"))
    for each in (a, b):

        async def counted(host: SidecarProcess = each) -> bool:
            return await refused(stage, host, "peers_refused", "secret") >= 2

        await wait_for(counted)
        (told,) = [
            line for line in alarms(each) if line.startswith(f"peer c at {address(c)} ") and "secret" in line
        ]
        assert "different cluster secrets (secret); give every sidecar of the cluster the same" in told
        assert await stage.reasons(each) == []
    status, found = await report(a)
    assert (status, len(found["wrong"])) == (1, 1)
    meanwhile = await done(stage, a)
    c.kill()
    c._env["DHP_SIDECAR_CLUSTER_SECRET"] = SECRET
    await stage.restart(c)
    for task in (before, meanwhile):
        await completed(stage, task, *hosts)
    for each in (a, b):

        async def well(host: SidecarProcess = each) -> bool:
            return await gauges(stage, host) == ALL_WELL

        await wait_for(well)
    await verify(stage, list(hosts))


async def test_a_peer_that_speaks_another_version_of_the_protocol(stage: Stage) -> None:
    secret = SECRET.encode()
    async with port("south", Side(identity("south"), secret, (2, 3))) as other:
        mine = free_port()
        a = stage.sidecar(
            stage.agent("long"), "a", store=f"sqlite:///{stage.directory / 'a.db'}", peer_port=mine,
            peers=f"http://127.0.0.1:{mine},{other.url}", cluster_secret=SECRET, **BRIEF,
        )  # fmt: skip
        told = await _reason(stage, a, "no common version")
        assert f"peer at {other.url} is refused" in told or f"peer at {other.url} refuses this sidecar" in told
        assert "2 to 3" in told
        assert "1 to 1" in told
        ((level, told),) = logged(a, f"peer at {other.url} ", "no common version")
        assert (level, told.endswith("; run releases that follow one another on all hosts")) == ("warning", True)
        assert await refused(stage, a, "peers_refused", "version") >= 1
        assert other.refused("version") >= 1
        assert other.handler.asked == []


async def test_a_peer_that_never_answers_before_the_cluster_is_formed(stage: Stage) -> None:
    """A host that takes connections and says nothing is given five seconds for each try."""
    mute = socket.create_server(("127.0.0.1", 0))
    try:
        where = f"http://127.0.0.1:{mute.getsockname()[1]}"
        (a,) = cluster(stage, [stage.agent("long")], peers=where)
        told = await _reason(stage, a, "it does not answer in time")
        assert f"peer at {where} cannot be reached: it does not answer in time" in told
        await wait_for(lambda: logged(a, f"peer at {where} cannot be reached", "does not answer in time"))
        assert (await gauges(stage, a))["peers_reached"] == 1
    finally:
        mute.close()


async def test_a_member_that_answers_nothing_any_more_keeps_nobody_waiting(stage: Stage) -> None:
    hosts = a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    c.signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        tasks = [await done(stage, host) for host in (a, b, a, b)]
        assert time.monotonic() - begin < 4  # before the silence is noticed: that takes six seconds
        assert not [each for each in alarms(a) + alarms(b) if "renewed" in each or "lapsed" in each]
    finally:
        c.signal(signal.SIGCONT)
    for task in tasks:
        await completed(stage, task, *hosts)
    await verify(stage, list(hosts))


@asynccontextmanager
async def slow(target: int, delay_s: float) -> AsyncIterator[int]:
    """A port behind which every byte takes so long, either way, to another port and back."""
    pumps: set[asyncio.Task[None]] = set()

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        async def later(piece: bytes, at: float) -> None:
            await asyncio.sleep(at - asyncio.get_running_loop().time())
            sink.write(piece)

        under_way = asyncio.create_task(asyncio.sleep(0))
        try:
            while piece := await source.read(65536):
                before, at = under_way, asyncio.get_running_loop().time() + delay_s

                async def in_turn(
                    piece: bytes = piece, at: float = at, before: asyncio.Task[None] = before
                ) -> None:
                    await before
                    await later(piece, at)

                under_way = asyncio.create_task(in_turn())
            await under_way
        finally:
            under_way.cancel()
            sink.transport.abort()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up, down = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        for each in (pump(reader, down), pump(up, writer)):
            pumps.add(asyncio.create_task(each))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for each in pumps:
            each.cancel()
        with suppress(OSError):
            await asyncio.gather(*pumps, return_exceptions=True)


async def test_a_member_that_answers_slowly_slows_nobody(stage: Stage) -> None:
    """0.3 s there and 0.3 s back; a session lasts its usual 3 s."""
    ports = [free_port() for _ in range(3)]
    async with slow(ports[2], 0.3) as far:
        peers = ",".join(f"http://127.0.0.1:{each}" for each in (*ports[:2], far))
        stores = stage.directory
        hosts = a, b, _ = [
            stage.sidecar(
                stage.agent("long"),
                name,
                store=f"sqlite:///{stores / name}.db",
                peer_port=each,
                peers=peers,
            )
            for name, each in zip("abc", ports, strict=True)
        ]
        await stage.ready()
        times = []
        tasks = []
        for host in (a, b, a, b):
            begin = time.monotonic()
            tasks.append(await done(stage, host))
            times.append(time.monotonic() - begin)
        # Each entry of a task would cost 0.6 s if anybody waited for the slow one.
        assert sorted(times)[1] < 0.6
        for task in tasks:
            await completed(stage, task, *hosts)
        for host in hosts:
            assert alarms(host) == []
        assert (await report(a))[0] == 0
        await verify(stage, list(hosts))
