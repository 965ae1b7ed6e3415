"""A voter among several shows what is committed: entries, rows for reads, the inbox, followers."""

from __future__ import annotations

import sqlite3

import pytest

from bridge.journal import Draft, Fence, Kind
from bridge.quorum import Append, Appended
from sidecar.errors import StoreError
from sidecar.records import NO_RIDERS, KeyRow, Riders
from sidecar.store import LocalVoter, Store
from tests.contract.journals import events, view_of
from tests.contract.peering import Said, begun, grown, journal, part

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


async def test_a_sweep_sees_what_nobody_living_may_know_to_be_committed(
    peer_store: Store, local_voter: LocalVoter
) -> None:
    asked = grown("t", journal(0), A, [Draft(Kind.BOUND, b"{}"), Draft(Kind.SUSPENDED, b"{}")])
    log = grown("t", asked, A, [Draft(Kind.COMPLETED, b"{}")])

    async def seen() -> list[str]:
        return [row.state for row in await peer_store.handoffs_at_work()]

    for end in (4, 5):
        await local_voter.append_soon(part("t", log, 0, A, end - 1, end))
        assert await seen() == [log[end - 1].kind.value]
        assert [row.task for row in await peer_store.open_handoffs()] == ["t"]
        await local_voter.append_soon(part("t", log, end, A, end, end))
        assert await seen() == []
    assert await peer_store.open_handoffs() == []


async def test_after_a_cut_the_row_says_what_is_left(peer_store: Store, local_voter: LocalVoter) -> None:
    bound = grown("t", journal(0), A, [Draft(Kind.BOUND, b"{}")])
    asked = grown("t", bound, A, [Draft(Kind.SUSPENDED, b"{}"), *events(2), Draft(Kind.COMPLETED, b"{}")])
    await begun(local_voter, asked, 2)
    for left, state in ((5, "suspended"), (3, "running"), (2, "claimed")):
        by = Fence(9 - left, "bb")
        other = grown("t", asked[:left], by, events(1, body=b'{"by":%d}' % left))
        assert isinstance(await local_voter.append_soon(part("t", other, left, by, 2)), Appended)
        row = await peer_store.handoff_row("t")
        assert row is not None
        assert (row.state, row.voter.tip.seq) == (state, left + 1)
        assert [each.task for each in await peer_store.open_handoffs()] == ["t"]
    given_up = grown("t", asked[:2], B, [Draft(Kind.CLAIMED, b'{"owner":"b"}'), Draft(Kind.ORPHANED, b"{}")])
    by = Fence(8, "cc")
    await local_voter.append_soon(part("t", given_up, 2, by, 2))
    row = await peer_store.handoff_row("t")
    assert row is not None
    assert (row.state, row.released) == ("orphaned", True)
    cut = grown("t", given_up[:3], by, [Draft(Kind.CLAIMED, b'{"owner":"c"}')])
    await local_voter.append_soon(part("t", cut, 3, by, 2))
    row = await peer_store.handoff_row("t")
    assert row is not None
    assert (row.state, row.released) == ("claimed", False)


async def test_a_row_that_is_older_than_what_was_shown_is_not_shown_after_the_file_was_opened_again(
    url: str, said: Said
) -> None:
    log, six = journal(4), view_of("t", status_at=6)
    for seq in (6, 4):
        store = await Store.open(url, alone=False)
        voter = store.local_voter(said, listed=False)
        await voter.append_soon(part("t", log, 0, A, seq, seq), Riders(view_of("t", status_at=seq), seq))
        assert await store.view("t") == six
        await store.close()


async def test_what_waited_is_shown_although_the_write_that_should_have_shown_it_failed(
    peer_store: Store, local_voter: LocalVoter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await peer_store.inbox_put("t", "input", b"{}")
    (row,) = await peer_store.inbox_take("t")
    log, view = journal(3), view_of("t", status_at=5)

    async def fails(append: Append, riders: Riders = NO_RIDERS) -> None:
        def reached(name: str) -> None:
            if name == "store.before_commit":
                raise sqlite3.OperationalError("for a test")

        with monkeypatch.context() as patched:
            patched.setattr("sidecar.store.writer.reach", reached)
            with pytest.raises(StoreError):
                await local_voter.append_soon(append, riders)
        assert await peer_store.view("t") is None

    await fails(part("t", log, 0, A, 0), Riders(view, 5, inbox=(row.id,)))
    await local_voter.append_soon(part("t", log, 0, A, 0))  # as it is sent again, without what came with it
    await fails(part("t", log, 5, A, 5))
    assert await peer_store.inbox_take("t") == [row]
    await local_voter.append_soon(part("t", log, 5, A, 5))
    assert await peer_store.view("t") == view
    assert await peer_store.inbox_take("t") == []
