"""What every voter must answer, in memory and on disk."""

from __future__ import annotations

import asyncio

import pytest

from bridge.errors import InvariantViolation
from bridge.journal import Draft, Fence, Kind, genesis, verify
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from sidecar.ports import Voter
from tests.contract.journals import after, at, beginning, events, following, view_of

A, B = Fence(1, "aa"), Fence(2, "bb")


async def begun(voter: Voter, by: Fence = A) -> Append:
    first = beginning("t", by, events(3))
    assert isinstance(await voter.append(first), Appended)
    return first


async def test_an_unknown_handoff_is_an_empty_journal(voter: Voter) -> None:
    assert await voter.read("t") == []
    granted = await voter.claim(Claim("t", A, "aa"))
    assert granted == Granted(genesis("t"), 0)


async def test_an_append_is_acknowledged_by_position_and_hash_and_read_back_byte_for_byte(voter: Voter) -> None:
    odd = Draft(Kind.EVENT, '{"text":"käse 𝄞 \\u0000 \\ud83d \\"","n":12345678901234567890123}'.encode())
    first = beginning("t", A, [odd])
    answer = await voter.append(first)
    assert answer == Appended(A, 3, first.entries[-1].hash)
    stored = await voter.read("t")
    assert stored == first.entries
    assert verify("t", stored).seq == 3


async def test_reads_are_pages(voter: Voter) -> None:
    first = await begun(voter)
    assert await voter.read("t", 1, 2) == first.entries[1:3]
    assert await voter.read("t", 5) == []


async def test_a_claim_and_an_append_issued_back_to_back_are_answered_in_order(voter: Voter) -> None:
    first = beginning("t", A)
    granted, appended = await asyncio.gather(voter.claim(Claim("t", A, "aa")), voter.append(first))
    assert isinstance(granted, Granted)
    assert isinstance(appended, Appended)


async def test_after_a_claim_the_older_owner_is_fenced_and_nothing_of_it_is_stored(voter: Voter) -> None:
    first = await begun(voter)
    assert isinstance(await voter.claim(Claim("t", B, "bb")), Granted)
    late = await voter.append(following(first, A, events(1)))
    assert isinstance(late, Refused)
    assert (late.reason, late.promised) == (Refusal.FENCED, B)
    assert len(await voter.read("t")) == 5


async def test_a_claim_reports_the_tip_that_the_new_owner_adopts(voter: Voter) -> None:
    first = await begun(voter)
    assert await voter.claim(Claim("t", B, "bb")) == Granted(after(first), 5)


@pytest.mark.parametrize("n", [0, 1])
async def test_a_fence_that_is_not_newer_is_refused_and_changes_nothing(voter: Voter, n: int) -> None:
    first = await begun(voter)
    refused = await voter.claim(Claim("t", Fence(n, "zz"), "zz"))
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.FENCED
    assert isinstance(await voter.append(following(first, A, events(1))), Appended)


async def test_a_living_holder_blocks_a_claim_until_it_is_gone(voter: Voter, alive: set[str]) -> None:
    await begun(voter)
    alive.add("aa")
    refused = await voter.claim(Claim("t", B, "bb"))
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.HELD
    alive.clear()
    assert isinstance(await voter.claim(Claim("t", B, "bb")), Granted)


async def test_a_living_holder_that_orphaned_the_handoff_does_not_block(voter: Voter, alive: set[str]) -> None:
    first = await begun(voter)
    alive.add("aa")
    assert isinstance(await voter.append(following(first, A, events(1, Kind.ORPHANED, b"{}"))), Appended)
    assert isinstance(await voter.claim(Claim("t", B, "bb")), Granted)


async def test_its_holder_may_claim_anew(voter: Voter, alive: set[str]) -> None:
    await begun(voter)
    alive.add("aa")
    assert isinstance(await voter.claim(Claim("t", Fence(2, "aa"), "aa")), Granted)


async def test_a_grant_keeps_another_candidate_away_for_a_while(voter: Voter) -> None:
    await begun(voter)
    assert isinstance(await voter.claim(Claim("t", B, "bb")), Granted)
    refused = await voter.claim(Claim("t", Fence(3, "cc"), "cc"))
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.GRANTED_ELSEWHERE


async def test_an_append_offered_again_is_acknowledged_again_and_stored_once(voter: Voter) -> None:
    first = await begun(voter)
    assert await voter.append(first) == Appended(A, 5, first.entries[-1].hash)
    assert await voter.read("t") == first.entries


async def test_a_gap_is_refused(voter: Voter) -> None:
    first = await begun(voter)
    ahead = following(following(first, A, events(1)), A, events(1))
    refused = await voter.append(ahead)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.GAP


async def test_pipelined_appends_are_stored_in_order(voter: Voter) -> None:
    first = beginning("t", A)
    appends, tip = [first], after(first)
    for _ in range(50):
        appends.append(at("t", tip, A, events(7)))
        tip = after(appends[-1])
    answers = await asyncio.gather(*(voter.append(append) for append in appends))
    assert all(isinstance(answer, Appended) for answer in answers)
    assert verify("t", await voter.read("t")) == tip


async def test_a_repeated_dispatch_is_answered_again_and_anothers_is_refused(voter: Voter) -> None:
    mine, other = beginning("t", A), beginning("t", Fence(1, "zz"))
    one, two, again = await asyncio.gather(
        voter.dispatch(mine, view_of("t")), voter.dispatch(other, view_of("t")), voter.dispatch(mine, view_of("t"))
    )
    assert isinstance(one, Appended)
    assert isinstance(two, Refused)
    assert again == one
    assert await voter.read("t") == mine.entries


async def test_a_difference_in_committed_entries_halts_the_voter(voter: Voter) -> None:
    await begun(voter)
    with pytest.raises(InvariantViolation):
        await voter.append(beginning("t", A, events(3, body=b'{"other":1}')))
    assert verify("t", await voter.read("t")).seq == 5
