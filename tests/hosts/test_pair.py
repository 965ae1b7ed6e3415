"""Two hosts, each the only voter of what the other one takes in: nothing is lost with one, and nothing forks."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from functools import partial

import pytest

from tests.hosts.peers import BRIEF, completed, lose_disk, pair, verify
from tests.integration.stage import SidecarProcess, Stage, message, wait_for
from tests.integration.test_followups import asked
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

STILL_S = (BRIEF["lease__ttl_ms"] + BRIEF["lease__margin_ms"]) / 1000


async def _kinds(stage: Stage, host: SidecarProcess, task_id: str) -> list[str]:
    """What a host's own file has committed of a task."""
    store, stage.store = stage.store, stage.directory / f"{host.name}.db"
    try:
        return await stage.kinds(task_id)
    finally:
        stage.store = store


async def _ended(stage: Stage, host: SidecarProcess, number: int) -> bool:
    listed = await stage.rpc(host, "ListTasks", {"status": "TASK_STATE_COMPLETED"})
    return bool(listed["totalSize"] == number)


async def test_a_task_is_known_at_both_and_kept_at_the_other(stage: Stage) -> None:
    a, b = hosts = pair(stage, [stage.agent("long") for _ in range(2)])
    await stage.ready()
    at_a, at_b = stage.send(a, "steps=5 pace=0.01"), stage.send(b, "steps=5 pace=0.01")
    await asyncio.gather(at_a.ended(), at_b.ended())
    assert at_a.completed
    assert at_b.completed
    for each in hosts:
        for seen in (at_a, at_b):
            await wait_for(partial(completed, stage, each, seen.task_id))
        # A living owner tells the end before its row does, and a row that ends moves up in the list.
        await wait_for(partial(_ended, stage, each, 2))
        listed = await stage.rpc(each, "ListTasks", {"pageSize": 1})
        assert listed["totalSize"] == 2
        rest = await stage.rpc(each, "ListTasks", {"pageSize": 1, "pageToken": listed["nextPageToken"]})
        both = {task["id"] for task in (*listed["tasks"], *rest["tasks"])}
        assert both == {at_a.task_id, at_b.task_id}
        unknown = await stage.task(each, "00000000-0000-8000-8000-000000000000")
        assert unknown["error"]["code"] == -32001
    for seen in (at_a, at_b):
        first, second = [await stage.task(each, seen.task_id) for each in hosts]
        assert first == second
    assert (await _kinds(stage, b, at_a.task_id))[-1] in ("completed", "answered")
    assert await _kinds(stage, a, at_a.task_id) == []
    await verify(stage, hosts)


