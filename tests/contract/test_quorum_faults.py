"""What a quorum does while answers are lost, late and out of order, and while voters are away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.journal import Kind, verify
from bridge.quorum import Appended, Refused
from sidecar.errors import StoreError
from sidecar.peers.ways import WINDOW_APPENDS
from tests.contract.cluster import TASK, Candidate, Cluster


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = await Cluster.open(tmp_path)
    yield cluster
    await cluster.close()


async def all_of(answers: list[asyncio.Future[Appended | Refused]]) -> list[Appended | Refused]:
    return await asyncio.gather(*answers)


async def test_answers_that_overtake_each_other_lose_nothing(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    for wire in owner.wires:
        wire.delay_s = (0.0, 0.02)
    answers = await all_of([owner.write(count=3) for _ in range(100)])
    assert all(isinstance(answer, Appended) for answer in answers)
    assert verify(TASK, await cluster.agree(302)).seq == 302


async def test_requests_and_answers_that_are_lost_are_sent_again(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa", answer_s=5)
    await owner.dispatch()
    for wire in owner.wires:
        wire.loss = 150
    for _ in range(40):
        answers = await all_of([owner.write() for _ in range(5)])
        assert all(isinstance(answer, Appended) for answer in answers)
    for wire in owner.wires:
        wire.loss = 0
    assert await cluster.agree(202) == owner.log


async def test_a_voter_that_never_answers_delays_nothing_and_costs_no_memory(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa", answer_s=5)
    await owner.dispatch()
    await cluster.agree(2)
    owner.wires[2].hanging = True
    sent = len(owner.wires[2].appends)
    answers = await all_of([owner.write() for _ in range(3_000)])
    assert all(isinstance(answer, Appended) for answer in answers)
    assert len(owner.wires[2].appends) - sent <= WINDOW_APPENDS
    owner.wires[2].hanging = False
    assert await cluster.agree(3_002) == owner.log
    chunks = [append for append, _ in owner.wires[2].appends if len(append.entries) > 1]
    assert max(len(append.entries) for append in chunks) <= 512
    assert sum(len(append.entries) for append in chunks) <= 3_000, "nothing was sent twice"


async def test_a_voter_that_was_away_is_caught_up_in_bounded_chunks_while_others_go_on(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa", answer_s=5)
    await owner.dispatch()
    owner.wires[1].dead = True
    await all_of([owner.write(count=10) for _ in range(200)])
    owner.wires[1].dead = False
    owner.quorum.contact(cluster.names[1])
    while len(owner.log) < 2_500:
        assert isinstance(await owner.write(count=50), Appended)
    assert await cluster.agree(len(owner.log)) == owner.log
    assert max(len(append.entries) for append, _ in owner.wires[1].appends) <= 512


async def test_ten_that_want_it_at_once_have_exactly_one_winner_each_time(cluster: Cluster) -> None:
    first = cluster.sidecar("s0")
    await first.dispatch()
    for round_ in range(5):
        rivals = [cluster.sidecar(f"r{round_}{each}", each % 3) for each in range(10)]

        async def stand(rival: Candidate, n: int) -> bool:
            granted = await rival.claim(n)
            return not isinstance(granted, Refused) and isinstance(await rival.write(Kind.CLAIMED), Appended)

        n = 2 + round_ * 20
        async with asyncio.timeout(5):
            while True:
                owns = await asyncio.gather(*(stand(rival, n) for rival in rivals), return_exceptions=True)
                if any(won is True for won in owns):
                    break
                n += 1
        assert sum(won is True for won in owns) == 1
        winner = rivals[owns.index(True)]
        assert winner.quorum.owned(TASK) is not None
        assert all(rival.quorum.owned(TASK) is None for rival in rivals if rival is not winner)
        assert await cluster.agree(len(winner.log)) == winner.log


async def test_of_three_that_dispatch_one_message_at_most_one_begins_it(cluster: Cluster) -> None:
    rivals = [cluster.sidecar(f"s{each}", each) for each in range(3)]
    answers = await asyncio.gather(*(rival.dispatch() for rival in rivals))
    begun = [answer for answer in answers if isinstance(answer, Appended)]
    assert len(begun) <= 1
    for rival in rivals if not begun else ():
        for n in range(2, 9):
            answer = await rival.dispatch(n=n)
            if isinstance(answer, Appended):
                begun.append(answer)
                break
    assert len(begun) == 1
    await cluster.agree(2)


async def test_a_voter_that_dies_while_its_journal_is_read_is_replaced_by_another(cluster: Cluster) -> None:
    first, second = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    await first.dispatch()
    await all_of([first.write(count=100) for _ in range(20)])
    await cluster.agree(2_002)
    read = second.wires[0].read_prefix

    async def dies(*asked: object) -> None:
        second.wires[0].dead = True
        await read(*asked)  # type: ignore[arg-type]

    second.wires[0].read_prefix = dies  # type: ignore[assignment, method-assign]
    await second.claim(2)
    assert second.log == first.log
    assert isinstance(await second.write(Kind.CLAIMED), Appended)


async def live(owner: Candidate, acknowledged: dict[int, str], *, first: bool) -> None:
    """Take the handoff, write until it is lost or the quorum is, and note what was acknowledged."""
    if not first:
        await owner.take()
    for _ in range(15):
        before = len(owner.log)
        try:
            if not isinstance(await owner.write(count=2), Appended):
                return
        except StoreError:
            return
        for entry in owner.log[before : before + 2]:
            assert acknowledged.setdefault(entry.seq, entry.hash) == entry.hash


async def test_acknowledged_entries_survive_owners_that_come_and_go_in_a_bad_network(cluster: Cluster) -> None:
    owners = [cluster.sidecar(f"s{each}", each % 3, answer_s=1) for each in range(6)]
    await owners[0].dispatch()
    for owner in owners:
        for wire in owner.wires:
            wire.loss, wire.delay_s = 60, (0.0, 0.004)
    acknowledged: dict[int, str] = {}
    async with asyncio.timeout(60):
        await asyncio.gather(*(live(owner, acknowledged, first=owner is owners[0]) for owner in owners))
    for owner in owners:
        for wire in owner.wires:
            wire.loss, wire.delay_s = 0, (0.0, 0.0)
    last = cluster.sidecar("last")
    await last.take()
    journal = await cluster.agree(len(last.log))
    assert verify(TASK, journal).seq == len(journal)
    assert len(acknowledged) > 10
    assert all(journal[seq - 1].hash == digest for seq, digest in acknowledged.items())
