"""Clients that go away: at any moment, in any way, it changes nothing about the work."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.proxies import Proxy
from tests.integration.raw_agent import Exchange, RawAgent
from tests.integration.raw_scripts import http_500, no_answer
from tests.integration.recording import from_raw
from tests.integration.scripted import COMPLETED, WORKING, Play, chunk, status, stream, task
from tests.integration.stage import V1, SidecarProcess, Stage, message, wait_for

SEED = 20261129


async def send_raw(sidecar: SidecarProcess, method: str, params: Any) -> tuple[Any, Any]:
    """Write a request on a socket of its own."""
    address = urlsplit(sidecar.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return reader, writer


def hang_up(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """End a connection, politely or not."""
    if reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def all_completed(stage: Stage, sidecar: SidecarProcess, count: int) -> bool:
    """As many tasks as that are there, all of them completed."""
    page = await stage.rpc(sidecar, "ListTasks", {"pageSize": 1, "status": COMPLETED})
    everything = await stage.rpc(sidecar, "ListTasks", {"pageSize": 1})
    return bool(page["totalSize"] == everything["totalSize"] == count)


@pytest.mark.slow
async def test_case_1_a_client_that_goes_just_before_the_end(stage: Stage) -> None:
    """200 sockets closed right after the artifact, within 50 ms around the terminal status."""
    chance = random.Random(SEED)
    pause_s = 0.02
    play = Play(
        SendStreamingMessage=stream(task(WORKING), chunk("x", append=False), status(COMPLETED), pause_s=pause_s)
    )
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()

        async def leave_early() -> None:
            reader, writer = await send_raw(sidecar, "SendStreamingMessage", message("x"))
            try:
                await reader.readuntil(b"artifactUpdate")
                await asyncio.sleep(chance.uniform(0, 0.05))
            finally:
                hang_up(writer, reset=chance.random() < 0.5)

        for _ in range(8):
            await asyncio.gather(*(leave_early() for _ in range(25)))
        await wait_for(lambda: all_completed(stage, sidecar, 200))
        assert play.asked == ["SendStreamingMessage"] * 200
    await stage.verify()


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SendMessage"])
async def test_case_68_leaving_is_not_canceling(stage: Stage, method: str) -> None:
    pieces = [chunk(f"{number} ", append=number > 0) for number in range(20)]
    play = Play(SendStreamingMessage=stream(task(WORKING), *pieces, status(COMPLETED), pause_s=0.03))
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        _, writer = await send_raw(sidecar, method, message("x"))
        await wait_for(lambda: play.following)
        hang_up(writer, reset=False)
        await wait_for(lambda: all_completed(stage, sidecar, 1))
        (task_id,) = await stage.task_ids()
        done = await stage.task(sidecar, task_id)
        assert len(done["artifacts"][0]["parts"]) == 20
        assert play.asked == ["SendStreamingMessage"]
    await stage.verify()


async def test_case_69_a_proxy_that_cuts_idle_connections_takes_one_subscriber(stage: Stage) -> None:
    """An idle limit of 0.5 s (the issue's 10 s, divided by 20), with keep-alives as good as off."""
    go_on = asyncio.Event()

    async def silent_for_a_while(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(task(WORKING))
        await go_on.wait()
        await exchange.event(chunk("late", append=False))
        await exchange.event(status(COMPLETED))
        await exchange.end()

    play = Play(SendStreamingMessage=silent_for_a_while)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url, front__keep_alive_s=60)
        await stage.ready()
        async with Proxy(sidecar.url, idle_s=0.5) as proxy:
            direct = stage.stream(sidecar, "SendStreamingMessage", message("x"))
            await wait_for(lambda: direct.task_id)
            cut = from_raw(f"{proxy.url}/rpc", "SubscribeToTask", {"id": direct.task_id}, V1)
            await wait_for(lambda: cut.done)
            assert proxy.cut == 1
            assert cut.error is not None
        assert not direct.done
        assert (await stage.task(sidecar, direct.task_id))["status"]["state"] == WORKING
        go_on.set()
        await direct.ended()
        assert direct.completed
        assert direct.text == "late"
        assert play.asked == ["SendStreamingMessage"]
    await stage.verify()


async def test_case_75_no_connection_to_the_agent_is_lost(stage: Stage) -> None:
    """Four clients at a time abort 240 requests (the issue's 1,000, divided by 4) in any phase."""
    chance = random.Random(SEED)
    scripts = [
        stream(task(WORKING), chunk("x", append=False), status(COMPLETED), pause_s=0.01),
        stream(task(WORKING), status(COMPLETED)), http_500,
    ]  # fmt: skip

    async def any_of_them(exchange: Exchange) -> None:
        await chance.choice(scripts)(exchange)

    play = Play(SendStreamingMessage=any_of_them)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()

        async def abort_some() -> None:
            for _ in range(60):
                method = chance.choice(["SendStreamingMessage", "SendMessage"])
                _, writer = await send_raw(sidecar, method, message("x"))
                await asyncio.sleep(chance.uniform(0, 0.03))
                hang_up(writer, reset=chance.random() < 0.5)

        await asyncio.gather(*(abort_some() for _ in range(4)))
        await wait_for(lambda: play.following == 0, what="every run has ended")
        play.parts["SendStreamingMessage"] = scripts[1]
        after = stage.send(sidecar, "x")
        await after.ended()
        assert after.completed
        await wait_for(lambda: agent.open <= 16, what="connections are reused or closed")
        opened = agent.open
        play.parts["SendStreamingMessage"] = no_answer
        hanging = [await send_raw(sidecar, "SendMessage", message("x")) for _ in range(4)]
        await wait_for(lambda: play.asked and play.following == 4)
        for _, writer in hanging:
            hang_up(writer, reset=True)
        await asyncio.sleep(0.1)
        assert play.following == 4  # their clients have gone, the work has not
        assert agent.open <= opened + 4
    await stage.verify()
