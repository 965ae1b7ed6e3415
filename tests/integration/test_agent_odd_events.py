"""Events that are too large, too late, or about something else: one task is touched, its neighbours are not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.integration.raw_agent import Exchange, RawAgent, Script
from tests.integration.raw_scripts import endless_line
from tests.integration.scripted import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    WORKING,
    Play,
    chunk,
    status,
    stream,
    task,
)
from tests.integration.stage import SidecarProcess, Stage, message, wait_for

KIB, MIB = 1 << 10, 1 << 20
LIMIT = 2 * MIB  # the product's 16 MiB, divided by 8


def resident_bytes(sidecar: SidecarProcess) -> int:
    """The most memory that the process ever had."""
    lines = Path(f"/proc/{sidecar.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def sized(size: int) -> Script:
    """One artifact of so many bytes."""
    return stream(task(WORKING), chunk("x" * size, append=False), status(COMPLETED))


async def test_case_63_large_events_pass_and_one_above_the_limit_fails_one_task(stage: Stage) -> None:
    async def by_text(exchange: Exchange) -> None:
        await sized(int(exchange.rpc["params"]["message"]["parts"][0]["text"]))(exchange)

    async with RawAgent(Play(SendStreamingMessage=by_text)) as agent:
        sidecar = stage.sidecar(agent.url, agent__event_bytes_max=LIMIT)
        await stage.ready()
        for size in (63 * KIB, 65 * KIB, 513 * KIB, 1100 * KIB):
            seen = stage.send(sidecar, str(size))  # the stock client has limits of its own
            await seen.ended()
            assert seen.completed
            assert len(seen.text) == size
            frames = [frame for frame in seen.frames if "artifactUpdate" in frame.event]
            assert len(frames) == 1
        too_large = stage.send(sidecar, str(LIMIT + 1))
        neighbour = stage.send(sidecar, "100")
        await too_large.ended()
        assert too_large.state == FAILED
        assert "above the limit" in too_large.said[-1]
        assert str(LIMIT) in too_large.said[-1]
        await neighbour.ended()
        assert neighbour.completed
        assert (await stage.task(sidecar, too_large.task_id))["status"]["state"] == FAILED
    await stage.verify()


@pytest.mark.parametrize("opening", [True, False])
async def test_case_64_a_line_without_end_costs_one_task_and_no_memory(stage: Stage, opening: bool) -> None:
    async def endless_at_once(exchange: Exchange) -> None:
        await exchange.head()
        while True:
            await exchange.chunk(b"x" * 2**18)

    play = Play(SendStreamingMessage=endless_at_once if opening else endless_line)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url, agent__event_bytes_max=LIMIT)
        await stage.ready()
        before = resident_bytes(sidecar)
        streams = [stage.stream(sidecar, "SendStreamingMessage", message("go")) for _ in range(5)]
        await wait_for(lambda: all(each.done for each in streams))
        for seen in streams:
            if opening:
                assert seen.rpc_error is not None
                assert seen.rpc_error["code"] == -32006
                assert str(LIMIT) in seen.rpc_error["message"]
            else:
                assert seen.state == FAILED
                assert str(LIMIT) in seen.said[-1]
        assert resident_bytes(sidecar) - before < 5 * 2 * LIMIT + 16 * MIB
        await wait_for(lambda: play.following == 0, what="the agent is hung up on")
        play.parts["SendStreamingMessage"] = sized(10)
        after = stage.send(sidecar, "go")
        await after.ended()
        assert after.completed
    await stage.verify()


@pytest.mark.parametrize("pause_s", [0, 0.05])
async def test_case_111_the_first_terminal_counts_and_what_follows_is_counted(
    stage: Stage, pause_s: float
) -> None:
    late = (status(CANCELED), status(WORKING), chunk("late", append=False), task(FAILED))
    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED), *late, pause_s=pause_s))
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("go"))
        await seen.ended()
        assert [state for state, _ in seen.statuses] == [WORKING, COMPLETED]

        async def counted() -> bool:
            return await stage.metric(sidecar, "events_after_terminal") == len(late)

        await wait_for(counted)
        done = await stage.task(sidecar, seen.task_id)
        assert done["status"]["state"] == COMPLETED
        assert "artifacts" not in done
        kinds = await stage.kinds(seen.task_id)
        assert kinds.count("completed") == 1
        assert not {"canceled", "failed"} & set(kinds)
    await stage.verify()


async def test_case_52_ids_are_filled_and_events_about_something_else_are_dropped_and_counted(
    stage: Stage,
) -> None:
    other = status(WORKING, "of another task", taskId="t2")
    elsewhere = chunk("in another context", contextId="c2")
    nameless = [status(WORKING, "nameless", taskId="", contextId=""), chunk("kept", append=False, taskId="")]
    del nameless[1]["artifactUpdate"]["contextId"]
    play = Play(SendStreamingMessage=stream(task(WORKING), other, *nameless, elsewhere, status(COMPLETED)))
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("go", contextId="mine"))
        await seen.ended()
        assert seen.completed
        assert seen.said == ["nameless"]
        assert seen.text == "kept"
        for frame in seen.frames:
            (body,) = frame.event.values()
            assert (body.get("taskId") or body.get("id")) == seen.task_id
            assert body["contextId"] == "mine"
        assert await stage.metric(sidecar, "events_dropped") == 2
        assert "another task" not in str(await stage.task(sidecar, seen.task_id))
    await stage.verify()


async def test_case_50_an_agent_that_changes_its_ids_is_one_task_to_the_client(stage: Stage) -> None:
    turn = 0

    async def another_id_each_turn(exchange: Exchange) -> None:
        nonlocal turn
        turn += 1
        ids = {"id": f"t{turn}", "contextId": "c1"}
        state = COMPLETED if turn == 3 else INPUT_REQUIRED
        await stream(task(WORKING, **ids), status(state, f"turn {turn}", taskId=f"t{turn}"))(exchange)

    play = Play(SendStreamingMessage=another_id_each_turn)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        first = stage.send(sidecar, "go")
        await first.ended()
        told = []
        for answer in ("one", "two"):
            seen = stage.send(sidecar, answer, taskId=first.task_id)
            await seen.ended()
            told.append(seen)
        assert [each.state for each in (first, *told)] == [INPUT_REQUIRED, INPUT_REQUIRED, COMPLETED]
        assert {each.task_id for each in (first, *told)} == {first.task_id}
        assert [each["message"].get("taskId") for each in play.params] == [None, "t1", "t2"]
        done = await stage.task(sidecar, first.task_id)
        assert all(each["taskId"] == first.task_id for each in done["history"] if "taskId" in each)
        assert "t1" not in str(done).replace(first.task_id, "")
    await stage.verify()


async def test_what_is_no_event_ends_only_the_stream(stage: Stage) -> None:
    """A frame of an unknown kind is no StreamResponse: the run is asked how it stands."""

    async def newer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(task(WORKING))
        await exchange.event({"somethingNew": {"taskId": "t1"}})
        await asyncio.Event().wait()

    done = task(COMPLETED)

    async def finished(exchange: Exchange) -> None:
        await exchange.answer(exchange.frame(done["task"]))

    async with RawAgent(Play(SendStreamingMessage=newer, GetTask=finished)) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.send(sidecar, "go")
        await seen.ended()
        assert seen.completed
    await stage.verify()


async def test_a_task_that_is_made_up_is_in_the_context_that_its_agent_opened(stage: Stage) -> None:
    """The agent's first event is no Task, and the client named no context: the agent's is shown."""
    async with RawAgent(Play(SendStreamingMessage=stream(status(WORKING), status(COMPLETED)))) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("hi"))
        await seen.ended()
        shown = seen.frames[0].event["task"]
        assert {shown["contextId"], *(each["contextId"] for each in shown["history"])} == {"c1"}
        assert (await stage.task(sidecar, seen.task_id))["contextId"] == "c1"
        await stage.verify()
