"""The artifact rules of 5-reconcile.md, one by one."""

from __future__ import annotations

from typing import Any

from bridge.a2a.extension import Marks
from bridge.a2a.outcomes import Show, Step
from bridge.a2a.remaking import SUPERSEDED, is_random
from tests.unit.a2a.reconcile_events import Story, art, status, task

Json = dict[str, Any]

RANDOM = "9ddaa1c5-2083-417d-8d2a-5349b38d03cc"
OTHER = "440cc2d6-ae20-41fa-bf1b-aa5e31307085"
NAMED = "9ddaa1c5-2083-517d-8d2a-5349b38d03cc"


def test_an_append_to_an_unknown_artifact_is_shown_as_a_creation() -> None:
    story = Story()
    assert story.tell(art("a", "x", append=True)) == ["task", "a = x"]
    story.again()
    assert story.tell(art("b", "y", append=True, last=True)) == ["b = y ."]


def test_a_repeat_is_swallowed_whatever_its_chunks() -> None:
    story = Story()
    story.tell(status("WORKING", "a"), art("a", "one "), art("a", "two", append=True, last=True))
    story.again()
    assert (
        story.tell({"task": task()}, status("WORKING", "a", "n"), art("a", "o"), art("a", "ne tw", append=True))
        == []
    )
    assert story.tell(art("a", "o three", append=True, last=True)) == ["a +=  three"]
    assert story.tell(art("a", " four", append=True)) == ["a +=  four"]
    assert story.tell(status("COMPLETED")) == ["completed"]
    assert story.held() == {"a": "one two three four"}


def test_a_difference_is_held_until_it_is_longer_and_replaced_once() -> None:
    story = Story()
    story.tell(art("a", "one two"))
    story.again()
    assert story.tell(art("a", "one "), art("a", "thr", append=True)) == []
    assert story.tell(art("a", "ee", append=True)) == ["rewind a", "a = one three"]
    assert story.tell(art("a", "!", append=True)) == ["a += !"]


def test_a_difference_that_is_finished_is_not_held() -> None:
    story = Story()
    story.tell(art("a", "one two"))
    story.again()
    assert story.tell(art("a", "three", last=True)) == ["rewind a", "a = three ."]


def test_replacements_are_counted_so_that_an_older_version_is_known_to_repeat() -> None:
    story = Story()
    story.tell(art("a", "draft"), art("a", "final"))
    story.again()
    assert story.tell(art("a", "draft and more"), art("a", "!", append=True)) == []
    assert story.tell(art("a", "fin"), art("a", "al.", append=True)) == ["a += ."]


def test_a_live_artifact_that_changes_nothing_is_not_shown() -> None:
    story = Story()
    story.tell(art("a", "x", name="n", metadata={"k": 1}), art("a", append=True, last=True))
    story.again()
    assert story.tell(art("a", "x", name="n", metadata={"k": 1})) == []
    assert (
        story.tell(art("a", "", append=True, metadata={"k": 1}), art("a", "x", name="n", metadata={"k": 1})) == []
    )
    assert story.tell(art("a", "", append=True, metadata={"k": 2})) == ["a += "]
    assert story.tell(art("a", "x", name="m")) == ["a = x"]
    assert story.tell(art("a", append=True, last=True)) == ["a +=  ."]


def test_changed_metadata_travels_with_what_goes_beyond() -> None:
    story = Story()
    story.tell(art("a", "x", metadata={"k": 1, "l": 1}))
    run = story.again()
    (tail,) = run.receive(art("a", "xy", metadata={"k": 2, "l": 1}, name="n"))
    assert isinstance(tail, Show)
    expected = art("a", "y", append=True, metadata={"k": 2}, name="n")
    assert tail.event == expected
    # Names cannot be appended: at the end the artifact is replaced.
    assert story.note(run.receive(status("COMPLETED"))) == ["rewind a", "a = xy", "completed"]


def test_the_end_settles_everything() -> None:
    story = Story()
    story.tell(
        art("a", "long text"), art("b", "x", name="b"), art("c", "y"), art("d", "z"), status("WORKING", "more")
    )
    story.again()
    story.tell(art("a", "long", last=True), art("c", "y"), art("d", "z", metadata={"k": 1}))
    assert story.tell(status("COMPLETED")) == [
        "rewind a",
        "a = long .",
        "rewind b",
        f"b = {SUPERSEDED} .",
        "rewind 0",
        "completed",
    ]
    assert story.run.shown.artifacts["b"].head == {"name": "b"}


