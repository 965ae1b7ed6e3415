"""Who owns what: merged by fence, ended for good, bounded, and what was forgotten does not come back for ever."""

from typing import Any

import pytest
from hypothesis import given

from bridge.errors import MalformedGossip
from bridge.gossip.owners import WATERMARKS_MAX, Owned, OwnerView, Stamp, Tenure, merged, owned_row, read_owned
from bridge.journal import Fence
from bridge.jsontext import parse, write
from tests.unit.gossip.records import owned, ownerships


def view(me: str = "me", records_max: int = 4) -> OwnerView:
    return OwnerView(me, records_max)


def hear(seen: OwnerView, *records: Owned, first_hand: bool = False) -> list[Owned | None]:
    return [seen.hear(record, 1, first_hand=first_hand) for record in records]


def test_the_highest_fence_owns_and_an_end_stays_an_end() -> None:
    one, two = owned("t", 1, "a", 1), owned("t", 2, "b", 9)
    assert merged(one, two) == two
    ended = one._replace(stamp=Stamp(1, 2), tenure=Tenure.ENDED)
    assert merged(one, ended) == ended
    # A higher fence on top of an end is a seal.
    assert merged(ended, two) == two._replace(tenure=Tenure.ENDED)
    # What was let go is owned again under a higher fence only.
    free = one._replace(tenure=Tenure.LET_GO)
    assert merged(one, free).tenure is Tenure.LET_GO
    assert merged(free, two) == two


def test_news_is_passed_on_once() -> None:
    seen = view()
    first, end = owned("t", 1, "a", 1), owned("t", 1, "a", 2, Tenure.ENDED)
    assert hear(seen, first, first, end, first, end) == [first, None, end, None, None]
    assert seen.of("t") == end
    assert (len(seen), seen.living(), seen.of("other")) == (1, [], None)


def test_an_owner_numbers_what_it_announces() -> None:
    seen = view()
    first = seen.announce("t", Fence(1, "s"), Tenure.OWNS, 7)
    assert first == Owned("t", Fence(1, "s"), "me", Stamp(7, 1))
    assert seen.announce("t", Fence(1, "s"), Tenure.ENDED, 7) == Owned(
        "t", Fence(1, "s"), "me", Stamp(7, 2), Tenure.ENDED
    )
    # Another has claimed it meanwhile: letting go under a lower fence changes nothing.
    hear(seen, owned("u", 5, "a", 1))
    assert seen.announce("u", Fence(4, "s"), Tenure.LET_GO, 7) == owned("u", 5, "a", 1)


def test_memory_is_bounded_and_what_is_over_goes_first() -> None:
    seen = view()
    hear(seen, owned("t1", 1, "a", 1), owned("t2", 1, "a", 2), owned("t3", 1, "a", 3), owned("t4", 1, "b", 1))
    hear(seen, owned("t2", 1, "a", 4, Tenure.ENDED), owned("t1", 1, "a", 5, Tenure.ENDED), owned("t5", 1, "b", 2))
    assert [seen.of(task) is not None for task in ("t1", "t2", "t3", "t4", "t5")] == [
        True,
        False,
        True,
        True,
        True,
    ]
    hear(seen, owned("t6", 1, "b", 3))
    # Nothing is over any more: then the oldest of what others own.
    assert seen.announce("mine", Fence(1, "s"), Tenure.OWNS, 1)
    assert [record.task for record in seen.living()] == ["t4", "t5", "t6", "mine"]


def test_what_is_ones_own_is_never_forgotten_while_it_lives() -> None:
    seen = view(records_max=2)
    for number in range(4):
        seen.announce(f"t{number}", Fence(1, "s"), Tenure.OWNS, 1)
    assert len(seen) == 4
    hear(seen, owned("x", 1, "a", 1))
    assert [record.task for record in seen.living()] == ["t0", "t1", "t2", "t3"]


