"""A store that cannot be written for a while: clients are told in time, and afterwards nothing is missing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.integration.broken_disk import DISKS, Disk
from tests.integration.raw_agent import Exchange, Json, RawAgent
from tests.integration.scripted import (
    CANCELED,
    COMPLETED,
    INPUT_REQUIRED,
    WORKING,
    Play,
    answer,
    chunk,
    status,
    stream,
    task,
)
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole
from tests.integration.test_takeover_of_sidecars import owners

TOLD_WITHIN_S = 5.0


@pytest.fixture(params=DISKS)
def disk(request: pytest.FixtureRequest, stage: Stage, tmp_path: Path) -> Iterator[Disk]:
    """Where the stage's store is."""
    with DISKS[request.param](tmp_path / "disk") as disk:
        stage.store = disk.store
        yield disk


class Counting:
    """An agent that counts until it is told to end.

    Attributes:
        counted: numbers sent in each run, by the message's text.
    """

    def __init__(self) -> None:
        self.counted: dict[str, int] = {}
        self.end = asyncio.Event()
        self.play = Play(SendStreamingMessage=self.run)

    async def run(self, exchange: Exchange) -> None:
        name = exchange.rpc["params"]["message"]["parts"][0]["text"]
        await exchange.head()
        await exchange.event(task(WORKING))
        self.counted[name] = 0
        while not self.end.is_set():
            await exchange.event(chunk(f"{self.counted[name]} ", append=self.counted[name] > 0))
            self.counted[name] += 1
            await asyncio.sleep(0.02)
        await exchange.event(status(COMPLETED))
        await exchange.end()

    def text(self, name: str) -> str:
        return "".join(f"{number} " for number in range(self.counted[name]))


def complaint(error: object) -> str:
    """The text of a JSON-RPC error that says that the journal cannot be written."""
    assert isinstance(error, dict), error
    assert error["code"] == -32603
    text: str = error["message"]
    assert "writ" in text, text  # writing to FILE: …; cannot be written: …
    return text


