"""A session's lease on both sides: never one that may act beside one that may take over."""

from collections.abc import Sized

import pytest

from bridge.lease import Evidence
from bridge.session import OwnSession, Renewal, SessionsHeard

ABC = ("a", "b", "c")
FIRST, SECOND = Renewal("m", 1, "s1"), Renewal("m", 2, "s2")


def heard(*renewals: tuple[Renewal, int], booted_ms: int = -10_000) -> SessionsHeard:
    sessions = SessionsHeard(booted_ms)
    for renewal, at_ms in renewals:
        sessions.renewed(renewal, at_ms)
    return sessions


def test_a_holder_blocks_until_its_renewal_has_run_out_at_the_voter() -> None:
    sessions = heard((FIRST, 1_000), (FIRST, 2_000), (FIRST, 1_500))
    assert sessions.blocks("s1", "x", 5_299)
    assert not sessions.blocks("s1", "x", 5_300)
    assert not sessions.blocks("s1", "s1", 2_001)
    assert not sessions.blocks("", "x", 2_001)
    assert not sessions.blocks("never heard of", "x", 2_001)


def test_what_has_run_out_is_forgotten() -> None:
    sessions = heard((FIRST, 0), (Renewal("n", 1, "t1"), 9_000))
    assert list(sessions._leases) == ["t1"]


@pytest.mark.parametrize("evidence", [None, Evidence.EXPIRED, Evidence.REFUSED])
def test_a_voter_that_booted_refuses_unproven_claims_for_a_ttl_and_a_margin(evidence: Evidence | None) -> None:
    sessions = SessionsHeard(500)
    assert sessions.blocks("s1", "x", 500 + 3_299, evidence)
    assert not sessions.blocks("s1", "x", 500 + 3_300, evidence)
    assert not sessions.blocks("s1", "x", 501, Evidence.LOCK_FREED)


@pytest.mark.parametrize("booted_ms", [900, -10_000], ids=["forgetful", "settled"])
def test_a_release_ends_the_wait_and_no_late_renewal_brings_it_back(booted_ms: int) -> None:
    sessions = heard((FIRST, 1_000), booted_ms=booted_ms)
    sessions.released(FIRST, 1_001)
    assert not sessions.blocks("s1", "x", 1_001)
    assert not sessions.renewed(FIRST, 1_100)
    assert not sessions.blocks("s1", "x", 1_101)
    assert sessions.renewed(SECOND, 1_200)
    assert not sessions.renewed(FIRST, 1_300)
    assert (sessions.blocks("s1", "x", 1_301), sessions.blocks("s2", "x", 1_301)) == (False, True)


def test_a_release_that_comes_late_says_nothing_of_the_next_life() -> None:
    sessions = heard((SECOND, 1_000))
    sessions.released(FIRST, 1_001)
    assert sessions.blocks("s2", "x", 1_002)
    assert sessions.renewed(SECOND, 1_003)


def test_a_newer_life_of_the_same_member_ends_the_earlier_one_for_good() -> None:
    sessions = heard((FIRST, 1_000), (SECOND, 1_100), (FIRST, 1_200), booted_ms=900)
    assert not sessions.blocks("s1", "x", 1_201)
    assert sessions.blocks("s2", "x", 1_201)


def test_a_late_word_of_an_earlier_life_proves_that_it_is_over_even_to_a_voter_that_had_forgotten_it() -> None:
    sessions = heard((SECOND, 1_100), booted_ms=900)
    assert sessions.blocks("s1", "x", 1_150)
    assert not sessions.renewed(FIRST, 1_200)
    assert not sessions.blocks("s1", "x", 1_201)


def test_a_second_life_under_one_incarnation_is_a_copy_and_nobody_stands_by_it() -> None:
    sessions = heard((FIRST, 1_000))
    assert not sessions.renewed(Renewal("m", 1, "copy"), 1_100)
    assert sessions.blocks("s1", "x", 1_101)
    assert not sessions.blocks("copy", "x", 1_101)


def test_what_a_voter_remembers_does_not_grow_with_the_lives_of_a_member() -> None:
    sessions = SessionsHeard(0)
    for life in range(1, 1_001):
        renewal = Renewal("m", life, f"s{life}")
        assert sessions.renewed(renewal, 20 * life)
        sessions.released(renewal, 20 * life + 10)
    kept: tuple[Sized, ...] = (sessions._leases, sessions._newest, sessions._released, sessions._over)
    assert sum(map(len, kept)) <= 2
    assert not any(sessions.blocks(f"s{life}", "x", 20_011) for life in range(1, 1_001))


