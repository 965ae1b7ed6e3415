"""A task is known wherever it is asked for, from the moment that somebody has heard of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.integration.raw_agent import RawAgent
from tests.integration.scripted import COMPLETED, WORKING, Play, status, stream, task
from tests.integration.stage import V1, Stage, message, wait_for

TASKS = 30


async def test_case_41_a_task_is_found_everywhere_at_once(stage: Stage) -> None:
    """GetTask, ListTasks and a subscription the moment that its id is known: it is nowhere unknown."""
    play = Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED), pause_s=1))
    async with RawAgent(play) as agent:
        a, b = (stage.sidecar(agent.url, group="g") for _ in range(2))
        gateway = stage.gateway(group="g")
        gateway.rpc_path = a.rpc_path
        await stage.ready()

        async def begin_and_ask(number: int) -> None:
            at = (a, b, gateway)[number % 3]
            params = {**message("x"), "configuration": {"returnImmediately": True}}
            begun = (await stage.rpc(at, "SendMessage", params))["task"]["id"]
            others = [each for each in (a, b, gateway) if each is not at]
            answers = await asyncio.gather(*(stage.task(each, begun) for each in others))
            assert [answer.get("id") for answer in answers] == [begun, begun], answers
            pages = await asyncio.gather(*(stage.rpc(each, "ListTasks", {"pageSize": 100}) for each in others))
            assert all(begun in [each["id"] for each in page["tasks"]] for page in pages)

        for first in range(0, TASKS, 6):
            await asyncio.gather(*(begin_and_ask(number) for number in range(first, first + 6)))
        streamed = stage.stream(a, "SendStreamingMessage", message("x"))
        await wait_for(lambda: streamed.task_id)
        beside = stage.subscribe(b, streamed.task_id)
        await beside.ended()
        assert beside.completed
    await stage.verify()


async def test_case_41_who_cannot_read_does_not_say_that_there_is_nothing(stage: Stage, tmp_path: Path) -> None:
    """Both bindings, for a task that there is and for one that nobody has heard of."""
    blind = tmp_path / "blind"
    async with RawAgent(Play(SendStreamingMessage=stream(task(WORKING), status(COMPLETED)))) as agent:
        a = stage.sidecar(agent.url, "a")
        b = stage.sidecar(agent.url, "b", f"store.before_read=fail-while:{blind}")
        await stage.ready()
        done = stage.send(a, "x")
        await done.ended()
        blind.touch()
        for task_id in (done.task_id, "nobody's"):
            for method in ("GetTask", "CancelTask", "SubscribeToTask"):
                answer = await stage.rpc(b, method, {"id": task_id})
                assert answer["error"]["code"] == -32603, (method, answer)
                assert answer["error"]["data"][0]["metadata"]["retryable"] == "true"
            got = await stage.web.get(f"{b.url}/rest/tasks/{task_id}", headers=V1)
            assert got.status_code == 500, got.text
            assert "TASK_NOT_FOUND" not in json.dumps(got.json())
        blind.unlink()
        assert (await stage.task(b, done.task_id))["status"]["state"] == COMPLETED
        assert (await stage.task(b, "nobody's"))["error"]["code"] == -32001
