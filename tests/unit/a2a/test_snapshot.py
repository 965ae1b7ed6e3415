"""A Task object of a running agent: its differences are events, and what it repeats is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.a2a.extension import CONTINUES, Marks
from tests.unit.a2a.reconcile_events import Story, art, message, status, task

Json = dict[str, Any]


def held(artifact: str, *parts: str, **head: Any) -> Json:
    return {"artifactId": artifact, "parts": [{"text": part} for part in parts], **head}


def working() -> Story:
    story = Story()
    story.tell({"task": task()}, status("WORKING", "1", "m1"), art("a", "one ", metadata={"k": 1}))
    return story


def see(story: Story, seen: Json) -> list[str]:
    return story.note(story.run.snapshot(seen))


def test_what_fell_between_two_connections_is_shown() -> None:
    story = working()
    seen = task(
        "WORKING",
        "3",
        "m3",
        history=[message("go", "u", "ROLE_USER"), message("1", "m1"), message("2", "m2")],
        artifacts=[held("a", "one ", "two", metadata={"k": 2}), held("b", "new")],
    )
    assert see(story, seen) == ["working 2", "a += two", "b = new", "working 3"]
    assert story.run.shown.artifacts["a"].head == {"metadata": {"k": 2}}
    assert see(story, seen) == []
    story.restart(fresh=True)
    assert see(story, seen) == []


def test_a_snapshot_with_less_shows_nothing() -> None:
    story = working()
    assert see(story, task("WORKING", "1", "m1", artifacts=[held("a", "one")])) == []
    assert see(story, task()) == []
    assert see(story, task("WORKING", "1", "m1", artifacts=[held("a", "one ", metadata={"k": 1})])) == []


@pytest.mark.parametrize("artifact", [held("a", "ONE", metadata={"k": 1}), held("a", "one ", name="n")])
def test_a_snapshot_that_differs_replaces(artifact: Json) -> None:
    story = working()
    text = artifact["parts"][0]["text"]
    assert see(story, task("WORKING", "1", "m1", artifacts=[artifact])) == [f"a = {text}"]


def test_a_snapshot_may_bring_the_end() -> None:
    story = working()
    assert see(story, task("COMPLETED", "done", "m2", history=[message("1", "m1")])) == ["completed done"]


def test_the_same_words_with_another_message_id_are_another_status() -> None:
    story = working()
    assert see(story, task("WORKING", "1", "m2", history=[message("1", "m1")])) == ["working 1"]
    story.tell(status("WORKING"))
    assert see(story, task("WORKING", history=[message("1", "m1"), message("1", "m2")])) == []


def test_a_tasks_own_history_is_known_when_it_is_shown_first() -> None:
    story = Story()
    seen = task("WORKING", history=[message("1", "m1")])
    assert see(story, seen) == ["task"]
    assert see(story, seen) == []


def test_a_re_runs_first_task_is_a_snapshot_of_it() -> None:
    story = working()
    story.again()
    assert story.tell({"task": task()}) == []
    assert story.tell({"task": task("WORKING", "1", "n1", artifacts=[held("a", "one", metadata={"k": 1})])}) == []
    assert story.tell(art("a", " two", append=True)) == ["a += two"]


def test_a_snapshot_of_a_re_run_moves_past_what_was_told() -> None:
    story = working()
    story.tell(status("WORKING", "2", "m2"), status("WORKING", "3", "m3"), status("WORKING", "4", "m4"))
    story.again()
    assert see(story, task("WORKING", "3", "n3", history=[message("1", "n1"), message("2", "n2")])) == []
    assert story.tell(status("WORKING", "4", "n4"), status("WORKING", "5", "n5")) == ["working 5"]
    # The sidecar restarts: the history goes back to where the run began.
    story.restart(fresh=False)
    said = [message(str(n), f"n{n}") for n in range(1, 6)]
    assert see(story, task("WORKING", "6", "n6", history=said)) == ["working 6"]


def test_a_restart_between_swallowed_statuses_finds_them_again() -> None:
    story = working()
    story.tell(status("WORKING", "2", "m2"), status("WORKING", "3", "m3"))
    run = story.again()
    story.note(run.receive(status("WORKING", "1", "n1"), Marks("s")))
    story.note(run.receive(status("WORKING", "2", "n2"), Marks("s")))
    story.restart(fresh=False)
    assert see(story, task("WORKING", "2", "n2", history=[message("1", "n1")])) == []
    assert story.tell(status("WORKING", "3", "n3")) == []


def test_what_this_run_missed_is_told_after_a_rewind() -> None:
    story = working()
    story.tell(status("WORKING", "2", "m2"))
    story.again()
    seen = task("WORKING", "c", "n3", history=[message("1", "n1"), message("b", "n2")])
    assert see(story, seen) == ["rewind 1", "working b", "working c"]


def test_auth_required_that_clients_look_at_is_not_shown_again() -> None:
    story = working()
    story.tell(status("AUTH_REQUIRED", "log in", "m2"))
    story.again()
    seen = task("AUTH_REQUIRED", "log in", "n2", history=[message("1", "n1")])
    assert see(story, seen) == []
    assert see(story, seen) == []


def test_auth_required_that_clients_no_longer_look_at_is() -> None:
    story = working()
    story.tell(status("AUTH_REQUIRED", "log in", "m2"), status("WORKING", "2", "m3"))
    story.again()
    seen = task("AUTH_REQUIRED", "log in", "n2", history=[message("1", "n1")])
    assert see(story, seen) == ["rewind 1", "auth_required log in"]


def test_a_question_in_a_snapshot_is_asked_or_answered() -> None:
    story = working()
    asked = task("INPUT_REQUIRED", "why", "m2", history=[message("1", "m1")])
    assert see(story, asked) == ["input_required why", "suspend"]
    assert see(story, asked) == []
    story.answer("because")
    # The agent has its answer, and says nothing of it yet.
    answer = message("because", "i1", "ROLE_USER")
    went_on = task("INPUT_REQUIRED", history=[message("1", "m1"), message("why", "m2"), answer])
    assert see(story, went_on) == []
    story.again()
    assert see(story, task("INPUT_REQUIRED", "why", "n2", history=[message("1", "n1")])) == ["replay"]
    # A question without a word, after another message of the client's, is a question.
    other = task("INPUT_REQUIRED", history=[message("go", "u", "ROLE_USER")])
    assert see(story, other) == ["input_required", "suspend"]


def test_an_answer_that_was_replayed_before_a_restart_is_used_up() -> None:
    story = working()
    story.tell(status("INPUT_REQUIRED", "why", "m2"))
    story.answer("because")
    story.tell(status("WORKING", "2", "m3"))
    story.again()
    assert story.tell(status("INPUT_REQUIRED", "why", "n1"), status("WORKING", "x", "n2")) == [
        "replay",
        "rewind 0",
        "working x",
    ]
    story.restart(fresh=False)
    history = [message("why", "n1"), message("because", "i1", "ROLE_USER")]
    assert see(story, task("WORKING", "x", "n2", history=history)) == []
    history.append(message("x", "n2"))
    assert see(story, task("INPUT_REQUIRED", "why", "n3", history=history)) == ["input_required why", "suspend"]


def test_a_replayed_question_in_a_history_is_no_news_and_its_answer_used_up() -> None:
    story = working()
    story.tell(status("INPUT_REQUIRED", "why", "m2"))
    story.answer("because")
    story.tell(status("WORKING", "2", "m3"))
    story.again()
    # Other words first: what was told is cut before the question, which is then answered by replay.
    story.tell(status("WORKING", "x", "n1"))
    story.again()
    history = [message("why", "o1"), message("because", "i1", "ROLE_USER")]
    assert see(story, task("WORKING", "x", "o2", history=history)) == []
    assert story.tell(status("INPUT_REQUIRED", "why", "o3")) == ["input_required why", "suspend"]


def test_an_agent_that_resumed_inside_an_artifact_shows_only_the_rest_of_it() -> None:
    story = working()
    story.note(story.run.receive(art("a", "two ", append=True), Marks("s")))
    story.again()
    assert story.tell(art("a", "three", append=True)) == ["a += three"]
    rest = held("a", "three", " four", metadata={CONTINUES: True, "k": 2})
    begun_here = held("b", "x", metadata={CONTINUES: True})
    assert see(story, task(artifacts=[rest, begun_here])) == ["a +=  four", "b = x"]
    assert story.held() == {"a": "one two three four", "b": "x"}
    assert story.run.shown.artifacts["a"].head == {"metadata": {"k": 2}}
    story.restart(fresh=False)
    assert see(story, task(artifacts=[rest, begun_here])) == []


def test_a_question_answered_by_replay_away_from_its_place_is_no_news_after_a_restart() -> None:
    story = working()
    story.tell(status("INPUT_REQUIRED", "why", "m2"))
    story.answer("because")
    story.tell(status("WORKING", "2", "m3"))
    run = story.again()
    assert story.tell(status("INPUT_REQUIRED", "why", "n1")) == ["replay"]
    story.note(run.receive(status("WORKING", "x", "n2"), Marks("s")))
    story.restart(fresh=False)
    answer = message("because", "i1", "ROLE_USER")
    history = [message("why", "n1"), answer, message("x", "n2")]
    assert see(story, task("WORKING", "y", "n3", history=history)) == ["working y"]