def test_an_owner_lives_while_a_majority_of_every_set_stands_by_it() -> None:
    own = OwnSession("s1")
    own.answered("a", 1_000, 1_001)
    assert not own.may_write((ABC,), 1_001)
    own.answered("b", 500, 1_001)
    assert own.may_write((ABC,), 3_199)
    assert not own.may_write((ABC,), 3_200)
    assert not own.may_write((ABC, ("c", "d", "e")), 1_001)
    own.answered("b", 400, 1_002)  # an older answer that came late
    assert own.may_write((ABC,), 3_199)


def test_renewals_are_due_at_each_voter_by_itself() -> None:
    own = OwnSession("s1")
    own.answered("a", 1_000, 1_001)
    assert (own.due("a", 1_749), own.due("a", 1_750), own.due("b", 1_000)) == (False, True, True)


def test_a_voter_counts_for_a_handoff_from_the_append_that_it_took_since_its_lease_was_last_lost() -> None:
    own = OwnSession("s1")
    proven = {"a": 1_000, "b": 1_000}
    assert not own.may_act((ABC,), proven, 1_001)
    assert own.answered("a", 1_000, 1_010)
    assert own.answered("b", 1_000, 1_010)
    assert own.may_act((ABC,), proven, 1_011)
    assert not own.answered("b", 3_000, 3_010)
    assert own.answered(
        "a", 3_800, 3_810
    )  # its lease was lost at 3700: it may have granted somebody else this one
    assert own.may_write((ABC,), 3_811)
    assert not own.may_act((ABC,), proven, 3_811)
    assert own.may_act((ABC,), {**proven, "a": 3_800}, 3_811)
    assert not own.may_act((ABC,), {**proven, "a": 3_799}, 3_811)
    assert not own.may_act((ABC,), {"a": 3_800, "b": 1_000}, 5_700)


def test_an_answer_that_is_too_old_when_it_comes_brings_nothing_back() -> None:
    own = OwnSession("s1")
    assert not own.answered("a", 1_000, 3_700)
    assert own.answered("a", 1_001, 3_700)
    assert own.may_act((("a",),), {"a": 1_001}, 3_700)


def test_a_majority_that_came_back_by_halves_does_not_prove_a_handoff() -> None:
    """``a`` granted it elsewhere while the lease was lost; ``c`` was lost after it had taken the proof."""
    own, proven = OwnSession("s1"), {"a": 0, "b": 0, "c": 0}
    for voter in ABC:
        own.answered(voter, 0, 1)
    for voter in ABC:
        own.answered(voter, 5_000, 5_010)
    proven.update(b=5_020, c=5_020)
    assert own.may_act((ABC,), proven, 5_030)
    own.answered("a", 7_000, 7_010)
    own.answered("b", 7_000, 7_010)
    # From here on ``c`` may grant too. A majority lives, and one took a proof: they are not the same.
    assert own.may_write((ABC,), 7_800)
    assert not own.may_act((ABC,), proven, 7_800)


@pytest.mark.parametrize("delay_ms", [0, 1, 300, 3_000])
@pytest.mark.parametrize("restarted", [False, True])
def test_no_majority_lets_a_takeover_pass_while_the_owner_may_act(delay_ms: int, restarted: bool) -> None:
    own = OwnSession("s1")
    voters = {name: heard((FIRST, 1_000 + delay_ms)) for name in ("a", "b")}
    for name in voters:
        own.answered(name, 1_000, 1_000 + delay_ms)
    voters["c"] = heard()  # was never reached
    if restarted:
        voters["b"] = SessionsHeard(1_000 + delay_ms + 1)
    acted, free = 0, list[str]()
    for now_ms in range(1_000 + delay_ms + 1, 9_000, 50):
        free = [name for name, sessions in voters.items() if not sessions.blocks("s1", "x", now_ms)]
        acting = own.may_write((ABC,), now_ms)
        acted += acting
        assert not (acting and len(free) >= 2)
    assert len(free) == 3
    assert acted or delay_ms >= 2_700


@pytest.mark.parametrize(("proves", "blocks"), [(False, True), (True, False)])
def test_a_refused_connection_proves_death_only_where_the_operator_says_so(proves: bool, blocks: bool) -> None:
    sessions = SessionsHeard(0, refused_is_dead=proves)
    sessions.renewed(Renewal("a", 1, "s1"), 10_000)
    assert sessions.blocks("s1", "s2", 10_001)
    assert sessions.blocks("s1", "s2", 10_001, Evidence.REFUSED) == blocks
