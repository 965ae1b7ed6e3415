"""A sidecar that is told to stop takes nothing new and hands over what it has; nobody who follows hears of it."""

from __future__ import annotations

import asyncio
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.integration.broken_disk import full_disk
from tests.integration.stage import Recording, SidecarProcess, Stage, message, wait_for
from tests.integration.test_gateway import owners
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

TEXT = "steps=12 pace=0.01 hold=6"
TOLD_WITHIN_S = 5.0
OURS_WITHIN_S = 10.0  # what a stop takes of ours alone: nothing of it waits for an agent, a client or a clock


def as_ever(seen: Recording) -> None:
    as_if_nothing_had_happened(seen, steps(12), whole(12))


async def drains(stage: Stage, sidecar: SidecarProcess, number: int = signal.SIGTERM) -> None:
    sidecar.signal(number)
    await wait_for(lambda: _says_so(stage, sidecar), what=f"{sidecar.name} says that it drains")


async def _says_so(stage: Stage, sidecar: SidecarProcess) -> bool:
    return "draining" in await stage.reasons(sidecar)


async def test_case_77_a_hundred_streams_hear_nothing_of_the_end_of_their_sidecar(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, name) for each, name in zip(agents, "ab", strict=True))
    gateway = stage.gateway()
    await stage.ready()
    senders = [stage.stream(a, "SendStreamingMessage", message(TEXT)) for _ in range(10)]
    await asyncio.gather(*(each.at_least(5) for each in senders))
    beside = [
        stage.stream(at, "SubscribeToTask", {"id": each.task_id})
        for each in senders
        for at in (a, gateway, *[a] * 7)
    ]
    await asyncio.gather(*(each.at_least(5) for each in beside))
    await drains(stage, a)
    await wait_for(lambda: len(agents[1].journal()) == 10, what="all have moved")
    late = stage.send(a, TEXT)  # it is handed on
    blocking = asyncio.ensure_future(stage.rpc(a, "SendMessage", message(TEXT)))
    await wait_for(lambda: len(agents[1].journal()) == 12)
    assert a.alive
    stage.go()
    await asyncio.gather(*(each.ended() for each in (*senders, *beside, late)))
    for each in (*senders, late):
        as_ever(each)
    for each in beside:
        assert each.completed
        assert each.text == whole(12)
    assert (await blocking)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert await a.exited(OURS_WITHIN_S) == 0
    for each in senders:
        assert await owners(stage, each.task_id) == ["a", "b"]
    assert len(agents[0].journal()) == 10
    told = {line["task"] for line in agents[0].journal("cancel")}  # perhaps twice
    assert len(told) == 10  # nothing is worked on that nobody waits for
    assert await stage.reasons(b) == []
    await stage.verify()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_without_a_standby_what_runs_may_end(stage: Stage, number: int) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    seen = stage.send(a, TEXT)
    await seen.at_least(5)
    await drains(stage, a, number)
    began = time.monotonic()
    refused = await stage.rpc(a, "SendMessage", message(TEXT))
    assert time.monotonic() - began < TOLD_WITHIN_S
    assert refused["error"]["code"] == -32603
    assert "another" in refused["error"]["message"]
    stage.go()
    await seen.ended()
    as_ever(seen)
    assert await a.exited(OURS_WITHIN_S) == 0
    assert len(agent.journal()) == 1
    await stage.verify()


async def test_what_has_not_ended_in_time_is_found_by_the_next_start(stage: Stage) -> None:
    """The grace of 25 s is 1 s here."""
    agent = stage.agent("long")
    a, gateway = stage.sidecar(agent, drain_s=1), stage.gateway()
    await stage.ready()
    direct = stage.stream(a, "SendStreamingMessage", message(TEXT))
    await direct.at_least(5)
    held = stage.subscribe(gateway, direct.task_id)
    await held.at_least(5)
    await drains(stage, a)
    assert await a.exited(1 + OURS_WITHIN_S) == 0
    await direct.answered()
    assert direct.rpc_error is not None  # told in so many words, not cut
    assert "again" in direct.rpc_error["message"]
    await stage.restart(a)
    stage.go()
    await held.ended()
    assert held.completed
    assert held.text == whole(12)
    assert held.replaced == 0
    assert len(agent.journal()) == 1
    assert agent.journal("cancel") == []
    await stage.verify()


