from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import InvariantViolation
from bridge.journal import NO_FENCE, Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of, verify
from bridge.quorum import (
    Append,
    Appended,
    AppendPlan,
    Claim,
    Granted,
    Refusal,
    Refused,
    VoterView,
    decide_append,
    decide_claim,
    decide_dispatch,
)

TASK = "t"
ONE, TWO, THREE = Fence(1, "s1"), Fence(2, "s2"), Fence(3, "s3")


def entries(after: Tip, fence: Fence, *names: str) -> list[Entry]:
    return chain(after, fence, 1, [Draft(Kind.EVENT, f'{{"x":"{name}"}}'.encode()) for name in names])


def holding(stored: Sequence[Entry]) -> Callable[[int], str | None]:
    return lambda seq: stored[seq - 1].hash if 1 <= seq <= len(stored) else None


def append(fence: Fence, stored: Sequence[Entry], new: Sequence[Entry], committed: int = 0) -> Append:
    tip = tip_of(TASK, stored)
    return Append(TASK, fence, tip.seq, tip.hash, new, committed)


def view_of(stored: Sequence[Entry], promised: Fence, committed: int = 0) -> VoterView:
    return VoterView(promised, tip_of(TASK, stored), committed)


BASE = entries(genesis(TASK), ONE, "a", "b", "c")
TIP = tip_of(TASK, BASE)
VIEW = view_of(BASE, ONE, 2)


def claim(fence: Fence) -> Claim:
    return Claim(TASK, fence, fence.session)


def test_a_higher_claim_is_granted_with_the_tip_of_the_last_entry() -> None:
    answer = decide_claim(VIEW, claim(THREE), holder_blocks=False, now_ms=100)
    assert answer == (
        VIEW._replace(promised=THREE, granted=THREE, granted_until_ms=600),
        Granted(Tip(ONE, 3, BASE[-1].hash), 2),
    )


@pytest.mark.parametrize("fence", [Fence(0, "s9"), Fence(1, "s0"), Fence(1, "s9")])
def test_a_session_never_gets_an_n_that_was_promised_to_another(fence: Fence) -> None:
    answer = decide_claim(VIEW, claim(fence), holder_blocks=False, now_ms=0)
    assert answer == Refused(Refusal.FENCED, ONE, TIP, 2)


def test_the_same_fence_again_is_a_retry() -> None:
    first = decide_claim(VIEW, claim(TWO), holder_blocks=False, now_ms=0)
    assert isinstance(first, tuple)
    again = decide_claim(first[0], claim(TWO), holder_blocks=False, now_ms=10)
    assert isinstance(again, tuple)
    assert again[1] == first[1]


def test_a_living_holder_stands_in_the_way_and_nothing_is_promised() -> None:
    answer = decide_claim(VIEW, claim(TWO), holder_blocks=True, now_ms=0)
    assert answer == Refused(Refusal.HELD, ONE, TIP, 2)


def test_a_holder_whose_fence_is_over_stands_in_nobodys_way() -> None:
    newer = Claim(TASK, Fence(5, "s5"), "s5", seen=TWO)
    assert isinstance(decide_claim(VIEW, newer, holder_blocks=True, now_ms=0), tuple)
    same = Claim(TASK, Fence(5, "s5"), "s5", seen=ONE)
    assert isinstance(decide_claim(VIEW, same, holder_blocks=True, now_ms=0), Refused)
    granted = VIEW._replace(promised=TWO, granted=TWO, granted_until_ms=500)
    elsewhere = decide_claim(granted, newer, holder_blocks=True, now_ms=0)
    assert isinstance(elsewhere, Refused)
    assert elsewhere.reason is Refusal.GRANTED_ELSEWHERE


def test_a_grant_holds_for_a_while_for_its_candidate_only() -> None:
    granted = decide_claim(VIEW, claim(TWO), holder_blocks=False, now_ms=0, grant_ms=50)
    assert isinstance(granted, tuple)
    view = granted[0]
    other = decide_claim(view, claim(THREE), holder_blocks=False, now_ms=49)
    assert isinstance(other, Refused)
    assert other.reason is Refusal.GRANTED_ELSEWHERE
    assert isinstance(decide_claim(view, claim(Fence(5, "s2")), holder_blocks=False, now_ms=49), tuple)
    assert isinstance(decide_claim(view, claim(THREE), holder_blocks=False, now_ms=50), tuple)


