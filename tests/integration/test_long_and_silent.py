"""Runs that take long, say nothing, or say much: nothing on the way gives up on them, nothing is thrown away."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from tests.integration.proxies import Proxy
from tests.integration.raw_agent import Exchange, RawAgent
from tests.integration.recording import from_raw, from_sdk
from tests.integration.scripted import (
    COMPLETED,
    INPUT_REQUIRED,
    WORKING,
    Play,
    chunk,
    status,
    stream,
    task,
)
from tests.integration.stage import V1, Stage, message, wait_for

SILENCE_S = 6.0


@pytest.mark.slow
async def test_cases_16_70_74_silence_is_neither_death_nor_a_reason_to_hang_up(stage: Stage) -> None:
    """Three minutes, five minutes and ten minutes are 6 s here (factors 1/30, 1/50, 1/100).

    That is more than the stock client's 5 s, than two idle limits of the proxy on the way, and than six leases.
    """
    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED, "done"), pause_s=SILENCE_S))
    async with RawAgent(play) as agent:
        owner, standby = (stage.sidecar(agent.url, lease__ttl_ms=1000, group="g") for _ in range(2))
        await stage.ready()
        async with Proxy(owner.url, idle_s=SILENCE_S / 2) as proxy:
            stock = stage.send(owner, "x")
            proxied = from_raw(f"{proxy.url}/rpc", "SendStreamingMessage", message("x"), V1)
            blocked = asyncio.ensure_future(stage.rpc(owner, "SendMessage", message("x"), 5))
            body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("x")}
            through = asyncio.ensure_future(stage.web.post(f"{proxy.url}/rpc", json=body, headers=V1))
            for seen in (stock, proxied):
                await seen.ended()
                assert seen.completed
                assert seen.silence() > SILENCE_S - 1
            for done in ((await blocked)["task"], (await through).json()["result"]["task"]):
                assert done["status"]["state"] == COMPLETED
            assert proxy.cut == 0
        for task_id in await stage.task_ids():
            entries = await stage.journal(task_id)
            assert {entry.fence for entry in entries} == {entries[0].fence}
            kinds = [str(entry.kind) for entry in entries]
            assert kinds.count("claimed") == 1
            assert "orphaned" not in kinds
        assert await stage.metric(standby, "takeovers") == 0
        assert play.asked == ["SendStreamingMessage"] * 4
    await stage.verify()


async def test_case_58_comments_are_no_events_to_a_client_that_takes_them_for_some(stage: Stage) -> None:
    """The SDK's client before its pull request 636: what ends at a blank line after an id is parsed as JSON.

    The agent's own comments, which would be the end of that client, are not handed on. 60 s with a comment every
    15 s are 2 s with one every 0.1 s. A stock client of today and one that wants no keep-alives see the same.
    """

    async def commented(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunk(b": keep-alive\n\n")
        await exchange.event(task(WORKING))
        for _ in range(20):
            await exchange.chunk(b"id: 7\n: keep-alive\n\n: keep-alive\n\n")
            await asyncio.sleep(0.1)
        await exchange.event(status(COMPLETED))
        await exchange.end()

    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": message("x")}
    async with RawAgent(Play(SendStreamingMessage=commented)) as agent:
        chatty = stage.sidecar(agent.url, group="g", front__keep_alive_s=0.1)
        quiet = stage.sidecar(agent.url, group="g", front__keep_alive_s=600)
        await stage.ready()
        stock = stage.send(chatty, "x")
        raw = []
        for sidecar in (chatty, quiet):
            answer = await stage.web.post(f"{sidecar.url}/rpc", json=body, headers=V1, timeout=20)
            raw.append(answer.text)
        await stock.ended()
        assert stock.completed
        assert raw[0].count("\n:") > 5
        assert "\n:" not in raw[1]
        for text in raw:
            events = [json.loads(data)["result"] for data in dispatched(text)]
            assert [next(iter(event)) for event in events] == ["task", "statusUpdate"]
    await stage.verify()


def dispatched(text: str) -> list[str]:
    """The data of the events that httpx-sse makes of a stream: once an id was seen, a blank line makes one."""
    events: list[str] = []
    data: list[str] = []
    last_id = ""
    for line in text.splitlines():
        if not line:
            if data or last_id:
                events.append("\n".join(data))
            data = []
        elif line.startswith("id:"):
            last_id = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    return events


async def test_case_72_events_pass_a_proxy_that_collects(stage: Stage) -> None:
    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED), pause_s=1.5))
    headers = V1 | {"Accept-Encoding": "gzip, br"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": message("x")}
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        async with Proxy(agent.url, collect_bytes=1 << 16) as proxy:  # what it does to an agent that says nothing
            directly = from_raw(f"{proxy.url}/rpc", "SendStreamingMessage", message("x"), V1)
            await wait_for(lambda: play.following == 1)
            await asyncio.sleep(0.5)
            assert directly.frames == []
            await directly.close()
        async with (
            Proxy(sidecar.url, collect_bytes=1 << 16) as proxy,
            httpx.AsyncClient() as web,
            web.stream("POST", f"{proxy.url}/rpc", json=body, headers=headers) as answer,
        ):
            began = time.monotonic()
            first = await anext(answer.aiter_lines())
            assert time.monotonic() - began < 1
            assert first.startswith("id:")
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.headers["cache-control"] == "no-cache"
            assert answer.headers["x-accel-buffering"] == "no"
            assert not {"content-length", "content-encoding"} & set(answer.headers)


async def test_case_73_what_was_said_long_ago_is_there_while_the_task_runs(stage: Stage) -> None:
    """Three MiB of output, three times what a tail keeps in memory, read again from the first event on."""
    go_on = asyncio.Event()
    pieces = [chunk(f"{number:04}" + "x" * 4092, append=number > 0) for number in range(768)]

    async def much(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(task(WORKING))
        for piece in pieces:
            await exchange.event(piece)
        await go_on.wait()
        await exchange.event(status(COMPLETED))
        await exchange.end()

    async with RawAgent(Play(SendStreamingMessage=much)) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("x"))
        await wait_for(lambda: len(seen.frames) == 769)
        again = stage.stream(
            sidecar, "SubscribeToTask", {"id": seen.task_id}, **{"Last-Event-ID": str(seen.ids[0])}
        )
        await wait_for(lambda: len(again.frames) == 768)
        go_on.set()
        await seen.ended()
        await again.ended()
        assert [frame[1:] for frame in again.frames] == [frame[1:] for frame in seen.frames[1:]]
    await stage.verify()


@pytest.mark.slow
async def test_case_73_a_stream_outlives_a_pause_in_which_nothing_is_owed(stage: Stage) -> None:
    """The pause is longer than an idle owner is kept in memory (5 s)."""
    turns = [stream(task(WORKING), status(INPUT_REQUIRED, "?")), stream(status(COMPLETED, "thanks"))]

    async def next_turn(exchange: Exchange) -> None:
        await turns.pop(0)(exchange)

    async with RawAgent(Play(SendStreamingMessage=next_turn)) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        asked = stage.send(sidecar, "x")
        await asked.ended()
        assert asked.state == INPUT_REQUIRED
        waiting = stage.subscribe(sidecar, asked.task_id)
        await asyncio.sleep(6)
        assert not waiting.done
        answered = from_sdk(sidecar.url, message("y", taskId=asked.task_id))
        await answered.ended()
        await waiting.ended()
        assert answered.state == waiting.state == COMPLETED
        assert waiting.said[-1] == "thanks"
    await stage.verify()


@pytest.mark.slow
async def test_case_106_many_streams_on_one_file_never_hear_of_its_locks(stage: Stage) -> None:
    """60 streams (the issue's 100) of 20 events a second through two processes, with readers beside them."""
    pieces = [chunk(f"{number} ", append=number > 0) for number in range(20)]
    play = Play(SendStreamingMessage=stream(task(WORKING), *pieces, status(COMPLETED), pause_s=0.05))
    async with RawAgent(play) as agent:
        sidecars = [stage.sidecar(agent.url, group="g") for _ in range(2)]
        await stage.ready()
        streams = [
            stage.stream(sidecars[number % 2], "SendStreamingMessage", message("x")) for number in range(60)
        ]
        while not all(each.done for each in streams):
            page = await stage.rpc(sidecars[0], "ListTasks", {"pageSize": 10})
            assert "tasks" in page, page
            await asyncio.sleep(0.1)
        for each in streams:
            await each.ended()
            assert each.completed
            assert each.text == "".join(f"{number} " for number in range(20))
            assert len(each.ids) == len(set(each.ids))
        assert play.asked == ["SendStreamingMessage"] * 60
        for sidecar in sidecars:
            assert not [line for line in sidecar.lines() if "locked" in line]
            assert await stage.metric(sidecar, "store_outages") == 0
    await stage.verify()