def test_a_missing_last_chunk_is_sent_and_an_unnamed_artifact_superseded() -> None:
    story = Story()
    story.tell(art("a", "x"), art("a", "x"), art("b", "y"))
    story.again()
    # The count is lower to the end, so the last chunk never passed.
    assert story.tell(art("a", "x", last=True)) == []
    assert story.tell(status("FAILED")) == ["a +=  .", "rewind b", f"b = {SUPERSEDED} .", "failed"]


def test_an_artifact_is_found_by_map_by_journalled_id_by_random_id_and_name() -> None:
    story = Story()
    story.tell(art(RANDOM, "x", name="n"), art("a", "y", name="n"), art(NAMED, "z", name="n"))
    run = story.again()
    # Not by name: the name of another kind of id.
    assert story.tell(art("b", "y", name="n")) == ["b = y"]
    assert story.tell(art(OTHER, "x", name="n"), art(OTHER, "+", append=True)) == [f"{RANDOM} += +"]
    assert run.shown.artifacts[RANDOM].agents == [RANDOM, OTHER]
    assert story.tell(art(RANDOM, "new", name="n")) == [f"{RANDOM}-2 = new"]
    run = story.again()
    # The journalled id of an earlier run is as good as a map.
    assert story.tell(art(OTHER, "x+!", name="other")) == [f"{RANDOM} += !"]


def test_random_ids() -> None:
    assert is_random(RANDOM)
    assert is_random(RANDOM.replace("-", "").upper())
    assert not is_random(NAMED)
    assert not is_random("result")


def test_a_step_while_repeating_notes_a_place_and_while_holding_the_content() -> None:
    story = Story()
    story.tell(art("a", "one two"), art("b", "x"), art("c", "v1"), art("c", "v2"), art("e", "v1"), art("e", "v1"))
    run = story.again()
    story.tell(art("a", "one"), art("b", "other", metadata={"k": 1}, last=False), art("c", "v1"), art("e", "v1"))
    story.note(run.receive(art("d", "new", last=True), Marks({"at": 1})))
    assert story.held()["b"] == "other"
    story.tell(art("b", "othEr"))
    outcomes = run.receive(art("a", " t", append=True), Marks({"at": 2}))
    step = outcomes[-1]
    assert isinstance(step, Step)
    items = {each["public"]: each for each in step.position["artifacts"]}
    assert items["a"]["place"] == [1, 5]
    assert items["c"]["parts"] == [{"text": "v1"}]
    assert items["e"].keys() == {"public", "count"}
    assert items["d"].keys() == {"public", "count"}
    story.note(outcomes)
    story.again()
    assert story.tell(art("a", "wo", append=True), art("d", "!", append=True)) == ["d += !"]
    assert story.tell(art("c", "v2"), art("c", "+", append=True)) == ["c += +"]


def test_a_run_that_starts_while_an_artifact_was_held_goes_on_holding() -> None:
    story = Story()
    story.tell(art("a", "one two"))
    run = story.again()
    story.note(run.receive(art("a", "one TWO"), Marks("s")))
    story.again()
    assert story.tell(art("a", "!", append=True)) == ["rewind a", "a = one TWO!"]


def test_a_step_notes_whose_artifact_it_is_and_what_its_head_is() -> None:
    story = Story()
    story.tell(art(RANDOM, "one two", name="n", metadata={"k": 1}, last=True))
    run = story.again()
    outcomes = run.receive(art(OTHER, "one", name="n"), Marks("s"))
    story.note(outcomes)
    (step,) = outcomes
    assert isinstance(step, Step)
    assert step.position["artifacts"] == [
        {"public": RANDOM, "count": 0, "agent": OTHER, "head": {"name": "n"}, "closed": False, "place": [1, 3]}
    ]
    story.again()
    assert story.tell(art(OTHER, " two three", append=True)) == [f"{RANDOM} +=  three"]
    assert story.tell(status("COMPLETED")) == [f"rewind {RANDOM}", f"{RANDOM} = one two three", "completed"]


def test_a_description_that_differs_is_replaced_at_the_end() -> None:
    story = Story()
    story.tell(art("a", "x", description="old", extensions=["e"]))
    story.again()
    assert story.tell(art("a", "x", description="new", extensions=["e"])) == []
    assert story.tell(status("COMPLETED")) == ["rewind a", "a = x", "completed"]
    assert story.run.shown.artifacts["a"].head["description"] == "new"