def test_a_grant_is_used_up_by_the_first_entry_of_its_fence() -> None:
    view = VIEW._replace(promised=TWO, granted=TWO, granted_until_ms=500)
    adopted = decide_append(view, append(TWO, BASE, []), holding(BASE), voters=3)
    assert isinstance(adopted, tuple)
    assert adopted[0].granted == TWO
    opened = decide_append(view, append(TWO, BASE, entries(TIP, TWO, "own")), holding(BASE), voters=3)
    assert isinstance(opened, tuple)
    assert opened[0].granted is None


def test_a_tombstone_refuses_everything() -> None:
    purged = VIEW._replace(purged=True)
    for answer in (
        decide_claim(purged, claim(THREE), holder_blocks=False, now_ms=0),
        decide_append(purged, append(THREE, BASE, []), holding(BASE), voters=1),
    ):
        assert isinstance(answer, Refused)
        assert answer.reason is Refusal.PURGED


def test_a_dispatch_begins_a_journal_that_nobody_has_begun_or_promised() -> None:
    dispatch = append(TWO, [], BASE)
    first = decide_dispatch(VoterView.empty(TASK), dispatch, holding([]), voters=1)
    assert isinstance(first, tuple)
    assert (first[0].promised, first[0].tip, first[0].committed) == (TWO, TIP, 3)
    again = decide_dispatch(first[0], dispatch, holding(BASE), voters=1)
    assert isinstance(again, tuple)
    assert again[1:] == (AppendPlan(None, ()), first[2])
    other = append(THREE, [], entries(genesis(TASK), THREE, "other"))
    promised = VoterView.empty(TASK)._replace(promised=ONE)
    for view, late, stored, reason in [
        (first[0], other, BASE, Refusal.FENCED),
        (first[0], append(TWO, [], []), BASE, Refusal.FENCED),
        (promised, dispatch, [], Refusal.FENCED),
        (first[0]._replace(purged=True), dispatch, [], Refusal.PURGED),
    ]:
        answer = decide_dispatch(view, late, holding(stored), voters=1)
        assert isinstance(answer, Refused)
        assert answer.reason is reason


def never(seq: int) -> str | None:
    raise AssertionError(f"entry {seq} was read")


def test_continuing_a_journal_reads_nothing_and_acknowledges_fence_position_and_hash() -> None:
    new = entries(TIP, ONE, "d", "e")
    answer = decide_append(VIEW, append(ONE, BASE, new, 9), never, voters=3)
    assert answer == (
        view_of([*BASE, *new], ONE, 5),
        AppendPlan(None, tuple(new)),
        Appended(ONE, 5, new[-1].hash),
    )


def test_the_first_entries_of_a_handoff() -> None:
    answer = decide_append(VoterView.empty(TASK), append(ONE, [], BASE), never, voters=3)
    assert isinstance(answer, tuple)
    assert answer[0] == VoterView(ONE, TIP)
    assert VoterView.empty(TASK) == VoterView(NO_FENCE, genesis(TASK))


def test_an_only_voter_has_committed_what_it_has_written() -> None:
    answer = decide_append(VIEW, append(ONE, BASE, entries(TIP, ONE, "d")), never, voters=1)
    assert isinstance(answer, tuple)
    assert answer[0].committed == 4


def test_an_older_owner_is_fenced_by_an_append_that_it_did_not_see() -> None:
    newer = decide_append(VIEW, append(TWO, BASE, []), never, voters=3)
    assert isinstance(newer, tuple)
    assert newer[0].promised == TWO
    older = decide_append(newer[0], append(ONE, BASE, entries(TIP, ONE, "d")), never, voters=3)
    assert older == Refused(Refusal.FENCED, TWO, TIP, 2)