async def test_case_13_clients_are_told_and_what_happened_meanwhile_is_there_afterwards(
    stage: Stage, disk: Disk
) -> None:
    agent_side = Counting()
    async with RawAgent(agent_side.play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        streamed = stage.stream(sidecar, "SendStreamingMessage", message("streamed"))
        blocked = asyncio.ensure_future(stage.rpc(sidecar, "SendMessage", message("blocked")))
        await wait_for(lambda: streamed.text.count(" ") > 5 and agent_side.counted.get("blocked", 0) > 5)
        running = await stage.task_ids()
        disk.fail()
        broken = time.monotonic()
        again = message("while the disk fails")
        refused = await stage.rpc(sidecar, "SendMessage", again)
        complaint(refused["error"])
        reads = await asyncio.gather(stage.task(sidecar, streamed.task_id), stage.rpc(sidecar, "ListTasks", {}))
        assert time.monotonic() - broken < TOLD_WITHIN_S
        complaint((await asyncio.wait_for(blocked, TOLD_WITHIN_S))["error"])
        await wait_for(lambda: streamed.done)
        assert time.monotonic() - broken < TOLD_WITHIN_S
        complaint(streamed.rpc_error)
        assert reads[0]["status"]["state"] == WORKING
        assert sorted(task["id"] for task in reads[1]["tasks"]) == sorted(running)
        read = "".join(part["text"] for part in reads[0]["artifacts"][0]["parts"])
        assert read == streamed.text  # neither less than was shown nor anything that is not durable
        reasons = await wait_for(lambda: stage.reasons(sidecar))
        assert "cannot be" in "; ".join(reasons)
        shown = streamed.text
        assert await stage.task_ids() == running
        await stage.verify()

        disk.mend()
        await stage.ready(sidecar)
        caught_up = stage.stream(sidecar, "SubscribeToTask", {"id": streamed.task_id})
        await wait_for(lambda: caught_up.text.count(" ") > shown.count(" "))
        agent_side.end.set()
        await caught_up.ended()
        assert caught_up.text == agent_side.text("streamed")
        texts = []
        for task_id in running:
            done = await wait_for(partial(finished, stage, sidecar, task_id))
            texts.append("".join(part["text"] for part in done["artifacts"][0]["parts"]))
        assert sorted(texts) == sorted([agent_side.text("streamed"), agent_side.text("blocked")])
        sent = (await stage.rpc(sidecar, "SendMessage", again))["task"]
        assert sent["status"]["state"] == COMPLETED
        assert agent_side.play.asked.count("SendStreamingMessage") == 3
    await stage.verify()


async def finished(stage: Stage, sidecar: SidecarProcess, task_id: str) -> Json | None:
    found = await stage.task(sidecar, task_id)
    return found if found["status"]["state"] == COMPLETED else None


async def test_an_idle_sidecar_says_so_before_a_message_fails(stage: Stage, disk: Disk) -> None:
    agent_side = Counting()
    agent_side.end.set()
    async with RawAgent(agent_side.play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        before = (await stage.rpc(sidecar, "SendMessage", message("before")))["task"]
        disk.fail()
        reasons = await wait_for(lambda: stage.reasons(sidecar), 8)
        assert "cannot be" in "; ".join(reasons)
        assert await stage.task(sidecar, before["id"]) == before
        began = time.monotonic()
        params = message("meanwhile")
        streamed = stage.stream(sidecar, "SendStreamingMessage", params)
        complaint((await stage.rpc(sidecar, "SendMessage", message("meanwhile")))["error"])
        await wait_for(lambda: streamed.done)
        complaint(streamed.rpc_error)
        assert time.monotonic() - began < TOLD_WITHIN_S
        assert await stage.task_ids() == [before["id"]]
        disk.mend()
        await stage.ready(sidecar)
        after = (await stage.rpc(sidecar, "SendMessage", params))["task"]
        assert after["status"]["state"] == COMPLETED
        assert agent_side.play.asked.count("SendStreamingMessage") == 2
    await stage.verify()


async def test_an_outage_longer_than_a_lease_moves_no_run(stage: Stage, disk: Disk) -> None:
    """Leases of 1 s (the product's 3 s, divided by 3). Nobody could renew, so nobody's silence proves anything."""
    agent_side = Counting()
    async with RawAgent(agent_side.play) as agent:
        owner, standby = (stage.sidecar(agent.url, group="g", lease__ttl_ms=1000) for _ in range(2))
        await stage.ready()
        seen = stage.stream(owner, "SendStreamingMessage", message("streamed"))
        await wait_for(lambda: seen.text.count(" ") > 5)
        disk.fail()
        await asyncio.sleep(2)
        shown = seen.text
        disk.mend()
        await stage.ready(owner, standby)
        await wait_for(lambda: len(seen.text) > len(shown))
        agent_side.end.set()
        await seen.ended()
        assert seen.text == agent_side.text("streamed")
        assert seen.replaced == 0
        assert {entry.fence.n for entry in await stage.journal(seen.task_id)} == {1}
        assert agent_side.play.asked == ["SendStreamingMessage"]
    await stage.verify()


async def test_messages_and_cancels_for_a_known_task_are_answered_in_time(stage: Stage, disk: Disk) -> None:
    """What they wanted is carried out once the disk writes again, although they were told that nobody knows."""

    async def asks_or_runs(exchange: Exchange) -> None:
        said = exchange.rpc["params"]["message"]
        name = said["parts"][0]["text"]
        ending = [] if name == "run" else [status(COMPLETED if name == "answer" else INPUT_REQUIRED, taskId="ask")]
        await stream(task(WORKING, id="ask" if name == "answer" else name), *ending, end=name != "run")(exchange)

    play = Play(SendStreamingMessage=asks_or_runs, CancelTask=answer(task(CANCELED, id="run")["task"]))
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        asking, running = (stage.stream(sidecar, "SendStreamingMessage", message(name)) for name in ("ask", "run"))
        await wait_for(lambda: asking.state == INPUT_REQUIRED and running.state == WORKING)
        disk.fail()
        began = time.monotonic()
        follow_up = message("answer", taskId=asking.task_id)
        answers = await asyncio.gather(
            stage.rpc(sidecar, "SendMessage", follow_up),
            stage.rpc(sidecar, "CancelTask", {"id": running.task_id}),
        )
        assert time.monotonic() - began < TOLD_WITHIN_S
        for refused in answers:
            complaint(refused["error"])
        disk.mend()
        await stage.ready(sidecar)

        async def sent_again() -> Json | None:
            return (await stage.rpc(sidecar, "SendMessage", follow_up)).get("task")

        again = await wait_for(sent_again)
        assert (again["id"], again["status"]["state"]) == (asking.task_id, COMPLETED)
        await wait_for(partial(state_is, stage, sidecar, running.task_id, CANCELED))
        assert play.asked.count("SendStreamingMessage") == 3  # the repeats have joined the first
    await stage.verify()


async def state_is(stage: Stage, sidecar: SidecarProcess, task_id: str, state: str) -> bool:
    return bool((await stage.task(sidecar, task_id))["status"]["state"] == state)


async def test_cases_25_37_after_an_outage_everybody_is_at_work_again_and_nothing_was_run_meanwhile(
    stage: Stage, disk: Disk
) -> None:
    """Three sidecars and a gateway; the orphan of a fourth cannot be acquired by any of them while it lasts."""
    agents = [stage.agent("long") for _ in range(4)]
    a, *others = [stage.sidecar(each, name) for each, name in zip(agents, "abcd", strict=True)]
    gateway = stage.gateway("g")
    await stage.ready()
    seen = stage.send(a, "steps=12 pace=0.01 hold=6")
    await seen.at_least(5)
    held = stage.subscribe(gateway, seen.task_id)
    await held.at_least(5)
    disk.fail()
    a.kill()
    agents[0].kill()
    everybody = (*others, gateway)
    refused = await asyncio.gather(*(stage.rpc(each, "SendMessage", message("steps=2")) for each in everybody))
    for told in refused:
        complaint(told["error"])
    await asyncio.gather(*(wait_for(partial(tried_to_recover, stage, each)) for each in others))
    for each in everybody:
        assert "cannot be" in "; ".join(await wait_for(partial(stage.reasons, each)))
    assert [len(agent.journal()) for agent in agents] == [1, 0, 0, 0]
    disk.mend()
    await stage.ready(*everybody)
    await wait_for(lambda: sum(len(agent.journal()) for agent in agents) == 2, what="one of them has it")
    stage.go()
    await held.ended()
    assert held.completed
    assert held.text == whole(12)
    assert held.replaced == 0
    for each in everybody:
        sent = await stage.rpc(each, "SendMessage", message("steps=2 pace=0"))
        assert sent["task"]["status"]["state"] == COMPLETED
    # The engine that takes over has not stopped either, wherever it was.
    (stage.directory / "go").unlink()
    more = stage.send(gateway, "steps=12 pace=0.01 hold=6")
    await more.at_least(5)
    at = "bcd".index((await owners(stage, more.task_id))[-1])
    others[at].kill()
    agents[1 + at].kill()
    stage.go()
    await more.ended()
    as_if_nothing_had_happened(more, steps(12), whole(12))
    assert sum(len(agent.journal()) for agent in agents) == 2 + len(everybody) + 2
    await stage.verify()


async def tried_to_recover(stage: Stage, sidecar: SidecarProcess) -> bool:
    return await stage.metric(sidecar, "recovery_failures") > 0
