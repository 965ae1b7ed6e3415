"""Verify: nothing that was changed, cut off, moved or left behind passes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bridge.handoff import State
from bridge.journal import Entry, Fence, Kind, chain, genesis, tip_of, to_line
from sidecar.ops.verify import Stored, read_export, verify
from tests.unit.ops.journals import AT, FIRST, MemoryShelf, draft, killed_and_finished, row

TASK, ENTRIES = killed_and_finished()
STORED = Stored(row(TASK, ENTRIES), MemoryShelf((TASK, ENTRIES)).tips[TASK])


def test_an_honest_journal_holds() -> None:
    verdict = verify(TASK, ENTRIES, STORED)
    assert verdict.wrong == ()
    assert (verdict.entries, verdict.state, verdict.tip.fence.n) == (len(ENTRIES), State.COMPLETED, 2)
    assert verdict.as_json()["ok"] is True


@pytest.mark.parametrize("field", ["seq", "fence", "kind", "at", "body_hash", "prev", "hash", "body"])
@pytest.mark.parametrize("position", [0, 4, len(ENTRIES) - 1])
def test_any_changed_field_of_any_entry_is_found(field: str, position: int) -> None:
    entry = ENTRIES[position]
    other: Any = {
        "seq": entry.seq + 1, "fence": Fence(entry.fence.n, "c" * 32), "kind": Kind.SPEND, "at": entry.at + 1,
        "body_hash": "0" * 64, "prev": "0" * 64, "hash": "0" * 64, "body": (entry.body or b"") + b" ",
    }[field]  # fmt: skip
    changed = [*ENTRIES[:position], entry._replace(**{field: other}), *ENTRIES[position + 1 :]]
    verdict = verify(TASK, changed)
    assert verdict.wrong
    assert verdict.entries <= position


def test_a_missing_a_repeated_and_a_moved_entry_are_found() -> None:
    assert verify(TASK, [*ENTRIES[:3], *ENTRIES[4:]]).wrong
    assert verify(TASK, [*ENTRIES[:4], *ENTRIES[3:]]).wrong
    other, theirs = killed_and_finished("m-2")
    assert verify(other, ENTRIES).wrong
    assert verify(TASK, theirs).wrong


def test_a_rewritten_chain_is_found_by_its_ids_or_by_its_tip() -> None:
    body = json.loads(ENTRIES[0].body or b"{}")
    body["intent"]["inputs"]["message"]["parts"] = [{"text": "transfer the money"}]
    forged = chain(genesis(TASK), FIRST, AT, [draft(Kind.DISPATCHED, **body)])
    assert "not the hash of the intent" in verify(TASK, forged).wrong[0]


def test_entries_cut_off_at_the_end_are_missed_by_the_stored_tip() -> None:
    short = ENTRIES[:-1]
    assert verify(TASK, short).wrong == ()
    (wrong,) = verify(TASK, short, Stored(row(TASK, short), STORED.tip)).wrong
    assert f"the store remembers entry {len(ENTRIES)}" in wrong
    assert verify(TASK, short, Stored(row(TASK, short), None)).wrong


def test_an_illegal_transition_with_right_hashes_is_found() -> None:
    after = chain(STORED.tip or genesis(TASK), ENTRIES[-1].fence, AT, [draft(Kind.EVENT, event={})])
    assert "event in state completed" in verify(TASK, [*ENTRIES, *after]).wrong[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": "running"}, "the row says state 'running'"),
        ({"task_state": "TASK_STATE_FAILED"}, "task_state"),
        ({"context_id": "other"}, "context_id"),
        ({"principal": "eve"}, "principal"),
        ({"listed": False}, "listed"),
        ({"finished": None}, "the finished task is missing"),
        ({"finished": b'{"id":"x"}'}, "not the one that the journal folds to"),
        ({"finished": b"{"}, "cannot be read"),
    ],
)
def test_a_row_that_drifted_is_found(change: dict[str, Any], said: str) -> None:
    assert STORED.view is not None
    (wrong,) = verify(TASK, ENTRIES, Stored(replace(STORED.view, **change), STORED.tip)).wrong
    assert said in wrong


def test_a_finished_task_without_an_end_and_a_missing_row_are_found() -> None:
    task, entries = killed_and_finished(ended=False)
    tip = MemoryShelf((task, entries)).tips[task]
    view = replace(row(task, entries), finished=b"{}")
    assert verify(task, entries, Stored(view, tip)).wrong == ("a finished task is stored, but nothing ended",)
    assert verify(task, entries, Stored(None, tip)).wrong == ("the row that reads use is missing",)


def test_the_row_of_a_voter_among_several_may_be_behind_or_missing_but_not_wrong() -> None:
    task, entries = killed_and_finished(voters=["v1", "v2", "v3"])
    tip = tip_of(task, entries)
    asked, done = row(task, entries[:4]), row(task, entries)
    for right in (Stored(None, tip), Stored(asked, tip, 4), Stored(done, tip, len(entries))):
        assert verify(task, entries, right).wrong == ()
    for drifted in (
        Stored(replace(asked, state="review"), tip, 4),
        Stored(replace(done, finished=b"{}"), tip, 12),
    ):
        assert verify(task, entries, drifted).wrong
    assert "the store remembers entry" in verify(task, entries[:-1], Stored(asked, tip, 4)).wrong[0]


def test_an_empty_and_an_unreadable_journal_are_wrong() -> None:
    assert verify(TASK, []).wrong == ("the journal is empty",)
    assert verify(TASK, [], unreadable="entry 3: no entry").wrong == ("entry 3: no entry",)


def test_a_body_that_folds_to_no_task_is_wrong_not_a_crash() -> None:
    dispatch = ENTRIES[:3]
    odd = chain(MemoryTip(dispatch), FIRST, AT, [draft(Kind.EVENT, event={"artifactUpdate": [1]})])
    assert verify(TASK, [*dispatch, *odd]).wrong


def MemoryTip(entries: list[Entry]) -> Any:
    return MemoryShelf((TASK, entries)).tips[TASK]


def test_a_superseded_checkpoint_may_lose_its_content_the_newest_may_not() -> None:
    at = next(n for n, entry in enumerate(ENTRIES) if entry.kind == Kind.STEP)
    dropped = [*ENTRIES[:at], ENTRIES[at]._replace(body=None), *ENTRIES[at + 1 :]]
    assert "newest checkpoint" in verify(TASK, dropped).wrong[0]


def test_exports_are_read_line_by_line() -> None:
    other, theirs = killed_and_finished("m-2")
    lines = [to_line(TASK, entry) + b"\n" for entry in ENTRIES] + [to_line(other, entry) for entry in theirs]
    export = read_export([*lines, b"\n", b'{"task": 1}\n', lines[0][:-9]])
    assert export.journals == {TASK: ENTRIES, other: theirs}
    assert [text.split(":")[0] for text in export.wrong] == [f"line {len(lines) + 2}", f"line {len(lines) + 3}"]
