"""Who a handoff is: its intent, the key of the message that asked for it, and the ids made from both.

Ids are hashes, so any sidecar computes the same ones without asking another. The failure this prevents: a client's
retry becoming a second run, or a journal being passed off as another's. Nothing that varies between two dispatches
of one intent (time, trace, creator) may enter an intent. This file must not know whether a message *is* a retry;
that depends on what was answered, which the journal knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from bridge.canonical import canonical
from bridge.errors import BrokenChain

INTENT_VERSION = 1
MESSAGE_KIND = "a2a.message"


class Contract(TypedDict):
    """What a result must satisfy and what reaching it may cost."""

    output_schema: dict[str, Any] | None
    budget: dict[str, Any]
    deadline: str | None


class Intent(TypedDict):
    """What is wanted, without who asked or when.

    Keys: ``version`` of this shape, ``kind`` of work, its ``inputs``, the ``contract``, and ``parent``: the id of
    the handoff that this one is part of.
    """

    version: int
    kind: str
    inputs: dict[str, Any]
    contract: Contract
    parent: str | None


class MessageKey(NamedTuple):
    """Whose message it is: the scope in which a repeated messageId means a repeated message.

    Attributes:
        tenant: of the caller, "" where there is none.
        principal: issuer and subject, or a key id; never a digest of a token that rotates.
        task: the public id of the task it continues; None for a first message.
        message_id: as the client chose it.
    """

    tenant: str
    principal: str
    task: str | None
    message_id: str


def intent_of_message(params: Mapping[str, Any]) -> Intent:
    """The intent of an A2A message.

    Args:
        params: SendMessageRequest as it came: message, configuration and metadata where given, and what a newer
            client may put beside them.
    """
    return {
        "version": INTENT_VERSION,
        "kind": MESSAGE_KIND,
        "inputs": _inputs(params),
        "contract": {"output_schema": None, "budget": {}, "deadline": None},
        "parent": None,
    }


def handoff_id(intent: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical intent, 64 lower-case hex digits.

    Raises:
        NotCanonical: the intent has no canonical form.
    """
    return sha256(canonical(intent)).hexdigest()


def digest_of_message(params: Mapping[str, Any]) -> str:
    """Content hash of a later message on a task: an ``input`` with the same id and digest is a repeat of it."""
    return sha256(canonical(_inputs(params))).hexdigest()


def key_hash(key: MessageKey) -> str:
    """SHA-256 over the canonical key, 64 lower-case hex digits: what stores index by."""
    return sha256(canonical(_key_object(key))).hexdigest()


def task_id(key: MessageKey, generation: int) -> str:
    """The public task id of a message's dispatch: a UUIDv8 (RFC 9562 section 5.8) of key and generation.

    Args:
        key: of the first message.
        generation: 0 for the first dispatch under this key; grows when an answered messageId is used again.
    """
    digest = sha256(canonical({**_key_object(key), "generation": generation})).digest()
    number = int.from_bytes(digest[:16], "big")
    number = number & ~(0xF << 76) | 0x8 << 76  # version 8
    number = number & ~(0x3 << 62) | 0x2 << 62  # variant of RFC 9562
    return str(UUID(int=number))


def verify_envelope(dispatched: Mapping[str, Any]) -> None:
    """Check that the ids in a ``dispatched`` body are the ones that its intent and its key have.

    Raises:
        BrokenChain: at entry 1, where a ``dispatched`` always stands.
    """
    try:
        named = dispatched["key"]
        key = MessageKey(named["tenant"], named["principal"], named["task"], named["messageId"])
        generation = named["generation"]
        expected = (handoff_id(dispatched["intent"]), task_id(key, generation))
        found = (dispatched["handoff"], dispatched["task"])
    except (KeyError, TypeError) as error:
        raise BrokenChain(1, f"the envelope is incomplete ({error})") from None
    if found[0] != expected[0]:
        raise BrokenChain(1, "the handoff id is not the hash of the intent")
    if found[1] != expected[1]:
        raise BrokenChain(1, "the task id is not the one of this message key")


_RANDOM_UUID = re.compile(
    r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[47][0-9a-f]{3}\1[89ab][0-9a-f]{3}\1[0-9a-f]{12}", re.IGNORECASE | re.ASCII
)


def is_random_uuid(text: str) -> bool:
    """Whether a messageId is a UUID that nobody guesses: version 4 or 7, with hyphens or without.

    Version 1 tells time and host, 3 and 5 are computed from names: another caller may arrive at the same one, so
    without authentication a repeat of it proves nothing.
    """
    return _RANDOM_UUID.fullmatch(text) is not None


def _inputs(params: Mapping[str, Any]) -> dict[str, Any]:
    # The tenant is part of the key. Members that this release does not know belong to the message all the same.
    return {name: value for name, value in params.items() if name != "tenant"}


def _key_object(key: MessageKey) -> dict[str, Any]:
    return {
        "tenant": key.tenant,
        "principal": key.principal,
        "task": key.task,
        "messageId": key.message_id,
    }
