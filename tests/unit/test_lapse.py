"""Buffered output is said once, behind the very journal that it followed from, or never."""

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.lapse import FROM_OUTSIDE, HeldOutput

MINE, AGAIN, OTHER = Fence(1, "s1"), Fence(3, "s1"), Fence(2, "s2")
BEGIN = chain(genesis("t"), MINE, 1, [Draft(kind, b"{}") for kind in (Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND)])
SAID = [Draft(Kind.EVENT, b'{"x":1}'), Draft(Kind.STEP, b'{"x":2}'), Draft(Kind.COMPLETED, b'{"x":3}')]


def held() -> HeldOutput:
    output = HeldOutput(tip_of("t", BEGIN))
    assert all(output.hold(draft) for draft in SAID)
    return output


@pytest.mark.parametrize("known", range(4))
def test_what_was_proposed_before_the_lapse_comes_first_and_takes_no_room(known: int) -> None:
    output = HeldOutput(tip_of("t", BEGIN), bytes_max=len(SAID[2].body), proposed=SAID[:2])
    assert output.hold(SAID[2])
    assert output.flushable("s1", after((MINE, SAID[:known]))) == SAID[known:]


@pytest.mark.parametrize("arrived", [False, True])
def test_a_change_of_voters_is_not_said_again(arrived: bool) -> None:
    proposed = [SAID[0], Draft(Kind.VOTERS, b'{"voters":["a"]}'), SAID[1]]
    output = HeldOutput(tip_of("t", BEGIN), proposed=proposed)
    assert output.flushable("s1", after((MINE, proposed if arrived else []))) == ([] if arrived else SAID[:2])


def after(*parts: tuple[Fence, list[Draft]]) -> list[Entry]:
    log = list(BEGIN)
    for fence, drafts in parts:
        log += chain(tip_of("t", log), fence, 1, drafts)
    return log


def of(kind: Kind, body: bytes = b"{}") -> list[Draft]:
    return [Draft(kind, body)]


def test_all_of_it_follows_where_nobody_went_on() -> None:
    assert held().flushable("s1", BEGIN) == SAID
    assert held().flushable("s1", after((AGAIN, of(Kind.CLAIMED)))) == SAID


@pytest.mark.parametrize("known", range(4))
def test_what_had_reached_a_voter_is_not_said_twice(known: int) -> None:
    assert held().flushable("s1", after((MINE, SAID[:known]))) == SAID[known:]


@pytest.mark.parametrize("known", range(4))
def test_an_earlier_attempt_to_come_back_does_not_part_it(known: int) -> None:
    again = [*of(Kind.CLAIMED), *of(Kind.BOUND, b'{"fresh":false}'), *SAID[:known]]
    adopted = after((AGAIN, again), (Fence(4, "s1"), of(Kind.CLAIMED)))
    assert held().flushable("s1", adopted) == SAID[known:]


@pytest.mark.parametrize("kind", FROM_OUTSIDE)
def test_what_comes_from_outside_does_not_part_it(kind: Kind) -> None:
    adopted = after((MINE, SAID[:1]), (AGAIN, of(Kind.CLAIMED)), (AGAIN, of(kind)))
    assert held().flushable("s1", adopted) == SAID[1:]


@pytest.mark.parametrize(
    "adopted",
    [
        after((OTHER, of(Kind.CLAIMED))),
        after((OTHER, of(Kind.CLAIMED)), (OTHER, of(Kind.BOUND)), (OTHER, SAID[:1])),
        after((OTHER, SAID[:1])),
        after((MINE, of(Kind.EVENT, b'{"x":9}'))),
        after((MINE, SAID), (MINE, of(Kind.EVENT))),
        after((MINE, of(Kind.BOUND))),
        after((AGAIN, of(Kind.CLAIMED)), (AGAIN, of(Kind.BOUND, b'{"fresh":true}'))),
        after((AGAIN, of(Kind.CLAIMED)), (OTHER, of(Kind.BOUND))),
        BEGIN[:2],
        chain(genesis("t"), MINE, 2, [Draft(entry.kind, b"{}") for entry in BEGIN]),
    ],
    ids=[
        "claimed",
        "replaced",
        "same words of another",
        "other words",
        "more than held",
        "bound anew",
        "another run",
        "bound by another",
        "shorter",
        "another",
    ],
)
def test_nothing_of_it_follows_from_anybody_elses_journal(adopted: list[Entry]) -> None:
    assert held().flushable("s1", adopted) is None


def test_the_buffer_is_bounded() -> None:
    output = HeldOutput(tip_of("t", BEGIN), bytes_max=10)
    assert output.hold(Draft(Kind.EVENT, b"12345678"))
    assert not output.hold(Draft(Kind.EVENT, b"123"))
    assert not output.hold(Draft(Kind.EVENT, b"1"), Draft(Kind.STEP, b"23"))
    assert output.hold(Draft(Kind.EVENT, b"12"))
    assert [draft.body for draft in output.drafts] == [b"12345678", b"12"]
