"""A store as one voter among several: what it promises, stores and refuses."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Draft, Fence, Kind, genesis, tip_of
from bridge.jsontext import write
from bridge.placement import MEMBERS, chosen
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from bridge.session import Renewal
from bridge.tombstone import Tombstone, tombstone_in
from sidecar.records import SessionCard
from sidecar.store import LocalVoter, Store
from tests.contract.journals import events
from tests.contract.peering import BEGIN, Said, begun, grown, journal, part

A, B = Fence(1, "aa"), Fence(2, "bb")


async def test_a_pre_vote_answers_as_the_claim_would_and_changes_nothing(
    local_voter: LocalVoter, said: Said
) -> None:
    log = journal(1)
    await begun(local_voter, log, 3)
    assert await local_voter.pre_vote(Claim("t", B, "bb")) == Granted(tip_of("t", log), 3)
    said.living.add("aa")
    held = await local_voter.pre_vote(Claim("t", B, "bb"))
    assert isinstance(held, Refused)
    assert held.reason is Refusal.HELD
    said.living.clear()
    assert isinstance(await local_voter.append_soon(part("t", log, 3, A, 3)), Appended)  # its owner is not fenced
    assert await local_voter.claim(Claim("t", B, "bb")) == Granted(tip_of("t", log), 3)
    fenced = await local_voter.pre_vote(Claim("t", Fence(2, "dd"), "dd"))
    assert isinstance(fenced, Refused)
    assert fenced.reason is Refusal.FENCED
    late = await local_voter.append_soon(part("t", log, 3, A, 3))
    assert isinstance(late, Refused)
    assert (late.reason, late.promised) == (Refusal.FENCED, B)


async def test_its_own_holder_may_claim_anew(local_voter: LocalVoter, said: Said) -> None:
    await begun(local_voter, journal(1), 3)
    said.living.add("aa")
    assert isinstance(await local_voter.claim(Claim("t", Fence(2, "aa"), "aa")), Granted)


async def test_who_gave_up_stands_in_nobodys_way_before_that_is_committed(
    local_voter: LocalVoter, said: Said
) -> None:
    said.living.add("aa")
    await begun(local_voter, grown("t", journal(1), A, [Draft(Kind.ORPHANED, b"{}")]), 3)
    assert isinstance(await local_voter.pre_vote(Claim("t", B, "bb")), Granted)


async def test_who_means_another_voter_is_refused_and_changes_nothing(
    peer_store: Store, local_voter: LocalVoter, said: Said
) -> None:
    log = journal(1)
    answers = await asyncio.gather(
        local_voter.pre_vote(Claim("t", A, "aa"), asked="another"),
        local_voter.claim(Claim("t", A, "aa"), asked="another"),
        local_voter.append_soon(part("t", log, 0, A, 0), asked="another"),
    )
    assert [answer.reason for answer in answers if isinstance(answer, Refused)] == [Refusal.UNKNOWN_VOTER] * 3
    assert await peer_store.handoff_row("t") is None
    await begun(local_voter, log, 0)
    assert await local_voter.read_prefix("t", tip_of("t", log), 0, asked="another") is None
    assert await local_voter.read_prefix("t", tip_of("t", log), 0, asked=local_voter.voter) == tuple(log)
    card = SessionCard("a", "aa", 1)
    assert not await local_voter.renew(Renewal("a", 1, "aa"), card, asked="another")
    assert await local_voter.renew(Renewal("a", 1, "aa"), card, asked=local_voter.voter)
    assert await local_voter.renew(Renewal("a", 1, "aa"), card)
    await local_voter.release(Renewal("a", 1, "aa"))
    assert said.releases == [Renewal("a", 1, "aa")]
    assert said.renewals == [(Renewal("a", 1, "aa"), card)] * 3


@pytest.mark.parametrize("what", ["body", "header", "link"])
async def test_a_peers_entries_that_are_not_what_was_hashed_are_not_stored(
    peer_store: Store, local_voter: LocalVoter, what: str
) -> None:
    log = journal(3)
    bent = {
        "body": log[3]._replace(body=b'{"bent":1}'),
        "header": log[3]._replace(at=77),
        "link": log[3]._replace(prev="0" * 64),
    }
    append = Append("t", A, 0, genesis("t").hash, (*log[:3], bent[what], log[4]), 0)
    with pytest.raises(BrokenChain):
        await local_voter.append_soon(append, asked=local_voter.voter)
    assert await peer_store.handoff_row("t") is None


async def test_a_difference_below_what_is_committed_halts_the_voter(local_voter: LocalVoter) -> None:
    await begun(local_voter, journal(2), 4)
    other = grown("t", journal(1), B, events(1))
    bent = grown("t", other[:2], B, events(2, body=b'{"other":1}'))
    with pytest.raises(InvariantViolation):
        await local_voter.append_soon(part("t", bent, 2, B, 0))


async def test_a_dispatch_by_another_member_list_is_refused_and_one_by_this_list_is_taken(
    peer_store: Store, said: Said
) -> None:
    voter = peer_store.local_voter(said)
    members = ["v1", "v2", "v3", "v4"]
    body = write({"task": MEMBERS, "voters": members})
    formed = grown(MEMBERS, [], A, [Draft(Kind.DISPATCHED, body), Draft(Kind.CLAIMED, b'{"owner":"x"}')])
    right = {"task": "t", "voters": [*chosen("t", members)], "list": 1}

    async def dispatched(body: object) -> Appended | Refused:
        log = grown("t", [], A, [Draft(Kind.DISPATCHED, write(body)), *BEGIN[1:]])
        return await voter.append_soon(part("t", log, 0, A, 0))

    for _ in range(2):
        refused = await dispatched(right)  # no list is held, or none that is known to be committed
        assert isinstance(refused, Refused)
        assert refused.reason is Refusal.MISPLACED
        await voter.append_soon(part(MEMBERS, formed, 0, A, 0))
    await voter.append_soon(part(MEMBERS, formed, 2, A, 2))
    refused = await dispatched({**right, "list": 2})
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.MISPLACED
    assert isinstance(await dispatched(right), Appended)


async def test_after_it_was_opened_again_it_has_promises_entries_and_what_it_knows(url: str, said: Said) -> None:
    store = await Store.open(url, alone=False)
    log = journal(3)
    voter = store.local_voter(said, listed=False)
    await begun(voter, log, 4)
    await voter.claim(Claim("t", B, "bb"))
    await store.close()
    store = await Store.open(url, alone=False)
    again = store.local_voter(said, listed=False)
    assert again.voter == voter.voter
    refused = await again.append_soon(part("t", log, 5, A, 5))
    assert isinstance(refused, Refused)
    assert (refused.promised, refused.tip, refused.committed) == (B, tip_of("t", log), 4)
    await store.close()


async def test_a_purged_handoff_refuses_everything_with_what_its_tombstone_says(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    log = grown("t", journal(1), A, [Draft(Kind.COMPLETED, b"{}")])
    await begun(local_voter, log, 4)
    connection = sqlite3.connect(peer_store.path)
    connection.execute("UPDATE handoffs SET purged = 1")
    connection.execute("DELETE FROM entries")
    connection.commit()
    connection.close()
    answers = (
        await local_voter.pre_vote(Claim("t", B, "bb")),
        await local_voter.claim(Claim("t", B, "bb")),
        await local_voter.append_soon(part("t", log, 0, B, 0)),
    )
    stone = Tombstone("t", tip_of("t", log))
    assert [tombstone_in("t", each) for each in answers if isinstance(each, Refused)] == [stone] * 3
    assert await local_voter.read_prefix("t", stone.tip, 0) is None
    assert await peer_store.open_handoffs() == []
