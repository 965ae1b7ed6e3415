"""Who follows a task, from wherever and however late, is told the same under the same ids in the same order."""

from __future__ import annotations

import asyncio

import pytest

from tests.integration.raw_agent import Exchange, RawAgent
from tests.integration.recording import Json, Recording
from tests.integration.stage import Stage, message, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole


def same(first: Recording, other: Recording) -> int:
    """Frames with one id hold the same, whoever got them; none is missing. Returns how many."""
    ours = {frame.id: frame.event for frame in first.frames}
    after = other.frames if "task" not in other.frames[0].event else other.frames[1:]
    for frame in after:
        assert ours[frame.id] == frame.event
    assert [frame.id for frame in after] == [number for number in ours if number and number >= (after[0].id or 0)]
    assert other.ids == sorted(set(other.ids))
    return len(after)


async def test_cases_9_10_65_67_subscribers_on_both_sidecars_through_a_takeover(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    sender = stage.stream(a, "SendStreamingMessage", message("steps=200 pace=0 hold=100"))
    await sender.at_least(20)
    task = {"id": sender.task_id}
    on_a, on_b = (stage.stream(each, "SubscribeToTask", task) for each in (a, b))
    await asyncio.gather(on_a.at_least(99), on_b.at_least(99))
    agents[0].kill()
    await wait_for(agents[1].journal)
    cursor = sender.ids[30]
    with_cursor = [
        stage.stream(each, "SubscribeToTask", task, **{"Last-Event-ID": str(cursor)}) for each in (a, b)
    ]
    strange = [
        stage.stream(b, "SubscribeToTask", task, **{"Last-Event-ID": text})
        for text in ("999999999", "-1", "x", "", "9" * 30)
    ]
    late = [*with_cursor, *strange]
    await wait_for(lambda: all(each.frames for each in late))
    stage.go()
    everybody = [sender, on_a, on_b, *late]
    await asyncio.gather(*(each.ended() for each in everybody))

    as_if_nothing_had_happened(sender, steps(200), whole(200))
    assert sender.ids == sorted(set(sender.ids))
    assert same(sender, on_a) > 200
    assert same(sender, on_b) > 200
    for each in with_cursor:  # exactly the gap, no snapshot
        assert each.ids == [number for number in sender.ids if number > cursor]
        same(sender, each)
    for each in (on_a, on_b, *strange):  # a snapshot, and what follows it
        assert "task" in each.frames[0].event
        assert each.completed
        assert each.text == whole(200)
        assert each.said == steps(200)
    # Case 67: a cursor of another task is a position in this one at most, and shows this one only.
    other = stage.stream(b, "SendStreamingMessage", message("steps=3 pace=0.01"))
    await wait_for(lambda: other.task_id)
    borrowed = stage.stream(a, "SubscribeToTask", {"id": other.task_id}, **{"Last-Event-ID": str(sender.ids[-1])})
    await other.ended()
    await borrowed.answered()
    assert {frame.event.get("task", {}).get("id", other.task_id) for frame in borrowed.frames} <= {other.task_id}
    await stage.verify()


async def test_closing_one_stream_changes_nothing_for_the_others(stage: Stage) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    sender = stage.send(a, "steps=20 pace=0.01 hold=10")
    await sender.at_least(5)
    stays, goes = (stage.subscribe(a, sender.task_id) for _ in range(2))
    await asyncio.gather(stays.at_least(9), goes.at_least(9))
    await goes.close()
    await sender.close()
    stage.go()
    await stays.ended()
    as_if_nothing_had_happened(stays, steps(20), whole(20))
    assert agent.journal("cancel") == []


def in_state(state: str) -> Json:
    return {"task": {"id": "t1", "contextId": "c1", "status": {"state": f"TASK_STATE_{state}"}}}


STREAMS = {  # case 12: does a subscription to a task in this state stay open?
    "SUBMITTED": True,
    "WORKING": True,
    "AUTH_REQUIRED": True,
    "INPUT_REQUIRED": True,  # it waits for the answer (decision 0004); the stream of the send has ended
    "COMPLETED": False,
    "CANCELED": False,
    "FAILED": False,
    "REJECTED": False,
}


async def test_cases_6_12_a_subscription_to_each_of_the_states(stage: Stage) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.rpc["method"] != "SendStreamingMessage":
            await exchange.answer(exchange.frame(in_state("WORKING")["task"]))
            return
        state = exchange.rpc["params"]["message"]["parts"][0]["text"]
        await exchange.head()
        await exchange.event(in_state("WORKING"))
        if state != "WORKING":
            status = in_state(state)["task"]["status"]
            await exchange.event({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": status}})
        if state in ("SUBMITTED", "WORKING", "AUTH_REQUIRED"):
            await asyncio.Event().wait()
        await exchange.end()

    async with RawAgent(script) as agent:
        a = stage.sidecar(agent.url)
        await stage.ready()
        for state, stays_open in STREAMS.items():
            sender = stage.stream(a, "SendStreamingMessage", message(state))
            await sender.reaches(f"TASK_STATE_{state}")
            if state not in ("SUBMITTED", "WORKING", "AUTH_REQUIRED"):
                await sender.ended(5)
            late = stage.stream(a, "SubscribeToTask", {"id": sender.task_id})
            if stays_open:
                await late.reaches(f"TASK_STATE_{state}", 5)
                assert not late.done
            else:
                await late.answered(5)
                assert late.rpc_error is not None
                assert late.rpc_error["code"] == -32004
            await late.close()
            await sender.close()


@pytest.mark.slow
async def test_case_2_a_stream_that_ends_early_is_followed_by_one_owner_without_any_client(stage: Stage) -> None:
    """The 5 s of the case are a number of questions here: the task is done at the fifth."""
    asked: list[str] = []

    async def script(exchange: Exchange) -> None:
        asked.append(method := exchange.rpc["method"])
        over = asked.count("GetTask") >= 5
        now = in_state("COMPLETED" if over else "WORKING")
        if method == "GetTask":
            await exchange.answer(exchange.frame(now["task"]))
            return
        await exchange.head()
        await exchange.event(now)
        await exchange.end()

    async with RawAgent(script) as agent:
        a, b = stage.sidecar(agent.url), stage.sidecar(agent.url)
        await stage.ready()
        answer = await stage.rpc(a, "SendMessage", message("x") | {"configuration": {"returnImmediately": True}})
        task_id = answer["task"]["id"]

        async def done() -> bool:
            found = await stage.task(b, task_id)
            return bool(found["status"]["state"] == "TASK_STATE_COMPLETED")

        await wait_for(done)
        assert asked.count("SendStreamingMessage") == 1
        assert asked.count("GetTask") == 5  # one follower asked, not two
        await stage.verify()
