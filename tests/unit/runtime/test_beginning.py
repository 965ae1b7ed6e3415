"""How a handoff is begun where somebody else was promised it and has written nothing."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from bridge.journal import Fence, Tip, genesis, verify
from bridge.quorum import Append, Appended, Refusal, Refused
from sidecar.records import Caller, KeyRow, SendCall, TaskView
from sidecar.runtime.beginning import CLAIM_TRIES
from sidecar.runtime.ownership import Ownership

TASK = "t"
BODY: dict[str, Any] = {
    "task": TASK, "handoff": "0" * 64, "key": {"tenant": "", "principal": "p"}, "intent": {"inputs": {}},
    "voters": ["a"], "context": None,
}  # fmt: skip
KEY = KeyRow("h", 0, TASK, "i", False)


class Promised:
    """A voter that takes a dispatch above what it has promised."""

    def __init__(self, n: int, reason: Refusal = Refusal.FENCED, seq: int = 0, grows: int = 0) -> None:
        self.n, self.reason, self.seq, self.grows = n, reason, seq, grows
        self.asked: list[Append] = []

    async def dispatch(self, append: Append, view: TaskView, keys: Sequence[KeyRow]) -> Appended | Refused:
        self.asked.append(append)
        assert (view.task_id, list(keys)) == (TASK, [KEY])
        if append.fence.n > self.n:
            return Appended(append.fence, len(append.entries), append.entries[-1].hash)
        tip = Tip(Fence(1, "other"), self.seq, "0" * 64) if self.seq else genesis(TASK)
        promised, self.n = Fence(self.n, "other"), self.n + self.grows
        return Refused(self.reason, promised, tip, 0)


async def dispatched(voter: Promised) -> bool:
    """By a sidecar without an agent, beside others that have one: it gives up at once what it begins."""

    async def others_ready() -> bool:
        return True

    node: Any = SimpleNamespace(
        name="n", session="mine", draining=False, link=SimpleNamespace(ready=False), others_ready=others_ready,
        store=SimpleNamespace(voter=voter), clock=SimpleNamespace(wall_ms=lambda: 1),
    )  # fmt: skip
    return await Ownership(node).dispatch(TASK, BODY, KEY, SendCall({}, Caller()))


@pytest.mark.parametrize(("promised", "fences"), [(0, [1]), (1, [1, 2]), (7, [1, 8])])
async def test_it_is_begun_above_every_promise_of_which_nothing_came(promised: int, fences: list[int]) -> None:
    voter = Promised(promised)
    assert await dispatched(voter)
    assert [append.fence for append in voter.asked] == [Fence(n, "mine") for n in fences]
    last = voter.asked[-1]
    assert verify(TASK, last.entries).seq == 3
    assert {entry.fence for entry in last.entries} == {last.fence}


async def test_what_others_have_begun_or_hold_is_left_to_them() -> None:
    for voter in (Promised(3, seq=2), Promised(3, Refusal.GRANTED_ELSEWHERE), Promised(3, Refusal.PURGED)):
        assert not await dispatched(voter)
        assert len(voter.asked) == 1


async def test_a_contest_without_end_is_given_up() -> None:
    voter = Promised(1, grows=5)
    assert not await dispatched(voter)
    assert len(voter.asked) == CLAIM_TRIES
