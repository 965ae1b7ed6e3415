from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.handoff import FINAL, Handoff, State
from bridge.journal import Kind
from bridge.recovery import (
    Apply,
    Asked,
    BoundRun,
    Cancel,
    DeadLetter,
    Limits,
    Orphan,
    Reattach,
    Resume,
    Review,
    Situation,
    Wait,
    after_end,
    decide,
    my_delay_ms,
    rank,
)
from tests.unit.journals import TASK, body_for, journal, walks

K = Kind
FRESH = (K.BOUND, {"fresh": True})
STARTED = (K.DISPATCHED, K.CLAIMED, FRESH)
BOUND = body_for(K.BOUND, fresh=True)
NORTH = Situation(claimable=True, mine=True, agent_ready=True)
SOUTH = Situation(claimable=True, mine=False, agent_ready=True)


def handoff(*kinds: Any) -> Handoff:
    return Handoff.fold(TASK, journal(*kinds))


def but(seen: Situation, **changes: Any) -> Situation:
    names = Situation.__dataclass_fields__
    return Situation(**({name: getattr(seen, name) for name in names} | changes))


def test_a_living_run_is_not_run_twice() -> None:
    lost = handoff(*STARTED, K.STEP, K.ORPHANED)
    for known in (BoundRun.ALIVE, BoundRun.UNKNOWN):
        assert decide(lost, but(NORTH, bound_run=known)) == Reattach(BOUND)
        assert decide(lost, but(SOUTH, bound_run=known, rank=3, agent_ready=False)) == Reattach(BOUND)
    assert decide(lost, NORTH) == Resume(4, 2)


def test_a_handoff_that_was_never_bound_begins_at_the_beginning() -> None:
    for begun in (handoff(K.DISPATCHED), handoff(K.DISPATCHED, K.CLAIMED)):
        assert decide(begun, but(NORTH, bound_run=BoundRun.UNKNOWN)) == Resume(0, 1)


def test_the_last_checkpoint_is_the_cut() -> None:
    assert decide(handoff(*STARTED, K.STEP, K.EVENT, K.STEP, K.ORPHANED), NORTH) == Resume(6, 2)


def test_standbys_try_one_after_the_other() -> None:
    lost = handoff(*STARTED, K.ORPHANED)
    assert decide(lost, SOUTH) == Resume(0, 2)
    assert decide(lost, but(SOUTH, rank=2)) == Wait("not_first", 400)
    assert decide(lost, but(SOUTH, rank=2, orphaned_ms=150)) == Wait("not_first", 250)
    assert decide(lost, but(SOUTH, rank=2, orphaned_ms=400)) == Resume(0, 2)
    assert decide(lost, but(SOUTH, rank=2), Limits(stagger_ms=0)) == Resume(0, 2)
    assert decide(lost, but(NORTH, rank=2)) == Resume(0, 2)


def test_without_an_agent_it_waits() -> None:
    assert decide(handoff(*STARTED, K.ORPHANED), but(NORTH, agent_ready=False)) == Wait("no_agent")


@pytest.mark.parametrize("state", [[], [K.ORPHANED], [K.SUSPENDED], [K.REVIEW]], ids=str)
def test_a_cancel_is_carried_out_not_resumed(state: list[Kind]) -> None:
    wished = handoff(*STARTED, *state, K.CANCEL)
    assert decide(wished, but(NORTH, agent_ready=False)) == Cancel(BOUND)
    assert decide(wished, but(NORTH, bound_run=BoundRun.ALIVE)) == Cancel(BOUND)
    assert decide(wished, but(SOUTH, rank=1)) == Wait("not_first", 200)


def test_a_cancel_before_any_run_has_nobody_to_tell() -> None:
    assert decide(handoff(K.DISPATCHED, K.CANCEL), NORTH) == Cancel(None)


def test_a_task_that_waits_for_its_client_needs_nobody() -> None:
    asked = (*STARTED, K.SUSPENDED)
    assert decide(handoff(*asked), NORTH) == Wait("suspended")
    assert decide(handoff(*asked), but(NORTH, bound_run=BoundRun.ALIVE)) == Wait("suspended")
    assert decide(handoff(*asked, K.INPUT), but(NORTH, bound_run=BoundRun.ALIVE)) == Reattach(BOUND)
    assert decide(handoff(*asked, K.INPUT), NORTH) == Resume(0, 2)


def test_a_review_waits_for_its_operator() -> None:
    assert decide(handoff(*STARTED, K.REVIEW), NORTH) == Wait("review")
    assert decide(handoff(*STARTED, K.REVIEW, K.RESOLVED), NORTH) == Resume(0, 2)


