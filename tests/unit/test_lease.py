import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.lease import (
    LEASE_MARGIN_MS,
    LEASE_TTL_MS,
    Evidence,
    Lease,
    forgetful,
    live,
    may_claim,
    may_write,
    renewal_due,
    renewed,
)

LEASE = Lease("s1", 1_000)


@pytest.mark.parametrize(
    ("now_ms", "writes", "lives"),
    [(1_000, True, True), (3_699, True, True), (3_700, False, True), (4_299, False, True), (4_300, False, False)],
)
def test_the_owner_stops_a_margin_early_and_a_voter_waits_a_margin_longer(
    now_ms: int, writes: bool, lives: bool
) -> None:
    assert (may_write(LEASE, now_ms), live(LEASE, now_ms)) == (writes, lives)


@given(
    sent_ms=st.integers(0, 10_000),
    delay_ms=st.integers(0, 10_000),
    skew_ms=st.integers(-100_000, 100_000),
    later_ms=st.integers(0, 20_000),
)
def test_nobody_may_claim_while_the_owner_may_write(
    sent_ms: int, delay_ms: int, skew_ms: int, later_ms: int
) -> None:
    # The voter's clock shows anything; it only counts from when the renewal reached it.
    owner, voter = Lease("s1", sent_ms), Lease("s1", sent_ms + delay_ms + skew_ms)
    now_ms = sent_ms + delay_ms + later_ms
    assert not (may_write(owner, now_ms) and may_claim(voter, Evidence.EXPIRED, now_ms + skew_ms))


def test_a_renewal_only_moves_forward() -> None:
    assert renewed(LEASE, 1_500).since_ms == 1_500
    assert renewed(LEASE, 900) == LEASE


def test_renewing_every_quarter() -> None:
    assert not renewal_due(LEASE, 1_000 + LEASE_TTL_MS // 4 - 1)
    assert renewal_due(LEASE, 1_000 + LEASE_TTL_MS // 4)


def test_a_lease_of_another_boot_of_this_host_is_over() -> None:
    stored = Lease("s1", 9_000_000, boot="boot-1")
    assert live(stored, 9_000_001, boot="boot-1")
    assert not live(stored, 5, boot="boot-2")
    assert may_claim(stored, None, 5, boot="boot-2")


def test_a_voter_that_forgot_its_leases_waits_until_all_of_them_have_run_out() -> None:
    assert forgetful(500, 500 + LEASE_TTL_MS + LEASE_MARGIN_MS - 1)
    assert not forgetful(500, 500 + LEASE_TTL_MS + LEASE_MARGIN_MS)


@pytest.mark.parametrize(
    ("evidence", "while_live"),
    [
        (None, False),
        (Evidence.RELEASED, True),
        (Evidence.NEWER_BOOT, True),
        (Evidence.LOCK_FREED, True),
        (Evidence.EXPIRED, False),
        (Evidence.REFUSED, False),
    ],
)
def test_what_skips_the_wait(evidence: Evidence | None, while_live: bool) -> None:
    assert may_claim(LEASE, evidence, 1_001) is while_live
    assert may_claim(LEASE, evidence, 4_300)
    assert may_claim(None, evidence, 1_001)


def test_a_refused_connection_is_proof_only_where_the_operator_says_so() -> None:
    assert may_claim(LEASE, Evidence.REFUSED, 1_001, refused_is_dead=True)
    assert not may_claim(LEASE, Evidence.EXPIRED, 1_001, refused_is_dead=True)
