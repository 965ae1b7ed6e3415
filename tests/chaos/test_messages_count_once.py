"""A message counts once: whatever dies, hangs up or repeats itself around it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from bridge.handoff import Handoff
from tests.chaos.dying import PATIENCE_S, Cast, plain, tagged
from tests.integration.agent_card import RPC_PATH
from tests.integration.processes import ROOT, AgentProcess
from tests.integration.recording import Json
from tests.integration.stage import Stage, message, wait_for

pytestmark = pytest.mark.chaos
COMPLETED = "TASK_STATE_COMPLETED"


def runs_of(agent: AgentProcess, params: Json) -> int:
    text = params["message"]["parts"][0]["text"]
    return sum(line["text"] == text for line in agent.journal())


@pytest.mark.slow
async def test_case_19_nothing_that_an_agent_has_seen_is_without_its_record(quick: None, tmp_path: Path) -> None:
    """The sidecar dies 0 to 27 ms after it began to write a dispatch."""
    cast = Cast(tmp_path / "stage", "long", both=False, standby=False)
    try:
        await cast.stage.ready()
        expected = plain(await cast.insist(tagged("steps=2 pace=0.01")))
        for after_ms in range(0, 30, 3):
            await cast.rearm(cast.a, f"accept.before_commit=kill-after:{after_ms}")
            params = tagged("steps=2 pace=0.01")
            asked = asyncio.ensure_future(cast.insist(params))
            await wait_for(lambda: not cast.a.alive or cast.deaths, PATIENCE_S)
            heard = {str(line["text"]) for line in cast.agents[0].journal()}
            assert heard <= {await _first_text(cast.stage, each) for each in await cast.stage.task_ids()}
            assert plain(await asked) == expected
        await cast.settled(expected)
    finally:
        await cast.stage.close()


async def _first_text(stage: Stage, task_id: str) -> str:
    handoff = Handoff.fold(task_id, await stage.journal(task_id))
    text: str = handoff.dispatched["intent"]["inputs"]["message"]["parts"][0]["text"]
    return text


@pytest.mark.slow
async def test_case_20_recovery_at_boot_leaves_what_is_just_being_accepted_alone(stage: Stage) -> None:
    """200 tasks (a fifth of the case's) while 20 older ones are recovered and every commit is told late."""
    agent = stage.agent("long")
    a = stage.sidecar(agent, "a")
    await stage.ready()
    older = [tagged("steps=20 pace=0.05 status=0") for _ in range(20)]
    following = [stage.stream(a, "SendStreamingMessage", params) for params in older]
    await wait_for(lambda: all(seen.text for seen in following), PATIENCE_S)
    a.kill()
    a.start("store.after_commit=sleep:20")
    fresh = [tagged("steps=1 pace=0 status=0") for _ in range(200)]

    async def begun(params: Json) -> str:
        answer = await stage.rpc(a, "SendMessage", {**params, "configuration": {"returnImmediately": True}}, 30)
        task_id: str = answer["task"]["id"]
        return task_id

    await stage.ready(a)
    ids = await asyncio.gather(*(begun(params) for params in fresh))
    await wait_for(partial(_all_over, stage), 30)
    assert len(set(ids)) == len(fresh)
    assert [runs_of(agent, params) for params in fresh] == [1] * len(fresh)
    assert [runs_of(agent, params) for params in older] == [1] * len(older)
    for task_id in ids:
        handoff = Handoff.fold(task_id, await stage.journal(task_id))
        assert (handoff.attempts, handoff.fence.n) == (1, 1)
    await stage.verify()


async def _all_over(stage: Stage) -> bool:
    for task_id in await stage.task_ids():
        if Handoff.fold(task_id, await stage.journal(task_id)).terminal is None:
            return False
    return True


async def test_case_43_a_client_that_hung_up_and_asks_again_attaches(stage: Stage) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    params = tagged("steps=10 pace=0.05")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", int(a.url.rsplit(":", 1)[1]))
    head = f"POST {RPC_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await wait_for(agent.journal)
    writer.transport.abort()
    answers = await asyncio.gather(*(stage.rpc(a, "SendMessage", params) for _ in range(3)))
    assert {answer["task"]["status"]["state"] for answer in answers} == {COMPLETED}
    assert len({answer["task"]["id"] for answer in answers}) == 1
    assert len(agent.journal()) == 1
    listed = await stage.rpc(a, "ListTasks", {})
    assert [task["id"] for task in listed["tasks"]] == [answers[0]["task"]["id"]]
    await stage.verify()


async def test_case_44_a_repeated_answer_joins_the_turn_that_it_began(stage: Stage) -> None:
    agent = stage.agent("input")
    a = stage.sidecar(agent)
    await stage.ready()
    first = await stage.rpc(a, "SendMessage", message("questions=2"))
    task_id = first["task"]["id"]
    m2, m3 = message("two", taskId=task_id), message("three", taskId=task_id)
    both = await asyncio.gather(*(stage.rpc(a, "SendMessage", m2) for _ in range(2)))
    assert [answer["task"]["id"] for answer in both] == [task_id] * 2
    assert {answer["task"]["status"]["state"] for answer in both} == {"TASK_STATE_INPUT_REQUIRED"}
    last = await stage.rpc(a, "SendMessage", m3)
    assert last["task"]["status"]["state"] == COMPLETED
    assert [line["text"] for line in agent.journal()] == ["questions=2", "two", "three"]
    assert (await stage.kinds(task_id)).count("input") == 2
    said = [each["messageId"] for each in last["task"]["history"] if each["role"] == "ROLE_USER"]
    assert said == list(dict.fromkeys(said))
    # The same id with another content is another message, never silently the first one.
    other = {**first["task"]["history"][0], "parts": [{"text": "questions=1"}]}
    fresh = await stage.rpc(
        a, "SendMessage", {"message": {key: other[key] for key in ("messageId", "role", "parts")}}
    )
    assert fresh["task"]["id"] != task_id
    assert len(await stage.task_ids()) == 2
    await stage.verify()


async def test_two_answers_at_once_are_two_turns(stage: Stage) -> None:
    agent = stage.agent("input")
    a = stage.sidecar(agent)
    await stage.ready()
    task_id = (await stage.rpc(a, "SendMessage", message("questions=2")))["task"]["id"]
    given = [message(word, taskId=task_id) for word in ("one", "two")]
    await asyncio.gather(*(stage.rpc(a, "SendMessage", each) for each in given))
    await wait_for(partial(_all_over, stage))
    assert (await stage.task(a, task_id))["status"]["state"] == COMPLETED
    assert sorted(str(line["text"]) for line in agent.journal()) == ["one", "questions=2", "two"]
    assert await stage.metric(a, "owner_failures") == 0
    await stage.verify()


async def test_a_message_to_a_task_at_work_outlives_the_sidecar_that_took_it(quick: None, tmp_path: Path) -> None:
    cast = Cast(tmp_path / "stage", "long", both=False, standby=False)
    try:
        await cast.stage.ready()
        await cast.rearm(cast.a, "input.after_commit=kill")
        params = tagged("steps=20 pace=0.1")
        working = asyncio.ensure_future(cast.insist(params))
        await wait_for(partial(_begun, cast))
        (task_id,) = await cast.stage.task_ids()
        more = tagged("more", taskId=task_id)
        assert (await cast.insist(more))["id"] == (await working)["id"] == task_id
        assert cast.deaths == 1
        assert [runs_of(cast.agents[0], each) for each in (params, more)] == [1, 1]
        await cast.stage.verify()
    finally:
        await cast.stage.close()


async def _begun(cast: Cast) -> bool:
    ids = await cast.stage.task_ids()
    return bool(ids) and (await cast.stage.kinds(ids[0])).count("event") > 5


async def test_case_48_a_context_of_another_task_is_refused_before_the_agent_hears(stage: Stage) -> None:
    agent = stage.agent("input")
    a = stage.sidecar(agent)
    await stage.ready()
    one, two = [(await stage.rpc(a, "SendMessage", message("questions=1")))["task"] for _ in range(2)]
    assert one["contextId"] != two["contextId"]
    wrong = message("blue", taskId=one["id"], contextId=two["contextId"])
    for method in ("SendMessage", "SendStreamingMessage"):
        answer = await stage.rpc(a, method, wrong)
        assert answer["error"]["code"] == -32602, answer
    assert len(agent.journal()) == 2
    assert "input" not in await stage.kinds(one["id"])
    right = message("blue", taskId=one["id"], contextId=one["contextId"])
    assert (await stage.rpc(a, "SendMessage", right))["task"]["status"]["state"] == COMPLETED
    await stage.verify()


async def test_case_56_a_finished_task_stays_finished_at_the_standby(stage: Stage) -> None:
    agents = [stage.agent("long"), stage.agent("long")]
    a, b = (stage.sidecar(each, lease__ttl_ms=800, lease__margin_ms=100) for each in agents)
    await stage.ready()
    done = (await stage.rpc(a, "SendMessage", message("steps=2 pace=0.01")))["task"]
    cut = stage.send(a, "steps=12 pace=0.05")
    await cut.at_least(4)
    a.kill()
    agents[0].kill()
    rest = stage.subscribe(b, cut.task_id)  # this one is taken over, and then it is finished as well
    await rest.ended()
    calls = len(agents[1].journal())
    for task_id in (done["id"], cut.task_id):
        for method in ("SendMessage", "SendStreamingMessage"):
            answer = await stage.rpc(b, method, message("more", taskId=task_id))
            assert answer["error"]["code"] == -32004, answer
        assert (await stage.task(b, task_id))["status"]["state"] == COMPLETED
        assert (await stage.kinds(task_id))[-1] in ("completed", "answered")
    assert len(agents[1].journal()) == calls
    await stage.verify()


async def test_case_108_one_changed_byte_in_a_copy_of_the_store_is_named(stage: Stage) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    task_id = (await stage.rpc(a, "SendMessage", message("steps=3 pace=0.01")))["task"]["id"]
    a.kill()
    copy = stage.directory / "copy.db"
    for suffix in ("", "-wal"):
        if (source := Path(f"{stage.store}{suffix}")).exists():
            shutil.copy(source, f"{copy}{suffix}")
    assert _verify(copy) == (0, "")
    with sqlite3.connect(copy) as file:
        rows = file.execute("SELECT position, body FROM entries WHERE kind = 'event' ORDER BY position").fetchall()
        position, body = rows[len(rows) // 2]
        changed = bytearray(body.encode() if isinstance(body, str) else body)
        changed[-9] ^= 1
        file.execute("UPDATE entries SET body = ? WHERE position = ?", (bytes(changed), position))
    file.close()
    status, said = _verify(copy)
    seq = position & 0xFFFFFFFF
    assert status == 1
    assert task_id in said
    assert f"entry {seq}" in said, said


def _verify(store: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "sidecar.cli", "verify", "--store", f"sqlite:///{store}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr if ended.returncode else ""
