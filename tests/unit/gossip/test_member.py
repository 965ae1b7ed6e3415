"""What two members know of a third is the same whatever reached them first, and it never goes back."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given

from bridge.errors import MalformedGossip
from bridge.gossip.member import (
    MOVES,
    Member,
    News,
    Role,
    State,
    Told,
    accused_row,
    heard,
    joined,
    merged,
    newer,
    read_accused,
    read_told,
    told_row,
)
from bridge.jsontext import parse, write
from tests.unit.gossip.records import accusations, accused, members, told, words

FULL = told(
    "n", 3, 4, role=Role.VOTER, group="writers", url="https://a", ready=True, draining=True, capacity=7, left=True
)


def test_a_word_is_refuted_only_by_a_newer_one_of_the_member_itself() -> None:
    member = Member(told("m", 1, 4), accused(1, 4, "a"))
    assert heard(member) is News.ACCUSED
    assert heard(merged(member, Member(told("m", 1, 4, capacity=9)))) is News.ACCUSED
    assert heard(merged(member, Member(told("m", 1, 5)))) is News.SPOKE
    # A restart refutes everything that was said of the life before, whatever was counted in it.
    assert heard(merged(member, Member(told("m", 2, 0)))) is News.SPOKE
    assert heard(merged(member, Member(told("m", 1, 5, left=True)))) is News.LEFT


def test_who_said_good_bye_is_not_suspected() -> None:
    assert heard(Member(told("m", 1, 5, left=True), accused(1, 7, "a"))) is News.LEFT
    assert News.ACCUSED not in MOVES[State.LEFT]


def test_only_the_member_itself_brings_back_who_is_dead_or_has_left() -> None:
    for state in (State.DEAD, State.LEFT):
        assert [news for news, after in MOVES[state].items() if after is State.ALIVE] == [News.SPOKE]
    assert [state for state in State if MOVES[state].get(News.OVERDUE) is State.DEAD] == [State.SUSPECT]


def test_accusations_of_one_incarnation_add_up_and_stay_bounded() -> None:
    one, two, three, four = (accused(1, 0, name) for name in "dcba")
    for order in permutations((one, two, three, four)):
        both = None
        for each in order:
            both = joined(both, each)
        assert both == accused(1, 0, "a", "b", "c")
    assert joined(accused(1, 0, "a", "b"), accused(1, 1, "z")) == accused(1, 1, "z")


def test_two_lives_under_one_incarnation_are_seen_alike_by_everybody() -> None:
    original, copy = told("m", 1, 0, session="s1"), told("m", 1, 0, session="s2")
    assert newer(original, copy) == newer(copy, original)


def test_words_and_accusations_arrive_as_they_were_sent() -> None:
    for word in (FULL, told("m")):
        assert read_told(parse(write(told_row(word)))) == word
    # A newer release puts more behind what is known.
    assert read_told([*told_row(FULL), "more", {}]) == FULL
    assert read_accused(parse(write(accused_row("m", accused(1, 2, "a", "b"))))) == ("m", accused(1, 2, "a", "b"))
    assert read_accused(["m", 1, 2, "b", "a", "b"]) == ("m", accused(1, 2, "a", "b"))


@pytest.mark.parametrize("place", range(len(told_row(FULL))))
@pytest.mark.parametrize("wrong", [None, -1, [], {}, 1.5, "\n"])
def test_a_word_with_a_wrong_field_is_refused(place: int, wrong: Any) -> None:
    row = told_row(FULL)
    row[place] = wrong
    with pytest.raises(MalformedGossip):
        read_told(row)


@pytest.mark.parametrize("row", [None, {}, [], ["m", 1, 2], ["m", 1, 2, *"abcd"], ["", 1, 2, "a"], ["m", 1, 2, 3]])
def test_an_accusation_without_accusers_or_with_too_many_is_refused(row: Any) -> None:
    with pytest.raises(MalformedGossip):
        read_accused(row)


@given(members, members, members)
def test_merging_is_commutative_associative_and_idempotent(one: Member, two: Member, three: Member) -> None:
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, one) == one
    assert merged(merged(one, two), one) == merged(one, two)


@given(members, members)
def test_no_incarnation_goes_back(one: Member, two: Member) -> None:
    both = merged(one, two)
    assert both.told.incarnation == max(one.told.incarnation, two.told.incarnation)
    assert joined(both.accused, one.accused) == both.accused


@given(words, accusations)
def test_whoever_speaks_after_an_accusation_is_not_suspected(word: Told, accusation: Any) -> None:
    if accusation is not None:
        again = word._replace(incarnation=accusation.incarnation._replace(word=accusation.incarnation.word + 1))
        assert not merged(Member(word, accusation), Member(again)).suspected or again < word
