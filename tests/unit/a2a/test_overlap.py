"""The first events of a subscription: what its first Task holds already is not taken again."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.a2a.overlap import Overlap
from tests.unit.a2a.reconcile_events import art, message, status, task

Json = dict[str, Any]
ONE = {"artifactId": "a", "parts": [{"text": "one "}]}
TWO = {"artifactId": "a", "parts": [{"text": "one "}, {"text": "two "}]}


def held(artifact: Json, *history: Json, state: str = "WORKING", text: str = "") -> Json:
    return task(state, text, "s9", artifacts=[artifact], history=list(history))


def safe(before: Json, first: Json, *events: Json) -> int:
    """How many of the events after the first Task are taken."""
    return Overlap(before).safe([{"task": first}, *events]) - 1


@pytest.mark.parametrize(
    ("event", "taken"),
    [
        (art("a", "two ", append=True), 0),  # fell between the tap and the lookup
        (art("a", "one ", append=True), 0),  # was on its way when the Task before was looked up
        (art("a", "three ", append=True), 1),
        (art("b", "two ", append=True), 1),
        (art("a", "one "), 0),
        (art("a", "another"), 1),
        (art("b", "new"), 1),
        (status("WORKING", "said", "s1"), 0),
        (status("WORKING", "now", "s9"), 0),
        (status("WORKING", "said", "s2"), 1),
        (status("WORKING"), 1),
        ({"message": message("odd")}, 1),
    ],
)
def test_what_the_first_task_may_hold_is_not_taken(event: Json, taken: int) -> None:
    first = held(TWO, message("said", "s1"), text="now")
    assert safe(held(ONE), first, event) == taken


def test_what_was_made_long_before_cannot_be_repeated() -> None:
    four = {"artifactId": "a", "parts": [{"text": "one two three four"}]}
    assert safe(held(four), held(four), art("a", "one", append=True)) == 1
    assert safe(held(four), held(four), art("a", "four", append=True)) == 0


def test_a_bare_status_repeats_a_bare_status() -> None:
    assert safe(held(ONE), held(ONE), status("WORKING")) == 0
    assert safe(held(ONE), held(ONE), status("COMPLETED")) == 1


def test_after_the_first_new_event_everything_is_new() -> None:
    again = art("a", "two ", append=True)
    overlap = Overlap(held(ONE))
    assert overlap.safe([{"task": held(TWO)}]) == 1
    assert overlap.safe([art("a", append=True, last=True)]) == 1
    assert not overlap.over
    assert overlap.safe([art("a", "three ", append=True), again]) == 2
    assert overlap.over
    assert overlap.safe([again]) == 1


def test_parts_that_are_no_text_count() -> None:
    part = {"data": {"n": 1}}
    whole = {"artifactId": "a", "parts": [part]}
    assert safe(held({"artifactId": "a", "parts": []}), held(whole), art("a", part, append=True)) == 0
    assert safe(held(whole), held(whole), art("a", {"data": {"n": 2}}, append=True)) == 1


def test_a_stream_that_begins_without_a_task_is_held_against_the_task_before() -> None:
    assert Overlap(held(TWO)).safe([art("a", "two ", append=True)]) == 0
    assert Overlap({}).safe([art("a", "two ", append=True)]) == 1
