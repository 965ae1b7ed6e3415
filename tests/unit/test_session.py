"""A session's lease on both sides: never one that may act beside one that may take over."""

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


def test_a_release_ends_the_wait_and_no_late_renewal_brings_it_back() -> None:
    sessions = heard((FIRST, 1_000), booted_ms=900)
    sessions.released("s1")
    assert not sessions.blocks("s1", "x", 1_001)
    sessions.renewed(FIRST, 1_100)
    assert not sessions.blocks("s1", "x", 1_101)


def test_a_newer_life_of_the_same_member_ends_the_earlier_one_for_good() -> None:
    sessions = heard((FIRST, 1_000), (SECOND, 1_100), (FIRST, 1_200), booted_ms=900)
    assert not sessions.blocks("s1", "x", 1_201)
    assert sessions.blocks("s2", "x", 1_201)
    late = heard((SECOND, 1_100), (FIRST, 1_200))
    assert not late.blocks("s1", "x", 1_201)


def test_an_owner_may_act_while_a_majority_of_every_set_stands_by_it() -> None:
    own = OwnSession("s1")
    own.answered("a", 1_000)
    assert not own.may_write((ABC,), 1_001)
    own.answered("b", 500)
    assert own.may_write((ABC,), 3_199)
    assert not own.may_write((ABC,), 3_200)
    assert not own.may_write((ABC, ("c", "d", "e")), 1_001)
    own.answered("b", 400)  # an older answer that came late
    assert own.may_write((ABC,), 3_199)


def test_renewals_are_due_at_each_voter_by_itself() -> None:
    own = OwnSession("s1")
    own.answered("a", 1_000)
    assert (own.due("a", 1_749), own.due("a", 1_750), own.due("b", 1_000)) == (False, True, True)


@pytest.mark.parametrize("delay_ms", [0, 1, 300, 3_000])
@pytest.mark.parametrize("restarted", [False, True])
def test_no_majority_lets_a_takeover_pass_while_the_owner_may_act(delay_ms: int, restarted: bool) -> None:
    own = OwnSession("s1")
    voters = {name: heard((FIRST, 1_000 + delay_ms)) for name in ("a", "b")}
    for name in voters:
        own.answered(name, 1_000)
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
