"""The status and question rules of 5-reconcile.md, one by one."""

from __future__ import annotations

from typing import Any

from bridge.a2a.extension import Marks
from bridge.a2a.outcomes import Replay
from bridge.a2a.reconcile import Run
from tests.unit.a2a.reconcile_events import Story, art, status, task

Json = dict[str, Any]


def test_a_different_status_rewinds_what_was_told_beyond_it() -> None:
    story = Story()
    story.tell(status("WORKING", "1"), status("WORKING", "2"), status("WORKING", "3"))
    story.again()
    assert story.tell(status("WORKING", "1"), status("WORKING", "3")) == ["rewind 1", "working 3"]
    assert story.tell(status("WORKING", "4")) == ["working 4"]
    story.again()
    assert story.tell(status("WORKING", "1"), status("WORKING", "3"), status("WORKING", "4")) == []


def test_statuses_compare_by_state_role_and_content() -> None:
    story = Story()
    story.tell(status("WORKING", "1"))
    for other in (status("SUBMITTED", "1"), status("SUBMITTED"), status("WORKING", "2")):
        run = Run(story.shown(), fresh=False)
        assert len(run.receive(other)) == 2
    by_user = status("WORKING", "1")
    by_user["statusUpdate"]["status"]["message"]["role"] = "ROLE_USER"
    assert len(Run(story.shown(), fresh=False).receive(by_user)) == 2


def test_a_status_without_words_tells_no_other_story() -> None:
    """An agent's Task does not show it: who read the first run from one has not told it, and a re-run says it."""
    read, streamed = ["1", "2"], ["", "1", "", "2", ""]
    for first, again in ((read, streamed[:4]), (streamed, read)):
        story = Story()
        story.tell(*(status("WORKING", text) for text in first))
        story.again()
        assert story.tell(*(status("WORKING", text) for text in again)) == []
        assert len(story.tell(status("WORKING", "3"))) == 1 + (first is streamed)
    story = Story()
    story.tell(status("WORKING", "1"))
    story.again()
    assert len(story.tell(status("WORKING", "1"), status("WORKING"))) == 1, "the last word is news"


def test_what_a_task_has_said_before_it_was_first_seen_is_told() -> None:
    story = Story()
    said = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "1"}]}
    story.note(story.run.snapshot(task("WORKING", "2", history=[said])))
    story.again()
    assert story.tell(status("WORKING", "1"), status("WORKING", "2")) == []


def test_auth_required_is_always_shown_again() -> None:
    story = Story()
    story.tell(status("AUTH_REQUIRED", "log in"), status("WORKING", "1"))
    story.again()
    assert story.tell(status("AUTH_REQUIRED", "log in"), status("WORKING", "1")) == [
        "rewind 0",
        "auth_required log in",
        "working 1",
    ]


def test_an_answer_is_replayed_to_the_identical_question_and_once() -> None:
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    story.tell(status("WORKING", "thanks"))
    run = story.again()
    (replay,) = run.receive(status("INPUT_REQUIRED", "why", "other"))
    assert isinstance(replay, Replay)
    assert replay.message["message"]["parts"] == [{"text": "because"}]
    assert story.tell(status("WORKING", "thanks")) == []
    assert story.tell(status("INPUT_REQUIRED", "why")) == ["input_required why", "suspend"]


def test_another_question_is_asked_after_what_differs_was_replaced() -> None:
    story = Story()
    story.tell(art("a", "text"), status("INPUT_REQUIRED", "why"))
    story.answer("because")
    story.again()
    story.tell(art("a", "te"))
    assert story.tell(status("INPUT_REQUIRED", "how")) == [
        "rewind a",
        "a = te",
        "rewind 0",
        "input_required how",
        "suspend",
    ]


def test_a_question_that_still_stands_is_not_asked_twice() -> None:
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.again()
    assert story.tell(status("INPUT_REQUIRED", "why")) == ["suspend"]
    story.answer("because")
    assert story.tell(status("WORKING", "thanks")) == ["working thanks"]


def test_a_question_that_was_passed_without_an_answer_is_a_repeat() -> None:
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"), status("WORKING", "never mind"))
    story.answer("too late")
    story.again()
    assert story.tell(status("INPUT_REQUIRED", "why"), status("WORKING", "never mind")) == []


def test_a_used_answer_does_not_silence_the_question() -> None:
    story = Story()
    story.tell(status("WORKING", "1"), status("INPUT_REQUIRED", "why"))
    story.answer("because")
    story.again()
    # Asked before its place: the answer is used up when the run comes to where it stood.
    assert story.tell(status("INPUT_REQUIRED", "why"), status("WORKING", "1")) == ["replay"]
    assert story.tell(status("INPUT_REQUIRED", "why")) == ["rewind 1", "input_required why", "suspend"]


def test_a_step_on_a_replayed_question_still_owes_its_answer() -> None:
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    run = story.again()
    assert story.note(run.receive(status("INPUT_REQUIRED", "why"), Marks("s"))) == ["step", "replay"]
    owed = story.again().owed
    assert owed is not None
    assert owed["id"] == "i1"
