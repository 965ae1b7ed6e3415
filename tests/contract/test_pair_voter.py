"""A store as the only voter of what the other host of a pair dispatches, and its part in what its host does."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.journal import Draft, Entry, Fence, Kind
from bridge.jsontext import write
from bridge.quorum import Append, Appended, Claim, Granted
from sidecar.store import LocalVoter, Store, elsewhere
from tests.contract.journals import events
from tests.contract.peering import FIRST, Said, begun, grown, part

OTHER = "another-voter"


def named(voters: Sequence[str], count: int = 2) -> list[Entry]:
    """A journal whose ``dispatched`` names its voters."""
    body = write({"task": "t", "voters": [*voters]})
    begins = [Draft(Kind.DISPATCHED, body), Draft(Kind.CLAIMED, b'{"owner":"a"}')]
    return grown("t", [], FIRST, [*begins, *events(count)])


async def committed(store: Store) -> int:
    row = await store.reads.handoff_row("t")
    return row.voter.committed if row is not None else -1


async def test_the_only_voter_commits_what_it_takes(peer_store: Store, local_voter: LocalVoter) -> None:
    log = named([local_voter.voter])
    answer = await local_voter.append_soon(part("t", log, 0, FIRST, 0, until=2))
    assert isinstance(answer, Appended)
    assert answer.committed == 2, "nobody else has to tell it"
    assert await committed(peer_store) == 2
    await local_voter.append_soon(part("t", log, 2, FIRST, 0))
    assert await peer_store.reads.entries("t") == log
    taken = await local_voter.claim(Claim("t", Fence(2, "bb"), "bb"))
    assert isinstance(taken, Granted)
    assert taken.committed == len(log), "whoever takes over has all that anybody can have been shown"


async def test_it_is_the_only_one_in_its_next_life_too(url: str, said: Said) -> None:
    store = await Store.open(url, alone=False)
    log = named([store.voter_id], 3)
    await store.local_voter(said, listed=False).append_soon(part("t", log, 0, FIRST, 0, until=3))
    await store.close()
    store = await Store.open(url, alone=False)
    answer = await store.local_voter(said, listed=False).append_soon(part("t", log, 3, FIRST, 3))
    assert isinstance(answer, Appended)
    assert await committed(store) == len(log)
    await store.close()


async def test_whose_dispatch_names_another_commits_nothing_by_itself(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    await begun(local_voter, named([OTHER]), 0)
    assert await committed(peer_store) == 0
    await begun(local_voter, named([OTHER]), 0)
    assert await committed(peer_store) == 0


async def test_a_first_entry_that_takes_anothers_place_names_anew(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    await begun(local_voter, named([OTHER]), 0)
    mine = grown("t", [], Fence(2, "bb"), [Draft(Kind.DISPATCHED, write({"voters": [local_voter.voter]}))])
    assert isinstance(
        await local_voter.append_soon(Append("t", Fence(2, "bb"), 0, mine[0].prev, mine, 0)), Appended
    )
    assert await committed(peer_store) == 1


async def test_a_change_of_voters_ends_its_being_the_only_one(peer_store: Store, local_voter: LocalVoter) -> None:
    log = named([local_voter.voter], 0)
    await begun(local_voter, log, 0)
    change = Draft(Kind.VOTERS, write({"voters": [OTHER]}))
    log = grown("t", log, FIRST, [change, *events(1)])
    await local_voter.append_soon(part("t", log, 2, FIRST, 2))
    assert await committed(peer_store) == 2, "both sets have to have it"


async def test_a_sweep_passes_by_what_is_kept_elsewhere(url: str, said: Said) -> None:
    store = await Store.open(url, alone=False)
    await begun(store.local_voter(said, listed=False), named([OTHER]), 0)
    assert [row.task for row in await store.handoffs_at_work()] == ["t"]
    await elsewhere.mark(store.writer, ["t", "never heard of"])
    assert await store.handoffs_at_work() == []
    await store.close()
    store = await Store.open(url, alone=False)
    voter = store.local_voter(said, listed=False)
    assert await store.handoffs_at_work() == []
    assert isinstance(await voter.claim(Claim("t", Fence(2, "bb"), "bb")), Granted)
    assert await store.handoffs_at_work() == [], "what it promises does not bring it back"
    assert await store.reads.handoff_row("never heard of") is None
    await store.close()
