import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.envelope import (
    MessageKey,
    digest_of_message,
    handoff_id,
    intent_of_message,
    is_random_uuid,
    key_hash,
    task_id,
    verify_envelope,
)
from bridge.errors import BrokenChain, NotCanonical

MESSAGE = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
PARAMS: dict[str, Any] = {"message": MESSAGE, "configuration": {"historyLength": 1}, "metadata": {"a": 1}}
KEY = MessageKey("", "anonymous", None, "m1")


def dispatched(**changes: Any) -> dict[str, Any]:
    intent = intent_of_message(PARAMS)
    body = {
        "task": task_id(KEY, 0),
        "handoff": handoff_id(intent),
        "key": {"tenant": "", "principal": "anonymous", "task": None, "messageId": "m1", "generation": 0},
        "intent": intent,
    }
    return body | changes


def test_an_intent_holds_what_the_client_wants_and_nothing_else() -> None:
    assert intent_of_message(PARAMS | {"tenant": "t"}) == {
        "version": 1,
        "kind": "a2a.message",
        "inputs": PARAMS,
        "contract": {"output_schema": None, "budget": {}, "deadline": None},
        "parent": None,
    }
    newer = PARAMS | {"somethingNew": [1]}
    assert intent_of_message(newer)["inputs"] == newer
    assert intent_of_message({"message": MESSAGE})["inputs"] == {"message": MESSAGE}


def test_ids_are_fixed_for_ever() -> None:
    # Journals outlive releases: a change of these values is a change of format.
    assert handoff_id(intent_of_message(PARAMS)) == HANDOFF
    assert key_hash(KEY) == KEY_HASH
    assert task_id(KEY, 0) == TASK


HANDOFF = "4200dc4d46a1ae267c77c911e4e8b3f4e6ebd2790ec2bef3b77e1aac19b27389"
KEY_HASH = "2ba724abe2f275dd8ed732ac10ceb267d861beb3f98cff7f2b99e87b0ae8725b"
TASK = "0646a08f-7307-84c5-a476-d5da0bfd71c7"


@settings(deadline=None)
@given(
    st.builds(MessageKey, st.text("ab", max_size=2), st.text("ab"), st.none() | st.text("ab"), st.text("ab")),
    st.builds(MessageKey, st.text("ab", max_size=2), st.text("ab"), st.none() | st.text("ab"), st.text("ab")),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_different_messages_become_different_tasks(a: MessageKey, b: MessageKey, m: int, n: int) -> None:
    assert (key_hash(a) == key_hash(b)) == (a == b)
    assert (task_id(a, m) == task_id(b, n)) == ((a, m) == (b, n))
    made = uuid.UUID(task_id(a, m))
    assert (made.version, made.variant) == (8, uuid.RFC_4122)


def test_a_follow_up_is_known_by_its_content() -> None:
    assert digest_of_message(PARAMS) == digest_of_message(dict(reversed(PARAMS.items())))
    assert digest_of_message(PARAMS) != digest_of_message({"message": MESSAGE})
    assert len(digest_of_message(PARAMS)) == 64


def test_an_intent_without_canonical_form_has_no_id() -> None:
    with pytest.raises(NotCanonical):
        handoff_id(intent_of_message({"message": {"a": float("nan")}}))


def test_an_envelope_that_is_what_it_says() -> None:
    verify_envelope(dispatched())


@pytest.mark.parametrize(
    "changes",
    [
        {"intent": intent_of_message({"message": MESSAGE})},
        {"handoff": "0" * 64},
        {"task": "another"},
        {"key": {"tenant": "t", "principal": "anonymous", "task": None, "messageId": "m1", "generation": 0}},
        {"key": {"tenant": "", "principal": "anonymous", "task": None, "messageId": "m1", "generation": 1}},
        {"key": {}},
        {"key": None},
    ],
)
def test_an_envelope_that_is_not(changes: dict[str, Any]) -> None:
    with pytest.raises(BrokenChain) as caught:
        verify_envelope(dispatched(**changes))
    assert caught.value.seq == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(uuid.UUID(int=2**127 + 5, version=4)), True),
        (uuid.UUID(int=2**127 + 5, version=4).hex, True),
        (str(uuid.UUID(int=2**127 + 5, version=4)).upper(), True),
        ("018f4e9c-7b1a-7cc3-9d53-0242ac120002", True),
        ("c232ab00-9414-11ec-b3c8-9f6bdeced846", False),
        (str(uuid.uuid5(uuid.NAMESPACE_DNS, "a")), False),
        (task_id(KEY, 0), False),
        ("018f4e9c-7b1a-7cc3-1d53-0242ac120002", False),
        ("018f4e9c-7b1a7cc3-9d53-0242ac120002", False),
        ("018f4e9c-7b1a-7cc3-9d53-0242ac120002\n", False),
        ("msg-1", False),
        ("", False),
    ],
)
def test_which_message_ids_nobody_guesses(text: str, expected: bool) -> None:
    assert is_random_uuid(text) is expected
