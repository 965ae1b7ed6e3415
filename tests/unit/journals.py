"""Journals for tests: every one a legal walk of the table, with the bodies that the kinds need."""

from typing import Any

from hypothesis import strategies as st

from bridge.handoff import TRANSITIONS, State
from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.jsontext import write

TASK = "0b54c6b8-8f4a-8a5e-9f53-2f1d1c0b7a11"

_junk: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"fresh": True}, {"a": 1, "event": {"é": [1, None]}}, {"reason": ' ,"body":"}', "fresh": False}]
)


def body_for(kind: Kind, extra: dict[str, Any] | None = None, **known: Any) -> dict[str, Any]:
    """A body with the members that this kind must have."""
    needed: dict[Kind, dict[str, Any]] = {
        Kind.DISPATCHED: {"task": TASK, "handoff": "f" * 64},
        Kind.CLAIMED: {"owner": "north", "attempt": 1, "reason": "accepted"},
        Kind.BOUND: {"endpoint": "http://agent", "task": "t1", "context": "c1", "run": 1},
        Kind.INPUT: {"id": "m2", "digest": "0" * 64, "message": {}},
        Kind.ANSWERED: {"messageId": "m1", "generation": 0},
        Kind.STEP: {"state": 1, "receipts": [], "position": {}},
        Kind.REVIEW: {"reason": "unknown_effect", "detail": ""},
    }
    return (extra or {}) | needed.get(kind, {}) | known


def journal(*kinds: Kind | tuple[Kind, dict[str, Any]], fence: Fence | None = None) -> list[Entry]:
    """A journal of these kinds; each claim but the first takes the next fence."""
    fence = fence or Fence(1, "s1")
    entries: list[Entry] = []
    claims = 0
    for each in kinds:
        kind, known = (each, {}) if isinstance(each, Kind) else each
        if kind is Kind.CLAIMED:
            claims += 1
            fence = fence if claims == 1 else Fence(fence.n + 1, f"s{fence.n + 1}")
        entries += chain(tip_of(TASK, entries), fence, 1_000, [Draft(kind, write(body_for(kind, **known)))])
    return entries


@st.composite
def walks(draw: st.DrawFn, min_size: int = 0, max_size: int = 15) -> tuple[State, Fence, list[Entry]]:
    """Any legal journal, the state and the fence that it ends in."""
    state, fence, tip = State.ABSENT, Fence(draw(st.integers(1, 3)), "s0"), genesis(TASK)
    entries: list[Entry] = []
    claimed = False
    size = draw(st.integers(min_size, max_size))
    for index in range(size):
        kind = draw(st.sampled_from(list(TRANSITIONS[state])))
        if kind is Kind.CLAIMED and (claimed or draw(st.booleans())):
            fence = Fence(fence.n + draw(st.integers(1, 3)), f"s{draw(st.integers(0, 9))}")
        claimed = claimed or kind is Kind.CLAIMED
        body = body_for(kind, draw(_junk))
        entries += chain(tip, fence, 1_000 + index, [Draft(kind, write(body))])
        tip = tip_of(TASK, entries)
        state = TRANSITIONS[state][kind]
    return state, fence, entries
