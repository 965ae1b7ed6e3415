"""What one message costs the store, and that saving there changes nothing that a client can see."""

from __future__ import annotations

import asyncio
import uuid

from tests.integration.scripted import COMPLETED
from tests.integration.stage import SidecarProcess, Stage, message, wait_for

MESSAGES = 20


async def commits(stage: Stage, sidecar: SidecarProcess) -> float:
    page = (await stage.web.get(f"{sidecar.control}/metrics")).text
    return next(
        float(line.split()[1]) for line in page.splitlines() if line.startswith("dhp_sidecar_store_commits ")
    )


async def test_a_message_and_its_reply_cost_two_commits(stage: Stage) -> None:
    agent = stage.agent("echo")
    sidecar = stage.sidecar(agent)
    await stage.ready()
    await stage.rpc(sidecar, "SendMessage", message("first"))
    before = await commits(stage, sidecar)
    for index in range(MESSAGES):
        answer = await stage.rpc(sidecar, "SendMessage", message(str(index)))
        assert answer["message"]["parts"] == [{"text": f"echo: {index}"}]
    # Accepted, and replied; that they were answered is written for several at once.
    assert await commits(stage, sidecar) - before < 2.9 * MESSAGES
    tasks = await stage.task_ids()
    assert len(tasks) == MESSAGES + 1

    async def all_answered() -> bool:
        return all([(await stage.kinds(task)).count("answered") == 1 for task in tasks])

    await wait_for(all_answered)
    await stage.verify()


async def test_case_44_an_id_used_again_as_soon_as_its_answer_is_there_is_a_new_message(stage: Stage) -> None:
    agent = stage.agent("long")
    sidecar = stage.sidecar(agent)
    await stage.ready()
    params = message("steps=1 pace=0", messageId=str(uuid.uuid4()))
    seen = [(await stage.rpc(sidecar, "SendMessage", params))["task"] for _ in range(10)]
    assert len({task["id"] for task in seen}) == len(seen)
    assert {task["status"]["state"] for task in seen} == {COMPLETED}
    assert len(agent.journal()) == len(seen)
    await stage.verify()


async def test_case_43_one_message_sent_many_times_at_once_is_one_task(stage: Stage) -> None:
    agent = stage.agent("long")
    sidecar = stage.sidecar(agent)
    await stage.ready()
    params = message("steps=5 pace=0.05", messageId=str(uuid.uuid4()))
    answers = await asyncio.gather(*(stage.rpc(sidecar, "SendMessage", params) for _ in range(8)))
    assert len({answer["task"]["id"] for answer in answers}) == 1
    assert len(agent.journal()) == 1
    await stage.verify()
