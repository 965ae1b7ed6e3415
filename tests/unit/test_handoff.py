import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import BridgeError, BrokenChain, IllegalTransition, MalformedJson
from bridge.handoff import FINAL, TRANSITIONS, Handoff, State
from bridge.journal import TERMINAL, Draft, Entry, Fence, Kind, chain
from bridge.jsontext import write
from tests.unit.journals import TASK, body_for, journal, walks

K = Kind
STARTED = (K.DISPATCHED, K.CLAIMED, (K.BOUND, {"fresh": True}))


def next_entry(handoff: Handoff, kind: Kind, fence: Fence | None = None, body: bytes | None = None) -> Entry:
    text = write(body_for(kind)) if body is None else body
    return chain(handoff.tip, fence or handoff.fence, 2_000, [Draft(kind, text)])[0]


def refuses(handoff: Handoff, entry: Entry, fault: type[BridgeError], **how: Any) -> None:
    before = copy.deepcopy(handoff)
    with pytest.raises(fault):
        handoff.apply(entry, **how)
    assert handoff == before


def test_the_table_covers_every_state_and_every_kind() -> None:
    assert list(TRANSITIONS) == list(State)
    used = [kind for row in TRANSITIONS.values() for kind in row]
    assert [kind for kind in Kind if kind not in used] == []
    assert {state.value for state in FINAL} == {kind.value for kind in TERMINAL}


def test_a_final_state_is_never_left() -> None:
    for state in FINAL:
        assert TRANSITIONS[state] == dict.fromkeys((K.CLAIMED, K.VOTERS, K.ANSWERED), state)


@settings(deadline=None)
@given(walks())
def test_any_walk_of_the_table_folds_and_lands_where_the_table_says(walk: Any) -> None:
    state, _, entries = walk
    handoff = Handoff.absent(TASK)
    for entry in entries:
        handoff.apply(entry, trusted=True)
    assert handoff == Handoff.fold(TASK, entries)
    assert handoff.state is state
    steps = [entry.seq for entry in entries if entry.kind is K.STEP]
    assert handoff.cut == (steps[-1] if steps else 0)
    assert (handoff.terminal is not None) == (state in FINAL)
    assert len(handoff.inputs) == sum(entry.kind is K.INPUT for entry in entries)


@settings(deadline=None)
@given(walks(), st.sampled_from(list(Kind)), st.booleans())
def test_an_illegal_kind_raises_and_changes_nothing(walk: Any, kind: Kind, trusted: bool) -> None:
    state, fence, entries = walk
    handoff = Handoff.fold(TASK, entries)
    claim = kind is K.CLAIMED
    entry = next_entry(handoff, kind, Fence(fence.n + 1, "s") if claim or state is State.ABSENT else None)
    if kind in TRANSITIONS[state]:
        handoff.apply(entry, trusted=trusted)
        assert handoff.state is TRANSITIONS[state][kind]
    else:
        refuses(handoff, entry, IllegalTransition, trusted=trusted)


@settings(deadline=None)
@given(walks(min_size=1), st.data())
def test_a_newer_fence_begins_with_its_claim(walk: Any, data: st.DataObject) -> None:
    state, fence, entries = walk
    handoff = Handoff.fold(TASK, entries)
    kind = data.draw(st.sampled_from([kind for kind in TRANSITIONS[state] if kind is not K.CLAIMED]))
    for other in (Fence(fence.n + 1, "s"), Fence(fence.n, fence.session + "x")):
        refuses(handoff, next_entry(handoff, kind, other), IllegalTransition)
        refuses(handoff, next_entry(handoff, kind, other), IllegalTransition, trusted=True)


def test_two_sessions_never_share_one_n() -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    refuses(handoff, next_entry(handoff, K.CLAIMED, Fence(1, "s2")), IllegalTransition)
    refuses(handoff, next_entry(handoff, K.CLAIMED), IllegalTransition)
    handoff.apply(next_entry(handoff, K.CLAIMED, Fence(2, "s2")))
    assert handoff.fence == Fence(2, "s2")