async def test_an_agent_dies_and_the_other_hosts_agent_goes_on(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    beside = stage.subscribe(b, direct.task_id)
    await beside.at_least(2)
    agents[0].kill()
    stage.go()
    await asyncio.gather(direct.ended(), beside.ended())
    as_if_nothing_had_happened(direct, steps(12), whole(12))
    assert beside.completed
    assert len(agents[1].journal()) == 1
    await verify(stage, hosts)


async def test_a_host_is_destroyed_and_a_client_at_the_other_one_sees_nothing_of_it(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = pair(stage, agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    beside = stage.subscribe(b, direct.task_id)
    await beside.at_least(2)
    a.kill()
    agents[0].kill()
    stage.go()
    await beside.ended()
    assert beside.completed
    assert beside.replaced == 0
    final = await stage.task(b, direct.task_id)
    assert "".join(part["text"] for part in final["artifacts"][0]["parts"]) == whole(12)
    refused = await stage.rpc(b, "SendMessage", message("steps=1"))
    assert refused["error"]["code"] == -32603
    assert any("not reached" in each for each in await stage.reasons(b))
    a.start()
    agents[0].start()
    await stage.ready()
    # The disk that was away has nothing to say against what was done meanwhile.
    assert await stage.task(a, direct.task_id) == final
    after = stage.send(a, "steps=3 pace=0.01")
    await after.ended()
    assert after.completed
    await verify(stage, [a, b])


async def test_while_the_voter_is_away_nothing_begins_and_what_runs_waits_for_it(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    first = stage.send(a, "steps=12 pace=0.01 hold=6")
    await first.at_least(5)
    b.kill()
    refused = await stage.rpc(a, "SendMessage", message("steps=1"))
    assert "error" in refused
    stage.go()
    shown = len(first.said)
    await stage.restart(b)
    await first.ended()
    as_if_nothing_had_happened(first, steps(12), whole(12))
    assert shown < 12
    assert len(agents[0].journal()) == 1
    assert agents[1].journal() == []
    await verify(stage, hosts)


async def test_one_message_at_both_hosts_is_one_task(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    for _ in range(3):
        name = str(uuid.uuid4())
        both = [stage.send(each, "steps=3 pace=0.05", messageId=name) for each in hosts]
        await asyncio.gather(*(each.ended() for each in both))
        assert both[0].task_id == both[1].task_id
        assert both[0].completed
        assert both[1].completed
    assert sum(len(each.journal()) for each in agents) == 3
    await verify(stage, [a, b])


async def test_an_answer_that_comes_to_the_other_host_reaches_the_owner(stage: Stage) -> None:
    a, b = hosts = pair(stage, [stage.agent("input") for _ in range(2)])
    await stage.ready()
    first = stage.send(a, "questions=2")
    await asked(first, 1, 2)
    second = stage.send(b, "one", taskId=first.task_id)
    await asked(second, 2, 2)
    third = stage.send(a, "two", taskId=first.task_id)
    await third.ended()
    assert third.completed
    assert third.text == "2 answers, the last was two"
    await verify(stage, hosts)


@pytest.mark.parametrize("chunk", [16, 500_000])
async def test_a_host_that_restarts_goes_on_with_its_agents_run(stage: Stage, chunk: int) -> None:
    """What it goes on from is kept at the other host, and may be more than one message carries."""
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    direct = stage.send(a, f"steps=12 pace=0.01 hold=6 chunk={chunk}")
    await direct.at_least(5)
    beside = stage.subscribe(b, direct.task_id)
    await beside.at_least(2)
    a.kill()
    await stage.restart(a)
    stage.go()
    await beside.ended()
    assert beside.completed
    assert beside.text == whole(12, chunk)
    await wait_for(partial(completed, stage, a, direct.task_id))
    assert [len(each.journal()) for each in agents] == [1, 0]
    await verify(stage, hosts)


async def test_alone_after_a_restart_a_host_says_that_it_cannot_tell_and_not_that_there_is_nothing(
    stage: Stage,
) -> None:
    a, b = hosts = pair(stage, [stage.agent("long") for _ in range(2)])
    await stage.ready()
    at_a, at_b = stage.send(a, "steps=3 pace=0.01"), stage.send(b, "steps=3 pace=0.01")
    await asyncio.gather(at_a.ended(), at_b.ended())
    await wait_for(partial(completed, stage, a, at_b.task_id))
    b.kill()
    a.kill()
    a.start()

    async def waits() -> bool:
        return any("is the only voter of what begins here" in each for each in await stage.reasons(a))

    await wait_for(waits)
    assert (await stage.task(a, at_a.task_id))["error"]["code"] == -32603
    assert (await stage.rpc(a, "ListTasks", {}))["error"]["code"] == -32603
    assert await completed(stage, a, at_b.task_id), "what the other one took in is kept here"
    await stage.restart(b)
    await stage.ready()
    assert await completed(stage, a, at_a.task_id)
    await verify(stage, hosts)


async def test_a_lost_disk_takes_along_what_the_other_host_took_in_and_nothing_more(stage: Stage) -> None:
    a, b = pair(stage, [stage.agent("long") for _ in range(2)])
    await stage.ready()
    at_a, at_b = stage.send(a, "steps=3 pace=0.01"), stage.send(b, "steps=3 pace=0.01")
    await asyncio.gather(at_a.ended(), at_b.ended())
    await wait_for(partial(completed, stage, b, at_b.task_id))
    for each in (a, b):
        each.kill()  # what a living owner knows it tells
    lose_disk(stage, b)
    for each in (a, b):
        each.start()
    await wait_for(lambda: any("has another file" in line for line in a.lines()))
    await stage.ready()
    for each in (a, b):
        lost = await stage.task(each, at_a.task_id)
        assert lost["error"]["code"] == -32603, "lost is not the same as never heard of"
        assert await completed(stage, each, at_b.task_id)
    for each in (a, b):
        after = stage.send(each, "steps=3 pace=0.01")
        await after.ended()
        assert after.completed
    await verify(stage, [a, b])


async def test_what_was_begun_and_never_reached_the_voter_is_settled_once_it_is_back(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents, journal__unacknowledged_s=2)
    await stage.ready()
    name = str(uuid.uuid4())
    b.signal(signal.SIGSTOP)  # its line lives a moment longer: the own file takes what the other one does not
    refused = await stage.rpc(a, "SendMessage", message("steps=3 pace=0.01", messageId=name))
    assert "error" in refused
    b.kill()
    await stage.restart(b)
    await stage.ready()
    again = stage.send(a, "steps=3 pace=0.01", messageId=name)
    await again.ended()
    assert again.completed
    assert sum(len(each.journal()) for each in agents) == 1
    await verify(stage, hosts)


async def test_a_host_that_stood_still_is_replaced_and_its_clients_stream_goes_on(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    # Not the stock client: it hangs up after five seconds of silence, and here its own front is silent.
    direct = stage.stream(a, "SendStreamingMessage", message("steps=12 pace=0.01 hold=6"))
    await direct.at_least(5)
    a.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    await wait_for(agents[1].journal, what="the other host takes over")
    # Its lease, and one look that met its silence: nobody waits until the line to it is given up.
    assert time.monotonic() - stopped < STILL_S + 2
    stage.go()
    await wait_for(partial(completed, stage, b, direct.task_id))
    a.signal(signal.SIGCONT)
    await direct.ended()
    as_if_nothing_had_happened(direct, steps(12), whole(12))
    await stage.ready()
    await verify(stage, hosts)


async def test_a_voter_that_stood_still_takes_nobody_for_gone(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    a, b = hosts = pair(stage, agents)
    await stage.ready()
    direct = stage.send(a, "steps=12 pace=0.01 hold=6")
    await direct.at_least(5)
    b.signal(signal.SIGSTOP)
    await asyncio.sleep(3 * STILL_S)
    b.signal(signal.SIGCONT)
    await asyncio.sleep(STILL_S)
    stage.go()
    await direct.ended()
    as_if_nothing_had_happened(direct, steps(12), whole(12))
    assert agents[1].journal() == []
    assert (await _kinds(stage, b, direct.task_id)).count("claimed") == 1
    await verify(stage, hosts)