def test_a_task_that_kills_its_agents_becomes_a_dead_letter() -> None:
    crashes = [K.ORPHANED, K.CLAIMED, FRESH] * 4
    assert decide(handoff(*STARTED, *crashes[:-1]), NORTH) == Resume(0, 5)
    assert decide(handoff(*STARTED, *crashes), but(NORTH, agent_ready=False)) == DeadLetter("attempts")
    assert decide(handoff(*STARTED, *crashes), but(NORTH, bound_run=BoundRun.ALIVE)) != DeadLetter("attempts")
    assert decide(handoff(*STARTED), NORTH, Limits(attempts_max=1)) == DeadLetter("attempts")


def test_a_dispatch_that_its_client_never_heard_of_does_not_run_hours_later() -> None:
    late = but(NORTH, unacknowledged_ms=60_001)
    assert decide(handoff(K.DISPATCHED), late) == DeadLetter("unacknowledged")
    assert decide(handoff(K.DISPATCHED), but(NORTH, unacknowledged_ms=60_000)) == Resume(0, 1)
    assert decide(handoff(*STARTED, K.ORPHANED), late) == Resume(0, 2)


def test_an_effect_of_unknown_outcome_goes_to_a_person() -> None:
    assert decide(handoff(*STARTED, K.ORPHANED), but(NORTH, unknown_effects=("pay",))) == Review("unknown_effect")


@pytest.mark.parametrize(
    "since", [[K.CLAIMED], [K.SUSPENDED, (K.INPUT, {"id": "m2"})], [K.SUSPENDED, K.INPUT, K.CLAIMED]]
)
def test_a_review_can_be_recorded_wherever_it_is_decided(since: list[Any]) -> None:
    """Also of a task that waited: the answer has come, and its run is lost with an effect nobody knows of."""
    assert decide(handoff(*STARTED, *since), but(NORTH, unknown_effects=("pay",))) == Review("unknown_effect")
    assert handoff(*STARTED, *since, K.REVIEW).state is State.REVIEW


def test_who_drains_or_may_not_claim_does_nothing() -> None:
    lost = handoff(*STARTED, K.CANCEL)
    assert decide(lost, but(NORTH, draining=True)) == Wait("draining")
    assert decide(lost, but(NORTH, claimable=False)) == Wait("held")


@settings(deadline=None)
@given(walks(), st.sampled_from(BoundRun), st.integers(0, 3), st.booleans())
def test_a_decision_is_one_that_the_handoff_allows(walk: Any, known: BoundRun, place: int, ready: bool) -> None:
    state, _, entries = walk
    folded = Handoff.fold(TASK, entries)
    decision = decide(folded, but(SOUTH, bound_run=known, rank=place, agent_ready=ready))
    if state in FINAL or state is State.ABSENT:
        assert decision == Wait(state.value)
    if isinstance(decision, Resume):
        assert not folded.cancel_pending
        assert (decision.cut, decision.run) == (folded.cut, folded.attempts + 1)
    if folded.cancel_pending:
        assert isinstance(decision, Cancel | Wait)


def test_every_task_has_its_own_order_and_everybody_computes_the_same() -> None:
    names = ["north", "south", "east", "west"]
    assert rank(names, TASK) == rank(sorted(names), TASK)
    assert sorted(rank(names, TASK)) == sorted(names)
    firsts = [rank(names, f"task-{number}")[0] for number in range(400)]
    assert all(50 < firsts.count(name) < 150 for name in names)
    for number in range(50):
        order = rank(names, f"task-{number}")
        assert [name for name in order if name != "east"] == rank(["north", "south", "west"], f"task-{number}")
    assert rank([], TASK) == []


def test_the_first_does_not_wait() -> None:
    assert [my_delay_ms(place) for place in range(3)] == [0, 200, 400]
    assert my_delay_ms(2, 50) == 100


@pytest.mark.parametrize(
    ("asked", "fruitless", "expected"),
    [
        (Asked.DONE, 9, Apply()),
        (Asked.WORKING, 0, Reattach(BOUND)),
        (Asked.WORKING, 2, Reattach(BOUND)),
        (Asked.WORKING, 3, Review("silent_end")),
        (Asked.NOT_FOUND, 0, Orphan("run_forgotten")),
        (Asked.NO_ANSWER, 0, Orphan("agent_gone")),
    ],
)
def test_the_end_of_a_stream_is_neither_completion_nor_death(asked: Asked, fruitless: int, expected: Any) -> None:
    assert after_end(BOUND, asked, fruitless) == expected


@pytest.mark.parametrize("state", [State.ABSENT, *sorted(FINAL, key=str)])
def test_nothing_is_to_be_done_for_what_is_not_there_or_has_ended(state: State) -> None:
    none = Handoff.absent(TASK)
    none.state = state
    assert decide(none, NORTH) == Wait(state.value)