def test_the_first_claim_may_come_from_the_session_that_dispatched_or_from_another() -> None:
    same = Handoff.fold(TASK, journal(K.DISPATCHED))
    same.apply(next_entry(same, K.CLAIMED))
    other = Handoff.fold(TASK, journal(K.DISPATCHED))
    other.apply(next_entry(other, K.CLAIMED, Fence(2, "s2")))
    assert (same.fence.n, other.fence.n) == (1, 2)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    "wrong", [{"seq": 9}, {"prev": "0" * 64}, {"fence": Fence(0, "")}], ids=["seq", "prev", "fence"]
)
def test_position_predecessor_and_fence_are_checked_even_where_hashes_are_trusted(
    trusted: bool, wrong: dict[str, Any]
) -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    refuses(handoff, next_entry(handoff, K.EVENT)._replace(**wrong), BrokenChain, trusted=trusted)


def test_hashes_are_checked_unless_trusted() -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    forged = next_entry(handoff, K.EVENT)._replace(hash="0" * 64)
    refuses(handoff, forged, BrokenChain)
    handoff.apply(forged, trusted=True)
    assert handoff.tip.hash == "0" * 64


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        (K.DISPATCHED, "task"),
        (K.DISPATCHED, "handoff"),
        (K.CLAIMED, "owner"),
        (K.INPUT, "id"),
        (K.ANSWERED, "messageId"),
    ],
)
@pytest.mark.parametrize("value", ["", None, 7])
def test_a_body_without_what_its_kind_needs_changes_nothing(kind: Kind, member: str, value: Any) -> None:
    handoff = Handoff.fold(TASK, [] if kind is K.DISPATCHED else journal(K.DISPATCHED))
    body = write(body_for(kind) | {member: value})
    refuses(handoff, next_entry(handoff, kind, Fence(1, "s1"), body), BrokenChain)


def test_a_journal_dispatches_its_own_task() -> None:
    handoff = Handoff.absent(TASK)
    body = write(body_for(K.DISPATCHED) | {"task": "another"})
    refuses(handoff, next_entry(handoff, K.DISPATCHED, Fence(1, "s1"), body), BrokenChain)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"a":', b"null"])
def test_a_body_that_is_no_object_changes_nothing(body: bytes) -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    refuses(handoff, next_entry(handoff, K.STEP, body=body), MalformedJson)


def test_the_body_of_an_event_is_not_read() -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    handoff.apply(next_entry(handoff, K.EVENT, body=b"not JSON"))
    assert handoff.tip.seq == 4


def test_a_parsed_body_is_taken_as_given() -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    step = {"state": 7}
    handoff.apply(next_entry(handoff, K.STEP, body=b"not JSON"), step, trusted=True)
    assert handoff.step is step


def test_only_a_superseded_checkpoint_may_lose_its_body() -> None:
    entries = journal(*STARTED, K.EVENT, (K.STEP, {"state": 1}), (K.STEP, {"state": 2}))
    dropped = [entry._replace(body=None) if entry.seq == 5 else entry for entry in entries]
    assert Handoff.fold(TASK, dropped) == Handoff.fold(TASK, entries)
    for seq in (1, 2, 3, 4, 6):
        lost = [entry._replace(body=None) if entry.seq == seq else entry for entry in entries]
        with pytest.raises(BrokenChain) as caught:
            Handoff.fold(TASK, lost)
        assert caught.value.seq == seq


def test_receipts_alone_are_nothing_to_resume_from() -> None:
    handoff = Handoff.fold(TASK, journal(Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND, Kind.STEP))
    cut, step = handoff.cut, handoff.step
    handoff.apply(next_entry(handoff, Kind.STEP, body=b'{"receipts":[{"step":"pay","phase":"intended"}]}'))
    assert handoff.tip.seq == cut + 1
    assert (handoff.cut, handoff.step) == (cut, step)


