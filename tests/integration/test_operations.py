"""What clients can ask of a task while it runs, waits, is moved and is over: the same answer everywhere."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.integration.raw_agent import Exchange, Json, RawAgent, Script
from tests.integration.raw_scripts import no_answer
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

CANCELED_WITHIN_S = 5.0
SAID = [f"said {number}" for number in range(1, 6)]


def texts(task_or_error: Json) -> list[str]:
    return [said["parts"][0]["text"] for said in task_or_error.get("history", [])]


def talks(*said: str, end: bool = True) -> Script:
    async def script(exchange: Exchange) -> None:
        opening = task(WORKING, history=[exchange.rpc["params"]["message"]])
        last = [status(COMPLETED)] if end else []
        await stream(opening, *(status(WORKING, each) for each in said), *last, end=end)(exchange)

    return script


async def check_history_length(stage: Stage, sidecar: SidecarProcess, task_id: str, whole: list[str]) -> None:
    for length, expected in ((None, whole), (0, []), (1, whole[-1:]), (3, whole[-3:]), (1000, whole)):
        asked = {} if length is None else {"historyLength": length}
        got = await stage.rpc(sidecar, "GetTask", {"id": task_id, **asked})
        assert texts(got) == expected, length
        listed = (await stage.rpc(sidecar, "ListTasks", asked))["tasks"]
        (row,) = (each for each in listed if each["id"] == task_id)
        assert texts(row) == expected, length
        assert got["status"] == row["status"]
    for method, params in (("GetTask", {"id": task_id}), ("ListTasks", {})):
        refused = await stage.rpc(sidecar, method, {**params, "historyLength": -1})
        assert refused["error"]["code"] == -32602


async def test_case_104_history_length_on_send_get_and_list(stage: Stage) -> None:
    play = Play(SendStreamingMessage=talks(*SAID))
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        whole = ["go", *SAID]
        sent: Json = {}
        for length, expected in ((None, whole), (0, []), (1, whole[-1:]), (1000, whole)):
            asked = message("go") | ({} if length is None else {"configuration": {"historyLength": length}})
            sent = (await stage.rpc(sidecar, "SendMessage", asked))["task"]
            assert texts(sent) == expected
            seen = stage.stream(sidecar, "SendStreamingMessage", asked | message("go"))
            await seen.ended()
            assert len(texts(seen.frames[0].event["task"])) == (1 if length is None else min(length, 1))
            assert seen.said[-5:] == SAID
        refused = message("go") | {"configuration": {"historyLength": -1}}
        assert (await stage.rpc(sidecar, "SendMessage", refused))["error"]["code"] == -32602
        assert play.asked == ["SendStreamingMessage"] * 8  # the refused one did not reach the agent
        await check_history_length(stage, sidecar, sent["id"], whole)
    await stage.verify()


async def test_case_104_history_has_nothing_twice_after_a_takeover(stage: Stage) -> None:
    first, second = Play(SendStreamingMessage=talks(*SAID[:3], end=False)), Play(SendStreamingMessage=talks(*SAID))
    async with RawAgent(second) as standing_by:
        async with RawAgent(first) as agent:
            a, b = stage.sidecar(agent.url, group="g"), stage.sidecar(standing_by.url, group="g")
            await stage.ready()
            seen = stage.stream(a, "SendStreamingMessage", message("go"))
            await wait_for(lambda: seen.said == SAID[:3])
        await seen.ended()  # the agent has gone
        assert seen.said == SAID
        assert second.asked == ["SendStreamingMessage"]
        for sidecar in (a, b):
            await check_history_length(stage, sidecar, seen.task_id, ["go", *SAID])
    await stage.verify()


async def test_cases_109_113_a_canceled_task_ends_whatever_its_agent_makes_of_it(stage: Stage) -> None:
    """Agents that say yes and go on, refuse, answer nothing at all, or wait for an answer."""
    cancels: dict[str, Script] = {
        "goes on": answer(task(WORKING)["task"]),
        "refuses": answer(error={"code": -32002, "message": "cannot"}),
        "breaks": answer(error={"code": -32603, "message": "oops"}),
        "ignores everything": no_answer,
        "asks": answer(task(INPUT_REQUIRED)["task"]),
    }

    async def run(exchange: Exchange) -> None:
        name = exchange.rpc["params"]["message"]["parts"][0]["text"]
        ids: Json = {"taskId": name}
        await exchange.head()
        await exchange.event(task(WORKING, id=name))
        if name == "asks":
            await exchange.event(status(INPUT_REQUIRED, "?", **ids))
            await exchange.end()
        elif name == "ignores everything":
            await asyncio.Event().wait()
        else:
            for number in range(1000):
                await exchange.event(chunk(f"{number} ", append=number > 0, **ids))
                await asyncio.sleep(0.05)

    async def cancel(exchange: Exchange) -> None:
        await cancels[exchange.rpc["params"]["id"]](exchange)

    async def get(exchange: Exchange) -> None:
        await no_answer(exchange)

    play = Play(SendStreamingMessage=run, CancelTask=cancel, GetTask=get, SubscribeToTask=get)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        streams = {name: stage.stream(sidecar, "SendStreamingMessage", message(name)) for name in cancels}
        await wait_for(lambda: all(len(each.frames) > (name[0] != "i") for name, each in streams.items()))

        async def canceled(name: str) -> None:
            began = time.monotonic()
            ended = await stage.rpc(sidecar, "CancelTask", {"id": streams[name].task_id})
            assert ended["status"]["state"] == CANCELED, (name, ended)
            assert time.monotonic() - began < CANCELED_WITHIN_S, name

        await asyncio.gather(*(canceled(name) for name in streams))
        for name, seen in streams.items():
            await seen.ended()
            assert seen.state == (INPUT_REQUIRED if name == "asks" else CANCELED)
            again = await stage.rpc(sidecar, "CancelTask", {"id": seen.task_id})
            assert again["error"]["code"] == -32002
            kinds = await stage.kinds(seen.task_id)
            assert kinds.count("canceled") == kinds.count("cancel") == 1
            assert "event" not in kinds[kinds.index("canceled") :]
            assert (await stage.task(sidecar, seen.task_id))["status"]["state"] == CANCELED
        assert play.asked.count("CancelTask") == len(cancels)
        await wait_for(lambda: play.following == 0, what="nobody listens to the agent any more")
    await stage.verify()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deaf", "cancel"])
async def test_case_109_an_agent_of_the_sdk_is_canceled(stage: Stage, kind: str) -> None:
    agent = stage.agent(kind)
    sidecar = stage.sidecar(agent)
    await stage.ready()
    seen = stage.send(sidecar, "seconds=60")
    await wait_for(lambda: seen.text)
    began = time.monotonic()
    ended = await stage.rpc(sidecar, "CancelTask", {"id": seen.task_id})
    assert time.monotonic() - began < CANCELED_WITHIN_S
    assert ended["status"]["state"] == CANCELED
    await seen.ended()
    assert seen.state == CANCELED
    assert len(agent.journal("cancel")) == 1
    await stage.verify()


async def test_subscriptions_lists_and_errors_of_a_running_task(stage: Stage) -> None:
    go_on = asyncio.Event()

    async def waits(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(task(WORKING))
        await exchange.event(chunk("one ", append=False))
        await go_on.wait()
        await exchange.event(chunk("two "))
        await exchange.event(status(COMPLETED))
        await exchange.end()

    async with RawAgent(Play(SendStreamingMessage=waits)) as agent:
        owner, other = (stage.sidecar(agent.url, group="g") for _ in range(2))
        await stage.ready()
        seen = stage.stream(owner, "SendStreamingMessage", message("a", contextId="mine"))
        await wait_for(lambda: seen.text)
        running = stage.stream(owner, "SendStreamingMessage", message("b", contextId="mine"))
        await wait_for(lambda: running.text)
        late = [stage.stream(each, "SubscribeToTask", {"id": seen.task_id}) for each in (owner, other, owner)]
        await wait_for(lambda: all(each.text == "one " for each in late))
        for each in (owner, other):
            page = await stage.rpc(each, "ListTasks", {"contextId": "mine", "pageSize": 1, "status": WORKING})
            assert page["totalSize"] == 2
            assert "artifacts" not in page["tasks"][0]
            token = {"pageToken": page["nextPageToken"], "includeArtifacts": True}
            more = await stage.rpc(each, "ListTasks", {"contextId": "mine", "pageSize": 1, **token})
            assert {page["tasks"][0]["id"], more["tasks"][0]["id"]} == {seen.task_id, running.task_id}
            assert more["tasks"][0]["artifacts"]
            assert more["nextPageToken"] == ""
            assert (await stage.rpc(each, "ListTasks", {"contextId": "other"}))["tasks"] == []
        go_on.set()
        await asyncio.gather(*(each.ended() for each in (seen, running, *late)))
        tails = [[(frame.id, frame.event) for frame in each.frames[-2:]] for each in (seen, *late)]
        assert all(tail == tails[0] for tail in tails)
        whole = await stage.task(owner, seen.task_id)
        for each in (owner, other):
            assert await stage.task(each, seen.task_id) == whole
            for method, code in (("SubscribeToTask", -32004), ("CancelTask", -32002)):
                assert (await stage.rpc(each, method, {"id": seen.task_id}))["error"]["code"] == code
            for method in ("GetTask", "SubscribeToTask", "CancelTask"):
                assert (await stage.rpc(each, method, {"id": "nobody's"}))["error"]["code"] == -32001
            late_message = message("more", taskId=seen.task_id)
            assert (await stage.rpc(each, "SendMessage", late_message))["error"]["code"] == -32004
    await stage.verify()
