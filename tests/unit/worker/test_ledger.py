"""Receipts and run data: what a resumed run may believe, and what never goes out changed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sidecar.worker.ledger import DONE, INTENDED, UNKNOWN, Receipts, RunInfo, from_wire, to_wire


def test_run_data_reads_as_sent_though_the_sdk_makes_every_number_a_double() -> None:
    info = RunInfo.parse(
        {
            "attempt": 2.0,
            "fence": 7.0,
            "task": "t-1",
            "resume": {
                "checkpoint": {"next": 20.0, "share": 0.5, "rows": ["a"], "deep": [{"n": 3.0}]},
                "receipts": [{"step": "pay", "phase": "done", "key": "k", "result": 12.0}],
                "delivered": {"statuses": 4.0},
            },
        }
    )
    assert info.supervised
    assert info.resumed
    assert (info.attempt, info.fence, info.task) == (2, 7, "t-1")
    assert info.checkpoint == {"next": 20, "share": 0.5, "rows": ["a"], "deep": [{"n": 3}]}
    assert isinstance(info.checkpoint["next"], int)
    assert info.receipts == ({"step": "pay", "phase": "done", "key": "k", "result": 12},)
    assert info.delivered == {"statuses": 4}


def test_first_run_under_a_sidecar_has_nothing_to_resume() -> None:
    info = RunInfo.parse({"attempt": 1, "fence": 1, "task": "t"})
    assert (info.supervised, info.resumed, info.checkpoint, info.receipts) == (True, False, None, ())


@pytest.mark.parametrize("found", [None, "text", 3, [], True])
def test_anything_else_is_no_sidecar(found: object) -> None:
    assert RunInfo.parse(found) == RunInfo()


@pytest.mark.parametrize(
    "found",
    [
        {"attempt": "two", "fence": None, "resume": "x"},
        {"resume": {"receipts": "x", "delivered": []}},
        {"resume": {"receipts": [1, None, "x"]}},
    ],
)
def test_damaged_run_data_never_raises(found: dict[str, Any]) -> None:
    info = RunInfo.parse(found)
    assert info.supervised
    assert info.receipts == ()
    assert info.attempt == 1


def test_a_receipt_stands_whatever_order_the_marks_come_in() -> None:
    intended = {"step": "pay", "phase": INTENDED, "key": "k"}
    done = {"step": "pay", "phase": DONE, "key": "k", "result": {"id": 9}}
    orders: list[list[dict[str, Any]]] = [[intended, done], [done, intended], [done, {**done, "result": None}]]
    for marks in orders:
        receipts = Receipts(marks)
        assert receipts.done("pay")
        assert receipts.result("pay") == {"id": 9}
        assert receipts.begun("pay") is None


@pytest.mark.parametrize("phase", [INTENDED, UNKNOWN])
def test_an_intent_without_receipt_is_begun_under_its_first_key(phase: str) -> None:
    mark = {"step": "pay", "phase": phase, "key": "k1"}
    receipts = Receipts([mark, {**mark, "key": "k2"}])
    assert not receipts.done("pay")
    assert receipts.begun("pay") == "k1"
    assert receipts.begun("other") is None
    assert receipts.results() == {}
    with pytest.raises(KeyError):
        receipts.result("pay")


def test_marks_without_a_step_are_ignored() -> None:
    assert Receipts([{"phase": DONE}, {"step": 4, "phase": DONE}]).results() == {}


@pytest.mark.parametrize(
    "value",
    [{"a": [1, 2.5, None, True, "x", {"b": []}]}, [], "text", -(2**53), 2**53, False, 0],
)
def test_json_survives_the_wire(value: object) -> None:
    assert from_wire(to_wire(value, "state")) == value


def test_tuples_go_out_as_lists() -> None:
    assert to_wire({"pair": (1, 2)}, "state") == {"pair": [1, 2]}


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, -(2**60), math.nan, math.inf, -math.inf, {1: "x"}, b"raw", {"deep": [object()]}, {"s": {1, 2}}],
)
def test_what_would_not_come_back_equal_is_refused_by_name(value: object) -> None:
    with pytest.raises(ValueError, match="state:"):
        to_wire(value, "state")
