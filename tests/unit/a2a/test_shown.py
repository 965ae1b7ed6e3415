"""What clients have been shown is the same from memory and from the journal."""

from __future__ import annotations

from bridge.a2a.outcomes import Replay, Show, Suspend, drafts
from bridge.a2a.shown import Shown
from bridge.journal import Entry, Fence, Kind, chain, tip_of
from bridge.jsontext import parse_stored
from tests.unit.a2a.model_client import view
from tests.unit.a2a.reconcile_events import Story, art, message, status, task


def entries(story: Story) -> list[Entry]:
    return chain(tip_of("T", []), Fence(1, "s"), 0, story.drafts)


def test_what_a_first_run_shows_is_what_its_journal_folds_to() -> None:
    story = Story()
    assert story.tell(status("WORKING"), art("a", "x"), art("a", "y", append=True)) == [
        "task",
        "working",
        "a = x",
        "a += y",
    ]
    assert view(story.shown()) == view(story.run.shown)
    assert story.shown().task_id == "T"


def test_the_event_is_the_last_member_so_that_it_can_be_spliced() -> None:
    event = art("a", "x")
    (draft,) = drafts([Show(event, "mine", 2)])
    assert draft.body.startswith(b'{"agent":"mine","replaces":2,"event":{')
    assert parse_stored(draft.body) == {"agent": "mine", "replaces": 2, "event": event}
    assert drafts([Show(event, "mine")])[0].body.startswith(b'{"agent":"mine","event":{')
    assert drafts([Show(event, None, 1)])[0].body.startswith(b'{"replaces":1,"event":{')
    assert drafts([Replay({}), Suspend("s")])[0].kind is Kind.SUSPENDED


def test_a_dropped_body_is_skipped_and_the_seal_after_the_end_changes_nothing() -> None:
    story = Story()
    story.tell(status("WORKING"), status("COMPLETED", "done"))
    journal = entries(story)
    journal[1] = journal[1]._replace(body=None)
    shown = Shown.fold(journal)
    assert len(shown.statuses) == 1
    shown.apply(Kind.CLAIMED, {"owner": "x"})
    shown.apply(Kind.FAILED, {"event": status("FAILED")})
    assert shown.finished is Kind.COMPLETED
    assert shown.status == status("COMPLETED", "done")["statusUpdate"]["status"]


def test_ends_without_an_event() -> None:
    for kind, body in ((Kind.EXPIRED, {"reason": "late"}), (Kind.REPLY, {"event": {"message": message("hi")}})):
        shown = Shown()
        shown.apply(kind, body)
        assert shown.finished is kind
        assert shown.status is None
    shown = Shown()
    shown.apply(Kind.EVENT, {"event": {"message": message("hi")}})
    assert view(shown) == view(Shown())


def test_only_the_first_input_after_a_question_answers_it() -> None:
    story = Story()
    story.answer("too early", 0)
    story.tell(status("INPUT_REQUIRED", "why"))
    story.answer("because", 1)
    story.answer("and", 2)
    (question,) = story.shown().questions
    assert question.answer is not None
    assert question.answer["id"] == "i1"
    assert [each["id"] for each in story.shown().inputs] == ["i0", "i1", "i2"]


def test_a_run_that_is_bound_again_is_the_same_run() -> None:
    story = Story()
    story.tell(art("a", "x"))
    shown = story.shown()
    shown.apply(Kind.BOUND, {"endpoint": "e", "task": "t", "context": "c", "fresh": False})
    assert shown.own == {"a": "a"}
    shown.apply(Kind.BOUND, {"endpoint": "e", "task": "t", "context": "c", "fresh": True})
    assert shown.own == {}


def test_of_two_artifacts_with_one_id_the_first_counts() -> None:
    shown = Shown()
    twice = [{"artifactId": "a", "parts": [{"text": "1"}]}, {"artifactId": "a", "parts": [{"text": "2"}]}]
    shown.show({"task": task(artifacts=twice)})
    assert shown.artifacts["a"].content.parts == [{"text": "1"}]


def test_an_artifact_remembers_every_id_that_agents_had_for_it() -> None:
    shown = Shown()
    shown.show(art("a", "x"))
    shown.show(art("a", "y", append=True), "b")
    shown.show(art("a", "z", append=True), "b")
    assert shown.artifacts["a"].agents == ["a", "b"]


def test_an_answer_is_owed_while_the_agent_asks_on_and_does_not_know_it() -> None:
    answer = {"id": "m2", "message": {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "blue"}]}}
    asked = status("INPUT_REQUIRED", "which?")
    story = Story()
    story.tell(asked)
    shown = story.shown()
    asking = task("INPUT_REQUIRED", "which?")
    assert shown.owed(asking) is None, "nothing was answered"
    assert Shown().owed(asking) is None, "nothing was asked"
    assert shown.awaits(asking)
    assert not shown.awaits(task("WORKING"))
    assert not shown.awaits(task("INPUT_REQUIRED", "another?"))
    assert not shown.awaits(task("INPUT_REQUIRED")), "an answered one stands on without its message"
    assert not Shown().awaits(asking)
    shown.apply(Kind.INPUT, answer)
    assert shown.owed(asking) == answer
    assert not shown.awaits(asking)
    assert shown.owed({**asking, "history": [{"messageId": "m1"}]}) == answer
    assert shown.owed({**asking, "history": [{"messageId": "m1"}, answer["message"]]}) is None
    assert shown.owed({**asking, "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}) is None
    assert shown.owed({}) is None
    shown.show(status("WORKING"))
    assert shown.owed(asking) is None, "the run has gone on"