def test_a_gap_or_another_predecessor_is_refused() -> None:
    longer = [*BASE, *entries(TIP, ONE, "d")]
    other = entries(genesis(TASK), ONE, "x", "y", "z")
    beginning = Append(TASK, ONE, 0, "0" * 64, BASE, 0)
    for wrong in (append(ONE, longer, []), append(ONE, other, []), append(ONE, other[:2], []), beginning):
        assert decide_append(VIEW, wrong, holding(BASE), voters=3) == Refused(Refusal.GAP, ONE, TIP, 2)


def test_entries_that_do_not_name_each_other_are_never_stored() -> None:
    new = entries(TIP, ONE, "d", "e")
    newer = entries(TIP, THREE, "d")
    for wrong in ([new[1]], [new[0], new[0]], [new[0], new[1]._replace(prev="0" * 64)], newer):
        answer = decide_append(VIEW, append(ONE, BASE, wrong), holding(BASE), voters=3)
        assert isinstance(answer, Refused)
        assert answer.reason is Refusal.GAP


def test_a_late_or_repeated_append_does_not_shorten_the_journal() -> None:
    answer = decide_append(VIEW, append(ONE, BASE[:1], BASE[1:2], 9), holding(BASE), voters=3)
    assert answer == (VIEW, AppendPlan(None, ()), Appended(ONE, 2, BASE[1].hash))
    whole = decide_append(VIEW, append(ONE, [], BASE, 9), holding(BASE), voters=3)
    assert isinstance(whole, tuple)
    assert (whole[0].committed, whole[1]) == (3, AppendPlan(None, ()))


def test_an_uncommitted_suffix_is_cut_from_the_first_difference_on() -> None:
    own = entries(tip_of(TASK, BASE[:2]), TWO, "own")
    answer = decide_append(VIEW, append(TWO, BASE[:1], [BASE[1], *own]), holding(BASE), voters=3)
    assert answer == (
        view_of([*BASE[:2], *own], TWO, 2),
        AppendPlan(3, tuple(own)),
        Appended(TWO, 3, own[-1].hash),
    )


def test_committed_moves_only_to_where_the_journals_are_proven_equal() -> None:
    view = view_of(BASE, ONE, 0)
    answer = decide_append(view, append(TWO, BASE[:1], BASE[1:2], 3), holding(BASE), voters=3)
    assert isinstance(answer, tuple)
    assert answer[0].committed == 2
    back = decide_append(VIEW, append(ONE, BASE, [], 1), never, voters=3)
    assert isinstance(back, tuple)
    assert back[0].committed == 2


@pytest.mark.parametrize("voters", [1, 3])
def test_a_difference_in_what_is_committed_stops_the_voter(voters: int) -> None:
    other = entries(tip_of(TASK, BASE[:1]), TWO, "other")
    with pytest.raises(InvariantViolation):
        decide_append(VIEW, append(TWO, BASE[:1], other), holding(BASE), voters=voters)
    assert not issubclass(InvariantViolation, Exception)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6), st.integers(0, 3)), max_size=12))
def test_whatever_is_appended_the_stored_journal_verifies_and_commits_grow(
    sends: list[tuple[int, int, int]],
) -> None:
    view, stored = VoterView.empty(TASK), list[Entry]()
    for number, (n, after, count) in enumerate(sends):
        fence = Fence(n, "s")
        base = stored[: min(after, len(stored))]
        new = entries(tip_of(TASK, base), max(fence, view.promised), *[f"{number}-{k}" for k in range(count)])
        try:
            answer = decide_append(view, append(fence, base, new, number), holding(stored), voters=3)
        except InvariantViolation:
            assert len(base) < view.committed
            continue
        if isinstance(answer, Refused):
            continue
        assert answer[0].committed >= view.committed
        view, plan, acknowledged = answer
        stored = stored[: len(stored) if plan.cut_from is None else plan.cut_from - 1] + list(plan.add)
        assert verify(TASK, stored) == view.tip
        assert acknowledged.hash == tip_of(TASK, stored[: acknowledged.seq]).hash
