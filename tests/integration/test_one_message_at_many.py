"""One message that several sidecars get at once is one message; two messages under one id are two."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from uuid import uuid4

import pytest

from bridge.envelope import digest_of_message
from tests.integration.processes import AgentProcess
from tests.integration.raw_agent import Exchange, Json, RawAgent
from tests.integration.stage import Recording, SidecarProcess, Stage, message, wait_for
from tests.integration.test_inbox import LONG, question, waiting

WAITING = "TASK_STATE_INPUT_REQUIRED"


def texts(agent: AgentProcess) -> list[str]:
    return [str(line["text"]) for line in agent.journal()]


def rows(stage: Stage, sent: Json) -> list[tuple[int, int]]:
    """(generation, answered) of what the store knows of a later message."""
    file = sqlite3.connect(f"file:{stage.store}?mode=ro", uri=True)
    try:
        query = "SELECT generation, answered FROM keys WHERE intent = ? ORDER BY generation"
        return list(file.execute(query, (digest_of_message(sent),)))
    finally:
        file.close()


async def three(stage: Stage) -> tuple[AgentProcess, list[SidecarProcess], str]:
    """An owner whose task asks, and two gateways, which can only leave what they get for it."""
    agent = stage.agent("input")
    fronts = [stage.sidecar(agent, "a", **LONG), stage.gateway("b", **LONG), stage.gateway("c", **LONG)]
    await stage.ready()
    asked = stage.send(fronts[0], "questions=2")
    await question(stage, asked, 1)
    return agent, fronts, asked.task_id


async def meeting(stage: Stage, fronts: list[SidecarProcess], sent: list[Json]) -> list[Json]:
    """Each front's answer to its message; the owner can look at none of them before all of them are there."""
    stage.stop_between_commits(fronts[0])
    try:
        answers = [
            asyncio.ensure_future(stage.rpc(*each)) for each in zip(fronts, ["SendMessage"] * 3, sent, strict=True)
        ]
        await wait_for(lambda: waiting(stage) == 2, what="both have left theirs")
    finally:
        fronts[0].signal(signal.SIGCONT)
    return await asyncio.gather(*answers)


async def test_one_answer_at_three_fronts_is_one_turn(stage: Stage) -> None:
    agent, fronts, task_id = await three(stage)
    one = message("one", taskId=task_id)
    answers = await meeting(stage, fronts, [one] * 3)
    assert [each["task"]["status"]["state"] for each in answers] == [WAITING] * 3
    await wait_for(lambda: not waiting(stage), what="the inbox is empty")
    await wait_for(lambda: rows(stage, one) == [(0, 1)], what="it was answered, as one message")
    assert texts(agent) == ["questions=2", "one"]
    # Answered and sent again it is a new message, wherever.
    await stage.rpc(fronts[2], "SendMessage", one)
    assert texts(agent) == ["questions=2", "one", "one"]
    await wait_for(lambda: rows(stage, one) == [(0, 1), (1, 1)], what="that was answered as well")
    await stage.verify()


async def test_two_answers_under_one_id_at_three_fronts_are_two_turns(stage: Stage) -> None:
    agent, fronts, task_id = await three(stage)
    one = message("one", taskId=task_id)
    two = message("two", taskId=task_id, messageId=one["message"]["messageId"])
    await meeting(stage, fronts, [one, two, one])
    await wait_for(lambda: len(texts(agent)) == 3, what="neither is lost")
    assert sorted(texts(agent)[1:]) == ["one", "two"]
    await wait_for(lambda: not waiting(stage), what="the inbox is empty")
    await wait_for(
        lambda: [a for each in (one, two) for _, a in rows(stage, each)] == [1, 1], what="both are answered"
    )
    assert sorted(rows(stage, one) + rows(stage, two)) == [(0, 1), (1, 1)]
    assert (await stage.kinds(task_id)).count("input") == 2
    await stage.verify()


@pytest.mark.parametrize("later", [False, True])
async def test_a_repeat_attaches_though_another_has_had_its_id_since(stage: Stage, later: bool) -> None:
    heard: list[str] = []
    go = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        sent = exchange.rpc["params"]["message"]
        heard.append(sent["parts"][0]["text"])
        ids = {"taskId": sent.get("taskId") or f"t{len(heard)}", "contextId": "c"}
        said = {"messageId": f"said {len(heard)}", "role": "ROLE_AGENT", "parts": sent["parts"]}
        working, ended = ({"state": f"TASK_STATE_{state}"} for state in ("WORKING", "COMPLETED"))
        await exchange.head()
        await exchange.event({"task": {"id": ids["taskId"], "contextId": "c", "status": working}})
        # What a later message leads to is told where the run is followed.
        where = agent.requests[0] if "taskId" in sent else exchange
        await where.event({"statusUpdate": {**ids, "status": {**working, "message": said}}})
        await go.wait()
        if "taskId" not in sent:
            await exchange.event({"statusUpdate": {**ids, "status": ended}})
        await exchange.end()

    async with RawAgent(script) as agent:
        a = stage.sidecar(agent.url)
        await stage.ready()
        running = stage.send(a, "begin")
        await wait_for(lambda: running.said)
        fields = {"messageId": str(uuid4())} | ({"taskId": running.task_id} if later else {})
        begun: list[Recording] = []
        for text in ("one", "two", "one"):
            begun.append(stage.stream(a, "SendStreamingMessage", message(text, **fields)))
            await wait_for(lambda: text in begun[-1].said, what="its answer has begun")  # noqa: B023
        assert heard == ["begin", "one", "two"]
        assert begun[2].task_id == begun[0].task_id
        assert len(await stage.task_ids()) == (1 if later else 3)
        go.set()
        await asyncio.gather(*(each.ended() for each in [running, *begun]))
        assert heard == ["begin", "one", "two"]
        await stage.verify()
