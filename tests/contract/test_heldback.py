"""What waits for a commit: bounded, and of one fence."""

from __future__ import annotations

import pytest

from bridge.journal import Fence
from sidecar.store import heldback
from sidecar.store.heldback import EACH_MAX, HeldBack, Later
from tests.contract.journals import view_of

A, B = Fence(1, "aa"), Fence(2, "bb")


def later(seq: int, size: int = 0) -> Later:
    return Later(seq, view_of("t", status_at=seq, finished=b"x" * size), (seq,))


def test_what_is_due_stays_until_it_is_on_disk() -> None:
    back = HeldBack()
    for seq in (3, 5, 8):
        back.add("t", A, later(seq))
    assert back.due("t", 5) == back.due("t", 6) == [later(3), later(5)]
    back.forget("t", 5)
    assert back.due("t", 9) == [later(8)]
    back.forget("t", 9)
    back.forget("t", 9)
    assert len(back) == 0


def test_what_an_earlier_fence_left_is_gone_with_the_first_append_of_a_later_one() -> None:
    back = HeldBack()
    back.add("t", A, later(3))
    back.under("t", A)
    assert back.due("t", 3) == [later(3)]
    back.under("t", B)
    assert back.due("t", 3) == []
    back.add("t", A, later(3))
    back.add("t", B, later(4))
    assert back.due("t", 9) == [later(4)]


def test_a_row_that_changes_faster_than_it_commits_keeps_the_next_and_the_newest_and_all_of_the_inbox() -> None:
    back = HeldBack()
    for seq in range(1, EACH_MAX + 4):
        back.add("t", A, later(seq))
    waiting = back.due("t", 99)
    assert [each.seq for each in waiting] == [*range(1, EACH_MAX), EACH_MAX + 3]
    assert sorted(id_ for each in waiting for id_ in each.inbox) == [*range(1, EACH_MAX + 4)]


def test_it_is_bounded_by_tasks_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heldback, "TASKS_MAX", 3)
    monkeypatch.setattr(heldback, "BYTES_MAX", 10_000)
    back = HeldBack()
    for task in ("a", "b", "c", "d"):
        back.add(task, A, later(1))
    assert [task for task in "abcd" if back.due(task, 1)] == ["b", "c", "d"]
    back.add("c", A, later(2, 8_000))
    assert [task for task in "abcd" if back.due(task, 2)] == ["c", "d"]
    back.forget("c", 2)
    back.forget("d", 2)
    for _ in range(100):
        back.add("a", A, later(1, 8_000))
        back.forget("a", 1)
    back.add("a", A, later(1, 8_000))
    assert len(back) == 1
