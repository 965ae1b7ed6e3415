"""Beginnings, steps and ends of runs (5-reconcile.md)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bridge.a2a.extension import NO_MARKS, Marks
from bridge.a2a.outcomes import Finish, Show, Step
from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from bridge.journal import Kind
from tests.unit.a2a.reconcile_events import Story, art, message, status, task

Json = dict[str, Any]


def test_a_first_run_passes_untouched() -> None:
    story = Story()
    events = [
        {"task": task()},
        status("WORKING"),
        art("a", "x"),
        art("a", "y", append=True),
        art("a", "z"),
        status("COMPLETED"),
    ]
    outcomes = [story.run.receive(event) for event in events]
    assert [each.event for out in outcomes for each in out if isinstance(each, Show | Finish)] == events
    assert outcomes[4] == [Show(events[4], None, 1)]


def test_a_task_is_made_up_where_the_agent_sends_none() -> None:
    run = Run(Shown(), fresh=True, seed=task(history=[message("go", "u", "ROLE_USER")]))
    shown = run.receive(status("WORKING"))[0]
    assert isinstance(shown, Show)
    assert shown.event["task"]["history"][0]["messageId"] == "u"
    assert Story().tell(art("a", "x")) == ["task", "a = x"]


def test_a_task_that_is_made_up_is_in_the_context_that_its_agent_opened() -> None:
    said = {**message("go", "u", "ROLE_USER"), "contextId": ""}
    run = Run(Shown(), fresh=True, seed=task(contextId="", history=[said]))
    event = status("WORKING")
    event["statusUpdate"]["contextId"] = "opened"
    shown = run.receive(event)[0]
    assert isinstance(shown, Show)
    assert shown.event["task"]["contextId"] == shown.event["task"]["history"][0]["contextId"] == "opened"
    assert run.shown.context_id == "opened"
    run = Run(Shown(), fresh=True, seed=task(contextId="named"))
    run.receive(event)
    assert run.shown.context_id == "named"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("COMPLETED", ["task", "completed done"]),
        ("INPUT_REQUIRED", ["task", "input_required done", "suspend"]),
        ("WORKING", ["task"]),
        ("AUTH_REQUIRED", ["task"]),
    ],
)
def test_a_task_that_is_over_or_waits_at_once_is_shown_as_begun_first(state: str, told: list[str]) -> None:
    story = Story()
    assert (
        story.note(story.run.snapshot(task(state, "done", artifacts=[{"artifactId": "a", "parts": []}]))) == told
    )
    assert [*story.run.shown.artifacts] == ["a"]
    assert story.run.shown.status == status(state, "done")["statusUpdate"]["status"]


def test_a_message_is_a_reply_or_the_end_of_a_task_that_clients_follow() -> None:
    story = Story()
    assert story.tell({"message": message("hi")}) == ["reply"]
    assert story.run.shown.finished is Kind.REPLY
    story = Story()
    assert story.tell(status("WORKING"), {"message": message("hi")}) == ["task", "working", "completed hi"]
    assert story.tell({}) == []


def test_what_the_sidecar_ends_stays_as_it_is() -> None:
    story = Story()
    story.tell(art("a", "text"), status("WORKING", "w"))
    story.again()
    story.tell(art("a", "oth"))
    outcomes = story.run.finish_by_sidecar("TASK_STATE_FAILED", message("spent"), reason="budget")
    assert story.note(outcomes) == ["failed spent"]
    assert story.held() == {"a": "text"}
    assert story.drafts[-1].kind is Kind.FAILED
    assert story.drafts[-1].body.startswith(b'{"reason":"budget","event":')
    story = Story()
    assert story.note(story.run.finish_by_sidecar("TASK_STATE_CANCELED")) == ["task", "canceled"]


def step_of(run: Run, event: Json, state: Any = "s", **marks: Any) -> Step:
    steps = [each for each in run.receive(event, Marks(state, **marks)) if isinstance(each, Step)]
    assert len(steps) == 1
    return steps[0]


def test_a_step_follows_its_carrier_and_the_record_that_the_run_waits() -> None:
    story = Story()
    story.tell({"task": task()})
    outcomes = story.run.receive(status("INPUT_REQUIRED", "why"), Marks("s"))
    assert story.note(outcomes) == ["input_required why", "suspend", "step"]
    assert story.run.shown.cut is not None
    assert story.run.shown.cut.pending == 0
    story.answer("because")
    run = story.again()
    assert run.owed is not None
    assert run.owed["id"] == "i1"
    assert story.tell(status("WORKING", "thanks")) == ["working thanks"]
    assert run.owed is None


def test_a_step_behind_an_answer_that_was_sent_waits_for_nothing() -> None:
    """An agent that checkpoints before it says anything more would be given the same answer twice."""
    story = Story()
    story.note(story.run.receive(status("INPUT_REQUIRED", "why"), Marks("asked")))
    story.answer("because")
    assert "pending" in step_of(story.run, status("INPUT_REQUIRED", "why"), bare=True).position
    story.run.answer_sent()
    assert "pending" not in step_of(story.run, status("INPUT_REQUIRED", "why"), bare=True).position
    story.note(story.run.receive(status("INPUT_REQUIRED", "why"), Marks("answered", bare=True)))
    assert story.again().owed is None


def test_a_run_that_begins_at_an_open_question_and_asks_it_once_more_waits_there() -> None:
    """Its step is durable and that it waits is not: the run is begun again, and clients look at the question."""
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    story.note(story.run.receive(status("INPUT_REQUIRED", "why", "m2"), Marks("asked twice")))
    assert story.again().owed is None
    assert story.tell(status("INPUT_REQUIRED", "why", "m3")) == ["suspend"]
    story.answer("once more", 2)
    story.again()
    assert story.tell(status("INPUT_REQUIRED", "how")) == ["input_required how", "suspend"]


def test_a_replayed_answer_is_owed_until_it_was_sent() -> None:
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    run = story.again()
    assert story.note(run.receive(status("INPUT_REQUIRED", "why"), Marks("asked"))) == ["step", "replay"]
    assert run.owed is not None
    run.answer_sent()
    assert story.note(run.receive(status("INPUT_REQUIRED", "why"), Marks("went on", bare=True))) == ["step"]
    assert story.again().owed is None


def test_a_replayed_answer_whose_request_was_lost_is_still_owed() -> None:
    """But never to a run that was heard of since, or whose Task shows that it has its answer."""
    story = Story()
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    story.tell(status("WORKING", "thanks"))
    asking = {"status": status("INPUT_REQUIRED", "why")["statusUpdate"]["status"], "history": []}
    run = story.again()
    assert story.note(run.receive(status("INPUT_REQUIRED", "why"))) == ["replay"]
    run.answer_sent()
    answer = run.owes(asking)
    assert answer is not None
    assert answer["id"] == "i1"
    assert run.owes({**asking, "history": [answer["message"]]}) is None
    assert run.owes({**asking, "status": status("INPUT_REQUIRED", "how")["statusUpdate"]["status"]}) is None
    for news in (
        (status("WORKING", "thanks"), NO_MARKS),
        (art("a", "x"), NO_MARKS),
        (status("INPUT_REQUIRED", "why"), Marks("went on", bare=True)),
    ):
        run = story.again()
        assert story.note(run.receive(status("INPUT_REQUIRED", "why"))) == ["replay"]
        run.answer_sent()
        run.receive(*news)
        assert run.owes(asking) is None


def test_a_lost_answer_is_that_to_the_question_at_which_the_run_stands() -> None:
    """The same question was asked twice: the run that asks it for the first time gets the first answer."""
    story = Story()
    for number in (1, 2):
        story.tell(status("INPUT_REQUIRED", "why"))
        story.answer(f"because {number}", number)
    run = story.again()
    asking = {"status": status("INPUT_REQUIRED", "why")["statusUpdate"]["status"], "history": []}
    told: list[Json] = []
    for number in (1, 2):
        assert story.note(run.receive(status("INPUT_REQUIRED", "why", f"m{number}"))) == ["replay"]
        run.answer_sent()
        answer = run.owes({**asking, "history": told})
        assert answer is not None
        assert answer["id"] == f"i{number}"
        told.append(answer["message"])
    assert run.owes({**asking, "history": told}) is None


def test_no_step_follows_the_end() -> None:
    story = Story()
    assert story.note(story.run.receive(status("COMPLETED"), Marks("s"))) == ["task", "completed"]
    assert story.note(Story().run.receive({"message": message("hi")}, Marks("s"))) == ["reply"]


def test_receipts_are_journalled_at_once_and_move_no_cut() -> None:
    story = Story()
    intended, done = {"step": "1", "phase": "intended"}, {"step": "2", "phase": "done"}
    assert story.note(story.run.receive(status("WORKING"), Marks(effects=(intended,)))) == [
        "task", "working", "receipts",
    ]  # fmt: skip
    assert story.run.shown.cut is None
    step = step_of(story.run, art("a", append=True), effects=(done,), bare=True)
    assert step.receipts == (done,)
    assert step_of(story.run, art("a", append=True), bare=True).receipts == ()
    assert story.run.shown.receipts == [intended, done]
    assert "a" not in story.run.shown.artifacts
    ended = story.run.receive(status("COMPLETED"), Marks(effects=(done,)))
    assert story.note(ended) == ["completed"]


def test_a_status_that_only_carries_marks_is_not_told() -> None:
    story = Story()
    story.tell({"task": task()})
    effect = {"step": "1"}
    assert story.note(story.run.receive(status("SUBMITTED"), Marks("s", bare=True))) == ["step"]
    assert story.tell(status("WORKING", "busy")) == ["working busy"]
    assert story.note(story.run.receive(status("WORKING", "busy"), Marks(effects=(effect,), bare=True))) == [
        "receipts"
    ]
    again = story.again()
    assert story.note(again.receive(status("SUBMITTED"), Marks(effects=(effect,), bare=True))) == ["receipts"]
    assert story.tell(status("WORKING", "more")) == ["rewind 0", "working more"]


def test_the_agents_event_is_never_changed() -> None:
    story = Story()
    story.tell(art("a", "x"))
    run = story.again()
    event = art("a", "xy", append=True, metadata={"k": 1}, last=True)
    before = copy.deepcopy(event)
    run.receive(event)
    assert event == before


def test_an_answer_that_was_to_be_replayed_when_its_owner_fell_is_still_owed() -> None:
    story = Story()
    story.tell({"task": task()})
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because")
    assert story.tell(status("WORKING", "thanks")) == ["working thanks"]
    again = story.again()
    asking = {"status": status("INPUT_REQUIRED", "why")["statusUpdate"]["status"], "history": []}
    assert again.owes(asking) is None, "nobody has heard of its question yet"
    assert story.note(again.receive(status("INPUT_REQUIRED", "why"), Marks("s"))) == ["step", "replay"]
    reattached = story.restart(fresh=False)
    answer = reattached.owes(asking)
    assert answer is not None
    assert answer["id"] == "i1"
    assert reattached.owes({**asking, "history": [answer["message"]]}) is None
    assert reattached.owes({**asking, "status": {"state": "TASK_STATE_WORKING"}}) is None