def test_what_was_forgotten_does_not_come_back() -> None:
    seen = view()
    records = [owned(f"t{number}", 1, "a", number, Tenure.ENDED) for number in range(1, 6)]
    hear(seen, *records)
    assert seen.of("t1") is None
    # The record of its end, and that of its life before which some member still has.
    assert hear(seen, records[0], owned("t1", 1, "a", 1)) == [None, None]
    # Another owner's, or this owner's later ones, are news.
    assert hear(seen, owned("t1", 2, "b", 1)) == [owned("t1", 2, "b", 1)]
    assert hear(seen, owned("t9", 1, "a", 9, Tenure.ENDED)) != [None]


def test_a_handoff_that_its_owner_itself_says_it_has_is_always_news() -> None:
    seen = view()
    hear(seen, *(owned(f"t{number}", 1, "a", number, Tenure.ENDED) for number in range(2, 8)))
    old = owned("t1", 1, "a", 1)
    assert hear(seen, old) == [None]
    assert hear(seen, old._replace(tenure=Tenure.ENDED), first_hand=True) == [None]
    assert hear(seen, old, first_hand=True) == [old]


def test_an_owner_denies_what_it_does_not_have() -> None:
    seen = view()
    lost = owned("t", 3, "me", 8)
    (denied,) = hear(seen, lost)
    assert denied == lost._replace(stamp=Stamp(1, 1), tenure=Tenure.LET_GO)
    # Where the record is still believed, that is news, and at the owner it is settled.
    assert merged(lost, denied) == denied._replace(stamp=lost.stamp)
    assert hear(seen, lost, owned("u", 1, "me", 1, Tenure.ENDED)) == [lost._replace(tenure=Tenure.LET_GO), None]
    assert hear(seen, lost) == [None]


def test_a_member_that_is_forgotten_takes_its_records_along() -> None:
    seen = view()
    hear(seen, *(owned(f"t{number}", 1, "a", number, Tenure.ENDED) for number in range(1, 6)))
    hear(seen, owned("u", 1, "b", 1), owned("v", 1, "a", 9))
    seen.forget("a")
    assert [seen.of(task) is None for task in ("t4", "t5", "u", "v")] == [True, True, False, True]
    assert hear(seen, owned("t1", 1, "a", 1)) != [None]
    seen.forget("never heard of")
    assert len(seen) == 2


def test_watermarks_are_bounded_too() -> None:
    seen = view(records_max=1)
    for number in range(WATERMARKS_MAX + 3):
        hear(seen, owned("t", 1, f"n{number}", 1, Tenure.ENDED), owned("u", 1, f"n{number}", 2, Tenure.ENDED))
    assert len(seen._watermark) == WATERMARKS_MAX
    assert "n0" not in seen._watermark


def test_only_what_somebody_owns_is_compared_between_members() -> None:
    one, two = view(), view("other")
    hear(one, owned("t", 1, "a", 1), owned("u", 1, "a", 2), owned("u", 1, "a", 3, Tenure.ENDED))
    hear(two, owned("t", 1, "a", 1))
    assert one.buckets.root == two.buckets.root != 0
    hear(two, owned("t", 1, "a", 4, Tenure.LET_GO))
    assert two.buckets.root == 0


def test_records_arrive_as_they_were_sent() -> None:
    record = owned("t", 4, "a", 5, Tenure.ENDED)
    assert read_owned(parse(write(owned_row(record)))) == record
    assert read_owned([*owned_row(record), "more"]) == record


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("wrong", [None, -1, [], "", 2**53, "\n"])
def test_a_record_with_a_wrong_field_is_refused(place: int, wrong: Any) -> None:
    row = owned_row(owned("t", 4, "a", 5))
    row[place] = wrong
    with pytest.raises(MalformedGossip):
        read_owned(row)


@given(ownerships, ownerships, ownerships)
def test_merging_is_commutative_associative_and_idempotent(one: Owned, two: Owned, three: Owned) -> None:
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, one) == one
    assert merged(merged(one, two), one) == merged(one, two)


@given(ownerships, ownerships)
def test_no_record_goes_back(one: Owned, two: Owned) -> None:
    both = merged(one, two)
    assert both.fence == max(one.fence, two.fence)
    assert (both.tenure is Tenure.ENDED) == (Tenure.ENDED in (one.tenure, two.tenure))