def test_only_new_runs_count_as_attempts() -> None:
    handoff = Handoff.fold(
        TASK,
        journal(*STARTED, K.BOUND, (K.BOUND, {"fresh": False}), K.ORPHANED, K.CLAIMED, (K.BOUND, {"fresh": True})),
    )
    assert handoff.attempts == 2


def test_an_input_is_due_until_an_agent_is_bound_to_it() -> None:
    entries = journal(*STARTED, K.SUSPENDED, (K.INPUT, {"id": "m2"}), K.CLAIMED, K.BOUND, (K.INPUT, {"id": "m3"}))
    seen = []
    handoff = Handoff.absent(TASK)
    for entry in entries:
        handoff.apply(entry)
        seen.append((handoff.state.value, bool(handoff.due)))
    assert seen[3:] == [
        ("suspended", False),
        ("suspended", True),
        ("suspended", True),
        ("running", False),
        ("running", True),
    ]
    assert [body["id"] for body in handoff.inputs] == ["m2", "m3"]


def test_what_was_said_before_a_question_does_not_answer_it() -> None:
    entries = journal(*STARTED, (K.INPUT, {"id": "m2"}), K.SUSPENDED, (K.INPUT, {"id": "m3"}))
    assert [body["id"] for body in Handoff.fold(TASK, entries[:-2]).due.values()] == ["m2"]
    assert Handoff.fold(TASK, entries[:-1]).due == {}
    assert [body["id"] for body in Handoff.fold(TASK, entries).due.values()] == ["m3"]


def test_a_wish_to_cancel_outlives_its_owner_and_ends_with_the_handoff() -> None:
    entries = journal(
        *STARTED, (K.CANCEL, {"by": "a"}), (K.CANCEL, {"by": "b"}), K.ORPHANED, K.CLAIMED, K.CANCELED
    )
    before = Handoff.fold(TASK, entries[:-1])
    assert before.cancel_pending
    assert before.cancel == {"by": "a"}
    assert not Handoff.fold(TASK, entries).cancel_pending


def test_a_review_waits_for_its_resolution_whoever_claims() -> None:
    entries = journal(*STARTED, K.REVIEW, K.CLAIMED, K.RESOLVED)
    assert Handoff.fold(TASK, entries[:4]).review == body_for(K.REVIEW)
    assert Handoff.fold(TASK, entries[:5]).state is State.REVIEW
    after = Handoff.fold(TASK, entries)
    assert (after.state, after.review) == (State.ORPHANED, None)


def test_the_first_terminal_is_final_and_a_later_claim_only_seals_it() -> None:
    entries = journal(*STARTED, K.COMPLETED, (K.ANSWERED, {"messageId": "m1"}), K.CLAIMED)
    handoff = Handoff.fold(TASK, entries)
    assert (handoff.state, handoff.terminal) == (State.COMPLETED, K.COMPLETED)
    assert handoff.answered == {"m1": True}
    assert handoff.fence.n == 2
    for kind in TERMINAL:
        refuses(handoff, next_entry(handoff, kind), IllegalTransition)


def test_what_a_handoff_is_can_be_read_from_it() -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED, K.EVENT, (K.STEP, {"state": 7}), K.ORPHANED))
    assert (handoff.task_id, handoff.handoff_id, handoff.owner) == (TASK, "f" * 64, "north")
    assert handoff.dispatched == body_for(K.DISPATCHED)
    assert (handoff.cut, handoff.step) == (5, body_for(K.STEP, state=7))
    assert handoff.bound == body_for(K.BOUND, fresh=True)
    assert handoff.state is State.ORPHANED


@pytest.mark.parametrize("kind", [K.BOUND, K.EVENT, K.STEP, K.COMPLETED])
def test_only_a_dispatch_or_a_claim_opens_a_fence(kind: Kind) -> None:
    handoff = Handoff.fold(TASK, journal(*STARTED))
    refuses(handoff, next_entry(handoff, kind, Fence(handoff.fence.n + 1, "other")), IllegalTransition)
