"""A journal's gist says of every journal what its fold says, without a look at bodies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from bridge.gist import TELLING, WORKING, Gist, at_work, folded
from bridge.handoff import TRANSITIONS, Handoff, State
from bridge.journal import TERMINAL, Draft, Fence, Kind, chain

BODIES = {
    Kind.DISPATCHED: b'{"task":"t","handoff":"h"}',
    Kind.CLAIMED: b'{"owner":"a"}',
    Kind.INPUT: b'{"id":"m"}',
    Kind.ANSWERED: b'{"messageId":"m"}',
    Kind.STEP: b'{"state":{}}',
    Kind.BOUND: b'{"fresh":true}',
}
LONGEST = 7


def walk(
    handoff: Handoff, gist: Gist, depth: int, told: set[tuple[object, ...]]
) -> Iterator[tuple[Handoff, Gist]]:
    """Every journal up to a length, with its fold and its gist; no state is walked from twice in one depth."""
    yield handoff, gist
    seen = (handoff.state, bool(handoff.due), handoff.cancel is not None, gist.released, depth)
    if depth == 0 or seen in told:
        return
    told.add(seen)
    for kind in TRANSITIONS[handoff.state]:
        fence = Fence(handoff.fence.n + (kind is Kind.CLAIMED), "s")
        (entry,) = chain(handoff.tip, fence, 1, [Draft(kind, BODIES.get(kind, b"{}"))])
        after = Handoff(**{name: getattr(handoff, name) for name in Handoff.__slots__})
        after.inputs, after.answered = [*handoff.inputs], {**handoff.answered}
        after.apply(entry)
        yield from walk(after, folded(gist, [kind]), depth - 1, told)


def test_it_says_what_the_fold_says_of_every_journal() -> None:
    words: dict[State, int] = {}
    for handoff, gist in walk(Handoff.absent("t"), Gist(), LONGEST, set()):
        assert gist.state is handoff.state
        assert gist.cancel == (handoff.cancel is not None)
        assert gist.due == bool(handoff.due)
        word = at_work(handoff.state, due=bool(handoff.due), cancel=handoff.cancel_pending)
        assert gist.word is word
        words[word] = words.get(word, 0) + 1
    assert set(words) == set(State)


@pytest.mark.parametrize(
    ("state", "due", "cancel", "word"),
    [
        (State.SUSPENDED, False, False, State.SUSPENDED),
        (State.SUSPENDED, True, False, State.CLAIMED),
        (State.SUSPENDED, False, True, State.CLAIMED),
        (State.REVIEW, True, False, State.REVIEW),
        (State.REVIEW, False, True, State.CLAIMED),
        (State.RUNNING, True, True, State.RUNNING),
        (State.COMPLETED, True, True, State.COMPLETED),
    ],
)
def test_what_waits_has_work_once_it_was_given_some(state: State, due: bool, cancel: bool, word: State) -> None:
    assert at_work(state, due=due, cancel=cancel) is word
    assert Gist(state, due, cancel).word is word


def test_kinds_that_do_not_tell_change_nothing() -> None:
    gists = [Gist(state, due, cancel, due) for state in State for due in (False, True) for cancel in (False, True)]
    silent = set(Kind) - TELLING
    assert {Kind.EVENT, Kind.STEP, Kind.SPEND, Kind.REWOUND} <= silent
    assert {folded(gist, [kind]) == gist for gist in gists for kind in silent} == {True}
    for kind in TELLING:
        assert any(folded(gist, [kind]) != gist for gist in gists), kind


def test_it_is_given_up_until_somebody_claims_or_ends_it() -> None:
    begin = folded(Gist(), [Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND])
    given_up = folded(begin, [Kind.ORPHANED, Kind.INPUT])
    assert (given_up.state, given_up.released) == (State.ORPHANED, True)
    assert [folded(given_up, [kind]).released for kind in (Kind.CLAIMED, Kind.EXPIRED)] == [False, False]
    asked = folded(begin, [Kind.SUSPENDED, Kind.ORPHANED])
    assert (asked.state, asked.released) == (State.SUSPENDED, True)


def test_what_may_not_stand_there_moves_nothing() -> None:
    ended = folded(Gist(), [Kind.DISPATCHED, Kind.CLAIMED, Kind.COMPLETED])
    for kind in TERMINAL | {Kind.BOUND, Kind.ORPHANED, Kind.SUSPENDED}:
        assert folded(ended, [kind]).state is State.COMPLETED
    assert folded(Gist(), [Kind.BOUND]).state is State.ABSENT


def test_one_step_at_a_time_or_all_at_once() -> None:
    kinds = [Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND, Kind.INPUT, Kind.SUSPENDED, Kind.INPUT, Kind.CANCEL]
    gists = [folded(Gist(), kinds[:end]) for end in range(len(kinds) + 1)]
    for (before, after), kind in zip(pairwise(gists), kinds, strict=True):
        assert folded(before, [kind]) == after
    assert {gist.word in WORKING for gist in gists[1:5]} == {True}
    assert [gist.word for gist in gists[5:]] == [State.SUSPENDED, State.CLAIMED, State.CLAIMED]
