"""One rule for which entries change what clients read."""

from __future__ import annotations

from typing import Any

from bridge.a2a.fold import TaskFold
from bridge.a2a.refold import FOLDED, advance, refold
from bridge.journal import Draft, Fence, Kind, chain, genesis
from bridge.jsontext import write
from tests.unit.a2a.reconcile_events import art, message, status, task

Json = dict[str, Any]
FIRST = message("go", "m1", "ROLE_USER")


def journal(*bodies: tuple[Kind, Json]) -> list[Any]:
    drafts = [Draft(kind, write(body)) for kind, body in bodies]
    return chain(genesis("T"), Fence(1, "s"), 0, drafts)


DISPATCHED = (Kind.DISPATCHED, {"intent": {"inputs": {"message": FIRST}}})


def test_a_journal_folds_to_what_its_events_and_inputs_say() -> None:
    entries = journal(
        DISPATCHED,
        (Kind.CLAIMED, {"owner": "a"}),
        (Kind.EVENT, {"event": status("INPUT_REQUIRED", "which?")}),
        (Kind.INPUT, {"id": "m2", "message": message("this", "m2", "ROLE_USER")}),
        (Kind.STEP, {"state": 1, "receipts": [], "position": {}}),
        (Kind.EVENT, {"event": art("r", "x")}),
        (Kind.COMPLETED, {"event": status("COMPLETED")}),
    )
    fold = refold(entries)
    assert fold.state == "TASK_STATE_COMPLETED"
    said = [each["messageId"] for each in fold.task()["history"]]
    assert said[0] == "m1"
    assert "m2" in said
    assert fold.task()["artifacts"][0]["parts"] == [{"text": "x"}]


def test_a_fold_is_continued_where_it_stopped() -> None:
    shown = {"task": task()}
    entries = journal(DISPATCHED, (Kind.EVENT, {"event": shown}), (Kind.EVENT, {"event": art("r", "x")}))
    assert refold(entries[2:], refold(entries[:2])).task() == refold(entries).task()


def test_kinds_that_clients_do_not_read_and_bodies_that_are_gone_change_nothing() -> None:
    fold = TaskFold()
    for kind in Kind:
        if kind not in FOLDED:
            assert advance(fold, kind, {"event": art("r", "x")}) is fold
    assert advance(fold, Kind.EVENT, {}) is fold
    assert not fold.exists
    entries = journal((Kind.EVENT, {"event": art("r", "x")}))
    assert not refold([entries[0]._replace(body=None)]).exists
