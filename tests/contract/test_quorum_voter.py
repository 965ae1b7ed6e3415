"""Three files as one voter: what a majority has is committed, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.errors import InvariantViolation
from bridge.journal import Draft, Fence, Kind, tip_of, verify
from bridge.quorum import Appended, Claim, Granted, Refusal, Refused
from sidecar.errors import StoreError
from sidecar.peers.standing import FENCED_MS
from sidecar.store.hosttime import now_ms
from tests.contract.cluster import TASK, Alive, Cluster
from tests.contract.journals import BODY


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = await Cluster.open(tmp_path)
    yield cluster
    await cluster.close()


async def test_a_dispatch_is_answered_once_a_majority_has_it_and_every_host_hears_of_it(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    answer = await owner.dispatch(Draft(Kind.EVENT, BODY))
    assert answer == Appended(Fence(1, "aa"), 3, owner.log[-1].hash)
    journal = await cluster.agree(3)
    assert journal == owner.log
    assert verify(TASK, journal).seq == 3


async def test_what_is_written_is_committed_by_two_of_three_and_read_everywhere(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    owner.wires[2].dead = True
    assert isinstance(await owner.dispatch(), Appended)
    answers = await asyncio.gather(*(owner.write() for _ in range(20)))
    assert all(isinstance(answer, Appended) for answer in answers)
    assert await owner.quorum.read(TASK, 0, 100) == owner.log
    assert len(await cluster.journal(2)) == 0
    owner.wires[2].dead = False
    owner.quorum.contact(cluster.names[2])
    assert await cluster.agree(22) == owner.log


async def test_one_of_three_commits_nothing_and_what_waited_goes_on_when_another_is_back(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    await cluster.agree(2)
    for wire in owner.wires[1:]:
        wire.dead = True
    with pytest.raises(StoreError):
        await owner.write()
    assert len(await cluster.journal(0)) == 2
    assert await owner.quorum.read(TASK, 0, 100) == owner.log[:2]
    owner.wires[1].dead = False
    again = owner.quorum.append_soon(owner.part(2, 3))
    assert await again == Appended(owner.fence, 3, owner.log[2].hash)
    owner.wires[2].dead = False
    owner.quorum.contact(cluster.names[2])
    assert await cluster.agree(3) == owner.log


async def test_nobody_owns_what_one_of_three_would_grant(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    for wire in owner.wires[1:]:
        wire.dead = True
    with pytest.raises(StoreError):
        await owner.dispatch()
    with pytest.raises(StoreError):
        await owner.claim(2)
    assert owner.quorum.hands == {}


async def test_a_claim_adopts_what_a_majority_may_have_and_fences_the_one_before(cluster: Cluster) -> None:
    first, second = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    await first.dispatch()
    first.wires[1].dead = first.wires[2].dead = True
    late = first.write()
    await asyncio.sleep(0.05)
    assert not late.done()
    # The entry of which nobody knows whether it is committed stands on the first host alone.
    second.wires[2].dead = True
    granted = await second.claim(2)
    assert isinstance(granted, Granted)
    assert second.log == first.log
    assert isinstance(await second.write(Kind.CLAIMED), Appended)
    first.wires[1].dead = False
    for refused in await asyncio.gather(first.write(), late):
        assert isinstance(refused, Refused)
        assert (refused.reason, refused.promised) == (Refusal.FENCED, Fence(2, "bb"))
    assert isinstance(await first.write(), Refused)
    second.wires[2].dead = False
    second.quorum.contact(cluster.names[2])
    assert await cluster.agree(4) == second.log


async def test_nothing_is_read_as_committed_before_the_claim_is(cluster: Cluster) -> None:
    first, second = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    await first.dispatch(Draft(Kind.EVENT, BODY))
    granted = await second.claim(2)
    assert isinstance(granted, Granted)
    assert granted.tip.seq == 3
    hand = second.quorum.hands[TASK]
    assert (hand.committed, hand.owner, second.quorum.owned(TASK)) == (0, False, None)
    await second.write(Kind.CLAIMED)
    assert second.quorum.owned(TASK) is hand
    assert hand.committed == 4


async def test_a_living_owner_is_not_disturbed_by_a_candidate(cluster: Cluster) -> None:
    first, second = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    await first.dispatch()
    for said in cluster.said:
        said.living.add("aa")
    refused = await second.claim(2)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.HELD
    assert "claim" not in second.wires[0].asked
    assert isinstance(await first.write(), Appended)


async def test_a_fenced_owner_that_is_not_fresh_is_to_claim_anew_although_it_has_nothing_to_write(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    await cluster.agree(2)
    hand = owner.quorum.hands[TASK]
    assert isinstance(await owner.wires[2].claim(Claim(TASK, Fence(2, "bb"), "bb")), Granted)
    tip, start = tip_of(TASK, owner.log), now_ms()
    hand.standing.answered(cluster.names[2], start, Refused(Refusal.FENCED, Fence(2, "bb"), tip, 2))
    for fresh, lives, hopeless in ((True, True, False), (False, False, False), (False, True, True)):
        monkeypatch.setattr(Alive, "may_act", lambda *_, fresh=fresh: fresh)
        monkeypatch.setattr(Alive, "may_write", lambda *_, lives=lives: lives)
        start += FENCED_MS + 1
        monkeypatch.setattr(hand._circle, "now_ms", lambda start=start: start)
        assert hand.hopeless() == hopeless
    assert owner.quorum.step_back() == [TASK]
    assert isinstance(await owner.claim(3), Granted), "above what was promised"


async def test_a_living_holder_whose_fence_is_over_keeps_nobody_off(cluster: Cluster) -> None:
    first, second, third = (cluster.sidecar(f"s{each}", each) for each in range(3))
    await first.dispatch()
    await cluster.agree(2)
    # The second one's claim is on its own host alone, the first one's entries are on all: each lives.
    assert isinstance(await second.claim(2), Granted)
    second.wires[0].dead = second.wires[2].dead = True
    with pytest.raises(StoreError):
        await second.write(Kind.CLAIMED)
    for said in cluster.said:
        said.living.update(("s0", "s1"))
    await asyncio.sleep(0.5)  # its grant has run out
    refused = await third.claim(3)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.HELD
    claim = Claim(TASK, Fence(4, "s2"), "s2", seen=Fence(2, "s1"))
    refused = await third.quorum.claim(claim)
    assert isinstance(refused, Refused | Granted)
    assert third.wires[0].asked["claim"] == 1, "two of three would grant it"


async def test_a_repeated_dispatch_is_answered_again_and_anothers_is_refused(cluster: Cluster) -> None:
    first, second = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    one = await first.dispatch()
    again = await first.quorum.dispatch(first.part(0), None)  # type: ignore[arg-type]
    assert again == one
    two = await second.dispatch()
    assert isinstance(two, Refused)
    assert (two.reason, two.tip.seq) == (Refusal.FENCED, 2)
    three = await second.dispatch(n=2)
    assert isinstance(three, Refused)
    assert three.tip.seq == 2
    assert isinstance(await first.write(), Appended), "who dispatches does not disturb who owns"


async def test_a_session_never_claims_one_fence_twice(cluster: Cluster) -> None:
    first = cluster.sidecar("aa")
    await first.dispatch()
    refused = await first.claim(1)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.promised) == (Refusal.FENCED, Fence(1, "aa"))
    assert isinstance(await first.claim(2), Granted)
    await first.write(Kind.CLAIMED)
    assert isinstance(await first.claim(2), Refused)


async def test_an_append_that_was_not_answered_may_be_offered_again_and_is_written_once(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    first = owner.write(count=2)
    same = owner.quorum.append_soon(owner.part(2))
    longer = owner.quorum.append_soon(owner.part(2))
    assert await first == await same == await longer
    once_more = await owner.quorum.append(owner.part(2))
    assert once_more == await first
    assert await cluster.agree(4) == owner.log


async def test_what_does_not_continue_the_journal_is_a_gap_and_changes_nothing(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    await owner.write(count=3)
    right = list(owner.log)
    ahead = owner.part(5)
    owner.log = owner.log[:2]
    owner.write(body=b'{"another":3}')
    other, behind = owner.part(2), owner.part(3)
    owner.log = right
    for append in (replace(ahead, after_seq=9), other, behind):
        refused = await owner.quorum.append(append)
        assert isinstance(refused, Refused)
        assert refused.reason is Refusal.GAP
    assert isinstance(await owner.write(), Appended)
    assert await cluster.agree(6) == owner.log


async def test_who_owns_nothing_writes_nothing(cluster: Cluster) -> None:
    owner, stranger = cluster.sidecar("aa"), cluster.sidecar("bb", 1)
    await owner.dispatch()
    stranger.log, stranger.fence = list(owner.log), Fence(1, "bb")
    refused = await stranger.write()
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.FENCED
    assert await cluster.agree(2) == owner.log


async def test_what_the_rules_exclude_is_an_error_and_is_not_written(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    right = list(owner.log)
    with pytest.raises(InvariantViolation):
        await owner.write(Kind.CLAIMED)
    owner.log = right
    assert isinstance(await owner.write(), Appended)


async def test_nobody_waits_for_a_voter_that_closes(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    for wire in owner.wires:
        wire.hanging = True
    waiting = owner.write()
    await asyncio.sleep(0)
    owner.quorum.close()
    with pytest.raises(StoreError):
        await waiting
    with pytest.raises(StoreError):
        await owner.claim(2)


async def test_what_has_ended_is_forgotten_once_everybody_knows(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    owner.circle.linger_s = 0.05
    await owner.dispatch()
    owner.wires[2].dead = True
    await owner.write(Kind.COMPLETED)
    await asyncio.sleep(0.2)
    assert owner.quorum.owned(TASK) is not None, "a voter does not have its end"
    owner.wires[2].dead = False
    owner.quorum.contact(cluster.names[2])
    assert isinstance(await owner.write(Kind.ANSWERED, body=b"{}"), Appended)
    await until(lambda: not owner.quorum.hands)
    assert await cluster.agree(4) == owner.log
    refused = await owner.write(Kind.ANSWERED, body=b"{}")
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.FENCED


async def test_what_rests_costs_nothing_and_is_claimed_anew_by_its_own_session(cluster: Cluster) -> None:
    owner = cluster.sidecar("aa")
    await owner.dispatch()
    writing = owner.write()
    owner.quorum.let_go(TASK)
    assert isinstance(await writing, Appended)
    await until(lambda: not owner.quorum.hands)
    for said in cluster.said:
        said.living.add("aa")
    assert isinstance(await owner.claim(2), Granted)
    assert isinstance(await owner.write(Kind.CLAIMED), Appended)
    owner.quorum.let_go(TASK)
    more = owner.write()
    assert isinstance(await more, Appended)
    await asyncio.sleep(0.05)
    assert owner.quorum.owned(TASK) is not None, "somebody writes again"
    assert await cluster.agree(5) == owner.log


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.01)
