"""A voter among several shows what is committed: entries, rows for reads, the inbox, followers."""

from __future__ import annotations

from bridge.journal import Draft, Fence, Kind
from bridge.quorum import Appended
from sidecar.records import KeyRow, Riders
from sidecar.store import LocalVoter, Store
from tests.contract.journals import events, view_of
from tests.contract.peering import begun, grown, journal, part

A, B = Fence(1, "aa"), Fence(2, "bb")


async def test_what_it_stores_is_shown_only_up_to_what_the_owner_says_is_committed(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    log = journal(3)
    answer = await local_voter.append_soon(part("t", log, 0, A, 0))
    assert isinstance(answer, Appended)
    assert (answer.seq, answer.hash, answer.committed) == (5, log[-1].hash, 0)
    assert await peer_store.entries("t") == []
    told = await local_voter.append_soon(part("t", log, 5, A, 4))
    assert isinstance(told, Appended)
    assert told.committed == 4
    assert await peer_store.entries("t") == log[:4]
    row = await peer_store.handoff_row("t")
    assert row is not None
    assert (row.voter.committed, row.voter.tip.seq) == (4, 5)


async def test_an_end_counts_once_it_is_committed(peer_store: Store, local_voter: LocalVoter) -> None:
    log = grown("t", journal(0), A, [Draft(Kind.COMPLETED, b"{}")])
    await begun(local_voter, log, 2)
    row = await peer_store.handoff_row("t")
    assert row is not None
    assert not row.terminal
    await local_voter.append_soon(part("t", log, 3, A, 3))
    row = await peer_store.handoff_row("t")
    assert row is not None
    assert row.terminal


async def test_a_row_for_reads_is_shown_once_what_it_was_made_of_is_committed(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    log, key = journal(6), KeyRow("k", 0, "t", "i", False)
    five, eight = view_of("t", status_at=5), view_of("t", status_at=8)
    await local_voter.append_soon(part("t", log, 0, A, 0, 5), Riders(five, 5, (key,)))
    assert await peer_store.view("t") is None
    assert await peer_store.keys("k") == [key]
    await local_voter.append_soon(part("t", log, 5, A, 5), Riders(eight, 8))
    assert await peer_store.view("t") == five
    await local_voter.append_soon(part("t", log, 8, A, 8))
    assert await peer_store.view("t") == eight


async def test_a_row_that_comes_with_its_word_is_shown_at_once_and_an_older_one_never_again(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    log = journal(4)
    await local_voter.append_soon(part("t", log, 0, A, 6), Riders(view_of("t", status_at=6), 6))
    assert await peer_store.view("t") == view_of("t", status_at=6)
    await local_voter.append_soon(part("t", log, 0, A, 4, 4), Riders(view_of("t", status_at=4), 4))
    assert await peer_store.view("t") == view_of("t", status_at=6)


async def test_a_row_that_an_earlier_owner_left_is_not_shown_by_a_later_ones_word(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    log = journal(3)
    await local_voter.append_soon(part("t", log, 0, A, 2), Riders(view_of("t", status_at=5), 5))
    other = grown("t", log[:3], B, [Draft(Kind.CLAIMED, b'{"owner":"b"}'), *events(3)])
    await local_voter.append_soon(part("t", other, 3, B, len(other)))
    assert await peer_store.entries("t") == other
    assert await peer_store.view("t") is None


async def test_the_inbox_keeps_a_message_until_the_entry_that_took_it_in_is_committed(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    await peer_store.inbox_put("t", "input", b"{}")
    (row,) = await peer_store.inbox_take("t")
    log = grown("t", journal(0), A, [Draft(Kind.INPUT, b'{"id":"m"}')])
    await local_voter.append_soon(part("t", log, 0, A, 2), Riders(inbox=(row.id,)))
    assert await peer_store.inbox_take("t") == [row]
    await local_voter.append_soon(part("t", log, 3, A, 3))
    assert await peer_store.inbox_take("t") == []


async def test_a_peer_has_no_say_in_this_inbox(peer_store: Store, local_voter: LocalVoter) -> None:
    await peer_store.inbox_put("t", "input", b"{}")
    (row,) = await peer_store.inbox_take("t")
    log = journal(1)
    taken = local_voter.append_soon(part("t", log, 0, A, 3), Riders(inbox=(row.id,)), asked=local_voter.voter)
    assert isinstance(await taken, Appended)
    assert await peer_store.inbox_take("t") == [row]


async def test_followers_here_hear_of_a_word_that_comes_without_entries(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    heard: list[tuple[frozenset[str] | None, bool]] = []
    await peer_store.keep(
        "name", "value"
    )  # the first look at a file finds what others have written, whoever that was
    peer_store.on_change(lambda tasks, urgent: heard.append((tasks, urgent)))
    log = grown("t", journal(1), A, [Draft(Kind.ORPHANED, b"{}")])
    await local_voter.append_soon(part("t", log, 0, A, 0, 3))
    assert heard == []
    await local_voter.append_soon(part("t", log, 3, A, 3, 3))
    assert heard == [(frozenset({"t"}), False)]
    await local_voter.append_soon(part("t", log, 3, A, 3, 3))
    assert len(heard) == 1
    await local_voter.append_soon(part("t", log, 3, A, 3))
    assert heard[1:] == [(frozenset({"t"}), True)]  # it was given up: somebody has to act


async def test_a_repeat_costs_no_row(peer_store: Store, local_voter: LocalVoter) -> None:
    log = journal(1)
    await begun(local_voter, log, 3)
    before = await peer_store.handoff_row("t")
    answers = [await local_voter.append_soon(part("t", log, after, A, 3)) for after in (0, 2, 3)]
    assert [answer.seq for answer in answers if isinstance(answer, Appended)] == [3, 3, 3]
    assert await peer_store.handoff_row("t") == before
