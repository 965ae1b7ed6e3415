"""What agents are sent: plain to those that know nothing, unmistakable as a resume to those that do."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict

from bridge.a2a.extension import CHECKPOINT, RUN
from bridge.a2a.ids import IdMap
from bridge.a2a.resume import Attempt, Progress, delivered, first_message, followup_message, resume_message

Json = dict[str, Any]

PLAIN = Attempt(1, 7, aware=False)
AWARE = Attempt(2, 9, aware=True)


def request(**message: Any) -> Json:
    return {
        "message": {
            "messageId": "m",
            "role": "ROLE_USER",
            "parts": [{"text": "go"}],
            "metadata": {"mine": 1, RUN: {"attempt": 99}},
            "referenceTaskIds": ["T2"],
            "later": {"x": 1},
            **message,
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "taskPushNotificationConfig": {"url": "http://client"},
            "historyLength": 1,
            "returnImmediately": True,
        },
        "metadata": {"theirs": 2, CHECKPOINT: "forged"},
    }


def test_an_agent_that_knows_nothing_gets_the_clients_message() -> None:
    given = request(contextId="C")
    before = copy.deepcopy(given)
    params = first_message(given, IdMap("T", "C"), PLAIN, {"T2": "a2"}.get)
    assert params == {
        "message": {
            "messageId": "m",
            "role": "ROLE_USER",
            "parts": [{"text": "go"}],
            "metadata": {"mine": 1},
            "referenceTaskIds": ["a2"],
            "later": {"x": 1},
            "contextId": "C",
        },
        "configuration": {"acceptedOutputModes": ["text/plain"]},
        "metadata": {"theirs": 2},
    }
    assert given == before
    assert (
        resume_message(given, IdMap("T", "C"), PLAIN, Progress(1, [{}], answer=given), {"T2": "a2"}.get) == params
    )


def test_an_agent_that_knows_the_extension_is_told_its_run_from_the_first_message_on() -> None:
    params = first_message(request(), IdMap("T", "C"), Attempt(1, 7, aware=True))
    assert params["message"]["metadata"] == {"mine": 1, RUN: {"attempt": 1, "fence": 7, "task": "T"}}


def test_no_task_and_no_empty_context_is_named_at_first() -> None:
    message = first_message(request(taskId="T", contextId="C"), IdMap("T", ""), PLAIN)["message"]
    assert "taskId" not in message
    assert "contextId" not in message


def test_a_bare_message_stays_bare() -> None:
    given = {"message": {"messageId": "m"}, "configuration": {"historyLength": 5}, "metadata": None}
    assert first_message(given, IdMap("T", ""), PLAIN) == {"message": {"messageId": "m"}}


def test_a_resumed_run_sees_that_it_is_one() -> None:
    receipts = [{"step": "pay", "phase": "done"}]
    progress = Progress({"page": 20}, receipts, {"artifacts": {}, "statuses": 4})
    params = resume_message(request(), IdMap("T", "C"), AWARE, progress)
    assert params["message"]["messageId"] == "m"
    assert params["message"]["metadata"] == {
        "mine": 1,
        RUN: {
            "attempt": 2,
            "fence": 9,
            "task": "T",
            "resume": {
                "checkpoint": {"page": 20},
                "receipts": receipts,
                "delivered": {"artifacts": {}, "statuses": 4},
            },
        },
    }
    ParseDict(params, a2a_pb2.SendMessageRequest(), ignore_unknown_fields=True)


def test_a_resume_without_a_checkpoint_still_is_a_resume() -> None:
    run = resume_message({"message": {"messageId": "m"}}, IdMap("T", "C"), AWARE, Progress())["message"][
        "metadata"
    ]
    assert run == {RUN: {"attempt": 2, "fence": 9, "task": "T", "resume": {"receipts": [], "delivered": {}}}}


@pytest.mark.parametrize("state", [0, False, "", [], {}])
def test_a_false_looking_state_is_a_state(state: Any) -> None:
    run = resume_message(request(), IdMap("T", "C"), AWARE, Progress(state))["message"]["metadata"][RUN]
    assert run["resume"]["checkpoint"] is state


ANSWER = {
    "id": "n",
    "digest": "0" * 64,
    "message": {"messageId": "n", "taskId": "T", "contextId": "C", "parts": [{"text": "yes"}]},
    "configuration": {"acceptedOutputModes": ["text/html"]},
}


def test_a_step_taken_at_a_question_is_resumed_by_its_answer() -> None:
    params = resume_message(request(), IdMap("T", "C"), AWARE, Progress("at the question", answer=ANSWER))
    metadata = params["message"].pop("metadata")
    assert metadata[RUN]["resume"]["checkpoint"] == "at the question"
    assert params == {
        "message": {"messageId": "n", "contextId": "C", "parts": [{"text": "yes"}]},
        "configuration": {"acceptedOutputModes": ["text/html"]},
    }


def test_a_later_message_names_the_agents_task() -> None:
    ids = IdMap("T", "C", "a", "c")
    before = copy.deepcopy(ANSWER)
    params = followup_message(ANSWER, ids, PLAIN)
    assert params["message"] == {"messageId": "n", "taskId": "a", "contextId": "c", "parts": [{"text": "yes"}]}
    assert before == ANSWER
    told = followup_message(ANSWER, ids, AWARE, Progress({"page": 1}))["message"]["metadata"][RUN]
    assert told["resume"]["checkpoint"] == {"page": 1}
    assert "resume" not in followup_message(ANSWER, ids, AWARE)["message"]["metadata"][RUN]


def test_a_later_message_for_a_run_that_named_no_task_yet() -> None:
    assert followup_message(ANSWER, IdMap("T", "C"), PLAIN)["message"] == {
        "messageId": "n",
        "contextId": "C",
        "parts": [{"text": "yes"}],
    }


def test_delivered_counts_parts_and_characters() -> None:
    task = {
        "artifacts": [
            {"artifactId": "a", "parts": [{"text": "ab"}, {"text": "c"}, {"data": 1}]},
            {"artifactId": None, "parts": None},
        ]
    }
    assert delivered(task, 3) == {
        "artifacts": {"a": {"parts": 3, "chars": 3}, "": {"parts": 0, "chars": 0}},
        "statuses": 3,
    }
    assert delivered({}, 0) == {"artifacts": {}, "statuses": 0}
