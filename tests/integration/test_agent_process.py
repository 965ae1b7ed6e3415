"""Real agents on the SDK's server, killed and stopped for real."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from sidecar.agent import AgentSettings, HttpAgentLink
from sidecar.errors import AgentTimeout, AgentUnavailable
from sidecar.ports import AgentRun, EndKind, Probe
from sidecar.records import Json
from tests.integration.agent_side import drain, until
from tests.integration.agents import agent_process

pytestmark = pytest.mark.chaos


def params(text: str, task: str = "", message: str = "m1") -> Json:
    return {
        "message": {
            "role": "ROLE_USER",
            "messageId": message,
            "parts": [{"text": text}],
            **({"taskId": task} if task else {}),
        }
    }


def states(events: list[Json]) -> list[str]:
    return [
        body["status"]["state"].removeprefix("TASK_STATE_")
        for event in events
        if (body := event.get("statusUpdate") or event.get("task"))
    ]


def text_of(events: list[Json]) -> str:
    updates = [event["artifactUpdate"]["artifact"] for event in events if "artifactUpdate" in event]
    return "".join(part["text"] for artifact in updates for part in artifact["parts"])


async def first_task(run: AgentRun) -> tuple[Any, str]:
    batches = run.batches()
    (event, *_) = await anext(batches)
    return batches, event["task"]["id"]


async def test_a_streamed_run_a_reply_and_an_execution_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with agent_process("long", "--exec-log", str(log)) as (process, url):
        link = HttpAgentLink(url)
        events = await drain(await link.start(params("steps=3 pace=0.01 chunk=4"), {}))
        assert text_of(events) == "[1]x[2]x[3]x"
        assert states(events) == ["SUBMITTED", *["WORKING"] * 4, "COMPLETED"]
        assert link.card is not None
        assert link.card["name"] == "test long"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(line["event"], line["pid"], line["message"]) for line in lines] == [
            ("exec", process.pid, "m1"),
            ("done", process.pid, "m1"),
        ]
        await link.close()
    with agent_process("echo") as (_, url):
        link = HttpAgentLink(url)
        (event,) = await drain(await link.start(params("hi"), {}))
        assert event["message"]["parts"] == [{"text": "echo: hi"}]
        await link.close()


async def test_a_killed_agent_is_seen_within_50_ms() -> None:
    seen = []
    for _ in range(3):
        with agent_process("long") as (process, url):
            link = HttpAgentLink(url)
            run = await link.start(params("steps=1000 pace=0.01"), {})
            batches, _ = await first_task(run)
            await anext(batches)
            process.send_signal(signal.SIGKILL)
            begun = time.perf_counter()
            async for _ in batches:
                pass
            seen.append(time.perf_counter() - begun)
            assert run.end is not None
            assert run.end.kind is EndKind.BROKEN
            assert await link.probe() is Probe.REFUSED
            again = await link.start(params("x"), {})
            assert await drain(again) == []
            assert again.end is not None
            assert again.end.kind is EndKind.REFUSED
            await link.close()
    assert sorted(seen)[1] < 0.05, seen


async def test_a_stopped_agent_hangs_and_is_alive_again_when_it_goes_on() -> None:
    lost: list[str] = []
    settings = AgentSettings(call_timeout_s=0.3, card_timeout_s=0.2, watch_s=0.1)
    with agent_process("long") as (process, url):
        link = HttpAgentLink(url, settings, on_lost=lambda: lost.append("lost"))
        watching = asyncio.create_task(link.run_forever())
        run = await link.start(params("steps=20 pace=0.02"), {})
        batches, task = await first_task(run)
        assert await link.probe() is Probe.ALIVE
        os.kill(process.pid, signal.SIGSTOP)
        begun = time.perf_counter()
        assert await link.probe(0.3) is Probe.HANGING
        assert 0.25 < time.perf_counter() - begun < 0.6
        with pytest.raises(AgentTimeout):
            await link.get(task)
        await asyncio.sleep(0.5)  # several readings of the card fail in this time
        assert (link.ready, lost, run.end) == (True, [], None)
        os.kill(process.pid, signal.SIGCONT)
        rest = [event async for batch in batches for event in batch]
        assert states(rest)[-1] == "COMPLETED"
        assert await link.probe() is Probe.ALIVE
        watching.cancel()
        await link.close()


async def test_readiness_follows_an_agent_that_comes_goes_and_returns() -> None:
    heard: list[str] = []
    with agent_process("long") as (_, url):
        port = int(url.rsplit(":", 1)[1])
    link = HttpAgentLink(url, on_ready=lambda: heard.append("ready"), on_lost=lambda: heard.append("lost"))
    watching = asyncio.create_task(link.run_forever())
    await until(lambda: "connection refused" in link.reason)
    assert (link.ready, link.card, heard) == (False, None, [])
    with pytest.raises(AgentUnavailable):
        await link.get("t")
    with agent_process("long", port=port) as (process, _):
        await until(lambda: link.ready)
        assert (heard, link.reason, link.streaming) == (["ready"], "", True)
        run = await link.start(params("steps=1000"), {})
        batches, _ = await first_task(run)
        process.kill()
        begun = time.perf_counter()
        async for _ in batches:
            pass
        await until(lambda: not link.ready)
        assert time.perf_counter() - begun < 0.5  # not the watch interval: the broken run raised the doubt
        assert heard == ["ready", "lost"]
        assert link.card is not None
    with agent_process("nonstreaming", port=port):
        await until(lambda: link.ready)
        assert heard == ["ready", "lost", "ready"]
        assert not link.streaming
    watching.cancel()
    await link.close()


async def test_reattaching_to_a_run_that_is_still_alive() -> None:
    with agent_process("long") as (_, url):
        link = HttpAgentLink(url)
        run = await link.start(params("steps=20 pace=0.02 status=0"), {})
        _, task = await first_task(run)
        await run.close()  # closing is not cancelling (case 68)
        found = await link.get(task)
        assert found is not None
        assert found["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
        events = await drain(await link.subscribe(task))
        assert "task" in events[0]
        assert states(events)[-1] == "COMPLETED"
        late = await link.subscribe(task)
        assert await drain(late) == []
        assert late.end is not None
        assert late.end.kind is EndKind.RPC_FAILURE
        assert await link.get("no-such-task") is None
        assert await link.cancel(task) is None
        await link.close()


async def test_cancel() -> None:
    with agent_process("cancel") as (_, url):
        link = HttpAgentLink(url)
        run = await link.start(params("x"), {})
        batches, task = await first_task(run)
        canceled = await link.cancel(task)
        assert canceled is not None
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
        assert states([event async for batch in batches for event in batch])[-1] == "CANCELED"
        await link.close()


@pytest.mark.parametrize("flags", [[], ["--no-streaming"]], ids=["streamed", "polled"])
async def test_questions_and_answers(flags: list[str]) -> None:
    with agent_process("input", *flags) as (_, url):
        link = HttpAgentLink(url, AgentSettings(poll_min_s=0.02))
        events = await drain(await link.start(params("questions=2"), {}))
        task = next(event["task"]["id"] for event in events if "task" in event)
        assert states(events)[-1] == "INPUT_REQUIRED"
        for number, state in ((2, "INPUT_REQUIRED"), (3, "COMPLETED")):
            events = await drain(await link.start(params(f"answer {number}", task, f"m{number}"), {}))
            assert states(events)[-1] == state
        await link.close()


async def test_a_polled_run_delivers_growing_snapshots_and_ends_at_the_terminal_state() -> None:
    with agent_process("nonstreaming") as (_, url):
        link = HttpAgentLink(url, AgentSettings(poll_min_s=0.02, poll_max_s=0.1))
        run = await link.start(params("steps=5 pace=0.1 chunk=3 status=0"), {})
        events = await drain(run)
        assert all(list(event) == ["task"] for event in events)
        assert len(events) >= 4
        assert states(events)[-1] == "COMPLETED"
        parts = events[-1]["task"]["artifacts"][0]["parts"]
        assert "".join(part["text"] for part in parts) == "[1][2][3][4][5]"
        assert run.end is not None
        assert run.end.kind is EndKind.CLEAN
        late = await drain(await link.subscribe(events[-1]["task"]["id"]))
        assert late == [events[-1]]
        await link.close()


async def test_a_polled_agent_that_is_killed_has_broken_the_run() -> None:
    with agent_process("silent", "--no-streaming") as (process, url):
        link = HttpAgentLink(url, AgentSettings(poll_min_s=0.02, poll_max_s=0.05))
        run = await link.start(params("x"), {})
        batches, _ = await first_task(run)
        process.kill()
        async with asyncio.timeout(2):
            async for _ in batches:
                pass
        assert run.end is not None
        assert run.end.kind is EndKind.BROKEN
        await link.close()