async def test_a_standby_that_comes_during_a_drain_is_handed_what_runs(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a = stage.sidecar(agents[0], "a")
    await stage.ready()
    seen = stage.send(a, TEXT)
    await seen.at_least(5)
    await drains(stage, a)
    stage.sidecar(agents[1], "b")
    await wait_for(agents[1].journal)
    assert a.alive
    stage.go()
    await seen.ended()
    as_ever(seen)
    assert await a.exited(OURS_WITHIN_S) == 0
    assert await owners(stage, seen.task_id) == ["a", "b"]
    await stage.verify()


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_a_drain_at_once(stage: Stage, again: int) -> None:
    agent = stage.agent("long")
    a, gateway = stage.sidecar(agent), stage.gateway()
    await stage.ready()
    direct = stage.send(a, TEXT)
    await direct.at_least(5)
    held = stage.subscribe(gateway, direct.task_id)
    await held.at_least(5)
    await drains(stage, a)
    a.signal(again)
    assert await a.exited(OURS_WITHIN_S) == 0
    await direct.answered()
    await stage.restart(a)
    stage.go()
    await held.ended()
    assert held.completed
    assert held.text == whole(12)
    assert len(agent.journal()) == 1
    await stage.verify()


async def test_an_agent_that_hangs_does_not_keep_its_sidecar(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, _ = (stage.sidecar(each) for each in agents)
    await stage.ready()
    seen = stage.send(a, TEXT)
    await seen.at_least(5)
    agents[0].signal(signal.SIGSTOP)
    try:
        a.signal(signal.SIGTERM)
        await wait_for(agents[1].journal)
        stage.go()
        await seen.ended()
        as_ever(seen)
        assert await a.exited(2 + OURS_WITHIN_S) == 0  # 2 s are given to the agent
    finally:
        agents[0].signal(signal.SIGCONT)
    await stage.verify()


async def test_a_store_that_takes_no_writes_does_not_keep_a_sidecar(stage: Stage, tmp_path: Path) -> None:
    """The grace of 25 s is 1 s here. It can hand nothing over; the end of its process does."""
    with full_disk(tmp_path / "disk") as disk:
        stage.store = disk.store
        agents = [stage.agent("long"), stage.agent("long")]
        a, b = (stage.sidecar(each, drain_s=1) for each in agents)
        await stage.ready()
        seen = stage.send(a, TEXT)
        await seen.at_least(5)
        held = stage.subscribe(b, seen.task_id)
        await held.at_least(5)
        disk.fail()
        a.signal(signal.SIGTERM)
        assert await a.exited(1 + OURS_WITHIN_S) == 0
        disk.mend()
        stage.go()
        await held.ended()
        assert held.completed
        assert held.text == whole(12)
        await stage.verify()


async def test_a_gateway_that_stops_serves_its_clients_to_the_end(stage: Stage) -> None:
    agent = stage.agent("long")
    stage.sidecar(agent)
    gateway = stage.gateway()
    await stage.ready()
    streams = [stage.send(gateway, TEXT, binding=each) for each in ("JSONRPC", "HTTP+JSON")]
    await asyncio.gather(*(each.at_least(5) for each in streams))
    await drains(stage, gateway)
    late = stage.send(gateway, TEXT)
    await late.at_least(5)
    stage.go()
    for each in (*streams, late):
        await each.ended()
        as_ever(each)
    assert await gateway.exited(OURS_WITHIN_S) == 0
    await stage.verify()


@pytest.mark.parametrize("at", ["the one that drains", "the standby", "a gateway"])
async def test_an_answer_that_comes_during_a_drain_goes_where_it_can_run(stage: Stage, at: str) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    a, b = (stage.sidecar(each, name) for each, name in zip(agents, "ab", strict=True))
    gateway = stage.gateway("g")
    await stage.ready()
    asked, other = stage.send(a, "questions=1"), stage.send(a, "questions=1")
    await asyncio.gather(asked.ended(), other.ended())
    waits = stage.subscribe(a, other.task_id)  # keeps it from ending
    await wait_for(lambda: waits.frames)
    await drains(stage, a)
    sidecar = {"the one that drains": a, "the standby": b, "a gateway": gateway}[at]
    answer = stage.send(sidecar, "blue", taskId=asked.task_id)
    await answer.ended()
    assert answer.completed
    assert answer.text == "1 answers, the last was blue"
    assert await owners(stage, asked.task_id) == ["a", "b"]
    assert a.alive
    canceled = await stage.rpc(sidecar, "CancelTask", {"id": other.task_id})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    await waits.ended()
    assert waits.state == "TASK_STATE_CANCELED"
    assert await a.exited(OURS_WITHIN_S) == 0
    assert len(agents[0].journal()) == 2
    await stage.verify()


@pytest.mark.parametrize("standby", [True, False])
async def test_case_23_a_newer_sidecar_of_the_same_name_starts_during_the_drain(
    stage: Stage, standby: bool
) -> None:
    agent = stage.agent("long")
    older = stage.sidecar(agent, "twin")
    if standby:
        stage.sidecar(stage.agent("long"), "b")
    await stage.ready()
    seen = [stage.send(older, TEXT) for _ in range(6)]
    await asyncio.gather(*(each.at_least(5) for each in seen))
    older.signal(signal.SIGTERM)
    newer = stage.sidecar(agent, "twin")
    await stage.ready(newer)
    for each in seen:
        await wait_for(partial(_claimed_twice, stage, each))
    assert older.alive  # it serves the streams of its clients
    stage.go()
    await asyncio.gather(*(each.ended() for each in seen))
    for each in seen:
        as_ever(each)
        assert len(await owners(stage, each.task_id)) == 2
    assert await older.exited(OURS_WITHIN_S) == 0
    assert await stage.reasons(newer) == []
    if not standby:
        assert len(agent.journal()) == 6 + len(agent.journal("cancel"))
    await stage.verify()


async def _claimed_twice(stage: Stage, seen: Recording) -> bool:
    return len(await owners(stage, seen.task_id)) == 2
