"""What travels beside the entries: rows for reads, message keys and what an inbox held, over a quorum."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.journal import Draft, Fence, Kind, chain, tip_of
from bridge.quorum import Append
from sidecar.records import KeyRow
from tests.contract.cluster import TASK, Candidate, Cluster
from tests.contract.journals import BODY, view_of

KEY = KeyRow("h", 0, TASK, "i", False)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = await Cluster.open(tmp_path)
    yield cluster
    await cluster.close()


def event(owner: Candidate) -> Append:
    before = len(owner.log)
    owner.log += chain(tip_of(TASK, owner.log), owner.fence, 2, [Draft(Kind.EVENT, BODY)])
    return owner.part(before)


async def until_shown(cluster: Cluster, state: str, hosts: tuple[int, ...] = (0, 1, 2)) -> None:
    async with asyncio.timeout(5):
        for host in hosts:
            while (view := await cluster.stores[host].view(TASK)) is None or view.task_state != state:
                await asyncio.sleep(0.01)


async def test_a_row_is_shown_at_every_host_and_only_once_it_is_committed(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    await until_shown(cluster, "TASK_STATE_WORKING")
    for wire in owner.wires[1:]:
        wire.hanging = True
    waiting = owner.quorum.append_soon(event(owner), view_of(TASK, task_state="later"))
    await asyncio.sleep(0.1)
    before = await cluster.stores[0].view(TASK)
    assert before is not None
    assert before.task_state == "TASK_STATE_WORKING"
    for wire in owner.wires:
        wire.hanging = False
    await waiting
    hand = owner.quorum.owned(TASK)
    assert hand is not None
    assert hand.baggage.view == view_of(TASK, task_state="later")
    await until_shown(cluster, "later")


async def test_a_row_goes_to_a_voter_once_and_the_newest_only(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa", answer_s=5)
    await owner.dispatch()
    answers = [
        owner.quorum.append_soon(event(owner), view_of(TASK, task_state=f"state {each}")) for each in range(200)
    ]
    await asyncio.gather(*answers)
    await until_shown(cluster, "state 199")
    for wire in owner.wires:
        rows = [riders.view.task_state for _, riders in wire.appends if riders.view is not None]
        assert len(rows) == len(set(rows))
        assert len(rows) < 100
        assert all(riders.view_seq <= append.committed for append, riders in wire.appends if riders.view)


async def test_a_row_whose_append_was_lost_goes_again(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    await until_shown(cluster, "TASK_STATE_WORKING")
    owner.wires[2].dead = True
    await owner.quorum.append(event(owner), view_of(TASK, task_state="later"))
    await until_shown(cluster, "later", (0, 1))
    await asyncio.sleep(0.05)
    owner.wires[2].dead = False
    owner.quorum.contact(cluster.names[2])
    await until_shown(cluster, "later")


async def test_message_keys_are_known_wherever_their_entries_are(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    owner.wires[2].dead = True
    owner.fence = Fence(1, "aa")
    await owner.dispatch()
    await owner.quorum.append(event(owner), None, [KEY])
    await asyncio.gather(*(owner.write() for _ in range(5)))
    assert [await cluster.stores[host].keys("h") for host in range(2)] == [[KEY], [KEY]]
    owner.wires[2].dead = False
    owner.quorum.contact(cluster.names[2])
    await cluster.agree(8)
    assert await cluster.stores[2].keys("h") == [KEY]
    hand = owner.quorum.owned(TASK)
    assert hand is not None
    assert not hand.baggage.keys_left, "everybody has them"


async def test_what_an_inbox_held_leaves_it_once_its_entries_are_committed_and_at_its_own_host_only(
    cluster: Cluster,
) -> None:
    for store in cluster.stores[:2]:
        await store.inbox_put(TASK, "input", b"{}")
    (row,) = await cluster.stores[0].inbox_take(TASK)
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    for wire in owner.wires[1:]:
        wire.hanging = True
    waiting = owner.quorum.append_soon(event(owner), None, (), [row.id])
    await asyncio.sleep(0.1)
    assert len(await cluster.stores[0].inbox_take(TASK)) == 1
    for wire in owner.wires[1:]:
        wire.hanging = False
    await waiting
    async with asyncio.timeout(5):
        while await cluster.stores[0].inbox_take(TASK):
            await asyncio.sleep(0.01)
    assert len(await cluster.stores[1].inbox_take(TASK)) == 1


async def test_an_inbox_of_a_host_that_is_no_voter_is_told_what_is_committed(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    told: list[int] = []
    owner.circle.own, owner.circle.taken_in = "", told.extend
    await owner.dispatch()
    await owner.quorum.append(event(owner), None, (), [7, 8])
    await owner.quorum.append(event(owner), None, (), [9])
    assert told == [7, 8, 9]
