"""A task that asks its client something outlives whatever dies while it waits for the answer."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.integration.raw_agent import Exchange, Json, RawAgent
from tests.integration.scripted import NOT_FOUND
from tests.integration.stage import Recording, Stage, message, wait_for

BRIEF: dict[str, Any] = {"lease__ttl_ms": 800, "lease__margin_ms": 100}  # the defaults divided by 3.75


async def asked(seen: Recording, number: int, of: int) -> None:
    await seen.ended()
    assert seen.state == "TASK_STATE_INPUT_REQUIRED"
    assert seen.said[-1] == f"question {number} of {of}?"


async def inputs(stage: Stage, task_id: str, count: int) -> bool:
    return (await stage.kinds(task_id)).count("input") >= count


async def conversation(stage: Stage, task: Json) -> list[str]:
    await stage.verify()
    said = [*task["history"], *([task["status"]["message"]] if "message" in task["status"] else [])]
    return ["".join(part["text"] for part in each["parts"]) for each in said]


WHOLE = ["questions=2", "question 1 of 2?", "one", "question 2 of 2?", "two"]


@pytest.mark.parametrize("death", ["standby", "back before the answer", "back after the answer"])
async def test_the_agent_dies_while_its_task_waits_for_the_client(stage: Stage, death: str) -> None:
    agents = [stage.agent("input") for _ in range(2 if death == "standby" else 1)]
    a, *_ = (stage.sidecar(each) for each in agents)
    await stage.ready()
    first = stage.send(a, "questions=2")
    await asked(first, 1, 2)
    second = stage.send(a, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    agents[0].kill()
    if death == "back before the answer":
        await stage.restart(agents[0])
    third = stage.send(a, "two", taskId=first.task_id)
    if death == "back after the answer":
        await wait_for(lambda: inputs(stage, first.task_id, 2))
        await stage.restart(agents[0])
    await third.ended()
    assert third.completed
    assert third.text == "2 answers, the last was two"
    assert {each.task_id for each in (first, second, third)} == {first.task_id}
    assert third.said == []  # neither question is asked again
    assert await conversation(stage, await stage.task(a, first.task_id)) == WHOLE


async def test_an_answer_to_another_sidecar_reaches_the_owner(stage: Stage) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    first = stage.send(a, "questions=2")
    await asked(first, 1, 2)
    second = stage.send(b, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    blocking = await stage.rpc(b, "SendMessage", message("two", taskId=first.task_id))
    assert blocking["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [len(each.journal()) for each in agents] == [3, 0]
    assert await conversation(stage, await stage.task(a, first.task_id)) == WHOLE


async def test_the_owner_dies_while_its_task_waits_for_the_client(stage: Stage) -> None:
    agents = [stage.agent("input"), stage.agent("input")]
    a, b = (stage.sidecar(each) for each in agents)
    await stage.ready()
    first = stage.send(a, "questions=2")
    await asked(first, 1, 2)
    a.kill()
    agents[0].kill()
    second = stage.send(b, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(b, "two", taskId=first.task_id)
    await third.ended()
    assert third.completed
    assert third.text == "2 answers, the last was two"
    assert await conversation(stage, await stage.task(b, first.task_id)) == WHOLE


async def test_case_50_agent_ids_that_change_at_every_turn_are_never_seen(stage: Stage) -> None:
    """The agent has another task id and another context id in every answer, and names ids in every field."""

    async def script(exchange: Exchange) -> None:
        turn = len([each for each in agent.requests if each.rpc["method"] == "SendStreamingMessage"])
        ids = {"taskId": f"agent-task-{turn}", "contextId": f"agent-context-{turn}"}
        said = {"messageId": f"m{turn}", "role": "ROLE_AGENT", "parts": [{"text": f"turn {turn}"}], **ids}
        task = {"id": ids["taskId"], "contextId": ids["contextId"], "status": {"state": "TASK_STATE_WORKING"}}
        await exchange.head()
        await exchange.event({"task": {**task, "history": [said]}})
        part = {"artifactId": "r", "name": "r", "parts": [{"text": f"{turn} "}]}
        await exchange.event({"artifactUpdate": {**ids, "artifact": part, "append": turn > 1}})
        state = "TASK_STATE_INPUT_REQUIRED" if turn < 3 else "TASK_STATE_COMPLETED"
        await exchange.event({"statusUpdate": {**ids, "status": {"state": state, "message": said}}})
        await exchange.end()

    async with RawAgent(script) as agent:
        a = stage.sidecar(agent.url)
        await stage.ready()
        turns = [stage.stream(a, "SendStreamingMessage", message("begin"))]
        await turns[0].ended()
        for text in ("one", "two"):
            fields = {"taskId": turns[0].task_id, "referenceTaskIds": [turns[0].task_id]}
            turns.append(stage.stream(a, "SendStreamingMessage", message(text, **fields)))
            await turns[-1].ended()
        final = await stage.task(a, turns[0].task_id)
        everything = json.dumps([[frame.event for frame in turn.frames] for turn in turns] + [final])
        assert "agent-task" not in everything
        assert final["id"] == turns[0].task_id
        assert final["status"]["state"] == "TASK_STATE_COMPLETED"
        # Towards the agent it is the other way round: it is asked about the task that it knows.
        sent = [each.rpc["params"]["message"] for each in agent.requests]
        assert [each.get("taskId") for each in sent] == [None, "agent-task-1", "agent-task-2"]
        assert [each.get("referenceTaskIds") for each in sent] == [None, ["agent-task-1"], ["agent-task-2"]]
        await stage.verify()


async def test_case_112_a_cancel_while_its_owner_hangs_is_carried_out_by_the_next_one(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, **BRIEF) for each in agents)
    await stage.ready()
    seen = stage.send(a, "steps=20 pace=0.01 hold=10")
    await seen.at_least(9)
    stage.stop_between_commits(a)
    try:
        canceled = await stage.rpc(b, "CancelTask", {"id": seen.task_id})
        assert canceled.get("status", {}).get("state") == "TASK_STATE_CANCELED", canceled
        assert agents[1].journal() == []  # nothing was resumed
    finally:
        a.signal(signal.SIGCONT)
    await seen.ended()
    assert seen.state == "TASK_STATE_CANCELED"
    await wait_for(lambda: agents[0].journal("cancel"))  # and the run of the one that hung is told, once it wakes
    stage.go()
    assert (await stage.task(b, seen.task_id))["status"]["state"] == "TASK_STATE_CANCELED"
    await stage.verify()


async def test_two_cancels_on_two_sidecars_and_the_end_of_the_task_agree(stage: Stage) -> None:
    agent = stage.agent("cancel")
    a, b = stage.sidecar(agent), stage.sidecar(agent)
    await stage.ready()
    seen = stage.send(a, "seconds=60")
    await wait_for(lambda: seen.text)
    answers = await asyncio.gather(*(stage.rpc(each, "CancelTask", {"id": seen.task_id}) for each in (a, b, a)))
    for answer in answers:  # canceled, or too late because it was
        assert answer.get("status", {}).get("state") == "TASK_STATE_CANCELED" or answer["error"]["code"] == -32002
    await seen.ended()
    assert [state for state, _ in seen.statuses].count("TASK_STATE_CANCELED") == 1
    await stage.verify()


async def test_the_stream_of_a_later_message_is_let_go_after_the_task_has_ended(stage: Stage) -> None:
    """An agent that never ends it would have its connection held for ever; late events are read for 5 s."""
    finish = asyncio.Event()
    streams = 0

    async def script(exchange: Exchange) -> None:
        nonlocal streams
        names = {"id": "t1", "contextId": "c1"}
        if exchange.rpc["method"] != "SendStreamingMessage":
            await exchange.answer(exchange.frame({**names, "status": {"state": "TASK_STATE_WORKING"}}))
            return
        streams += 1
        await exchange.head()
        await exchange.event({"task": {**names, "status": {"state": "TASK_STATE_WORKING"}}})
        if streams > 1:
            await asyncio.Event().wait()
        await finish.wait()
        status = {"taskId": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}
        await exchange.event({"statusUpdate": status})
        await exchange.end()

    async with RawAgent(script) as agent:
        a = stage.sidecar(agent.url)
        await stage.ready()
        first = stage.send(a, "hi")
        await wait_for(lambda: first.task_id)
        later = [stage.send(a, "more", taskId=first.task_id) for _ in range(2)]
        await wait_for(lambda: streams == 3)
        finish.set()
        for each in (first, *later):
            await each.ended()
        await wait_for(lambda: agent.open <= 1, 15)


@pytest.mark.parametrize("lost", [1, 2])
async def test_an_answer_that_is_replayed_and_lost_on_its_way_is_sent_again(stage: Stage, lost: int) -> None:
    """A run that was forgotten begins anew and asks again; what it is answered breaks before it has read it."""
    question = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "why?"}]}
    asking = {"state": "TASK_STATE_INPUT_REQUIRED", "message": question}
    runs, breaks = 0, 1 + lost

    async def script(exchange: Exchange) -> None:
        nonlocal runs, breaks
        names, params = {"taskId": f"t{runs}", "contextId": "c1"}, exchange.rpc["params"]
        if exchange.rpc["method"] == "GetTask":
            known = params["id"] == "t2"
            body = {"id": "t2", "contextId": "c1", "status": asking}
            await exchange.answer(exchange.frame(body if known else None, None if known else NOT_FOUND))
        elif exchange.rpc["method"] == "SubscribeToTask":
            await exchange.head()
            await exchange.end()  # it waits: there is nothing to follow
        elif params["message"].get("taskId") is None:
            runs += 1
            await exchange.head()
            await exchange.event({"task": {"id": f"t{runs}", "contextId": "c1", "status": asking}})
            await exchange.end()
        elif breaks:
            breaks -= 1
            if runs == 1:
                await exchange.head()
                await exchange.event({"statusUpdate": {**names, "status": {"state": "TASK_STATE_WORKING"}}})
            exchange.reset()
        else:
            await exchange.head()
            await exchange.event({"statusUpdate": {**names, "status": {"state": "TASK_STATE_COMPLETED"}}})
            await exchange.end()

    async with RawAgent(script) as agent:
        a = stage.sidecar(agent.url)
        await stage.ready()
        first = stage.send(a, "begin")
        await first.ended()
        second = stage.send(a, "because", taskId=first.task_id)
        await second.ended()
        assert second.completed
        assert second.said == []  # nobody is asked twice
        sent = [each.rpc["params"] for each in agent.requests if each.rpc["method"] == "SendStreamingMessage"]
        texts = [each["message"]["parts"][0]["text"] for each in sent]
        assert texts == ["begin", "because", "begin", *["because"] * (lost + 1)]
        assert (await stage.kinds(first.task_id)).count("input") == 1
        await stage.verify()
