"""What a journal entry means to somebody who follows the task from outside.

A tail shows events, ends where a stream ends, and fails where the handoff ended in an error instead of a task.
This file reads that off entries; it must not know where they come from (memory or the store), so that a stream
on the owner's sidecar and one on any other show the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bridge.journal import Entry, Kind
from bridge.jsontext import parse
from sidecar.records import Json

_EVENT_FIRST = b'{"event":'
_EVENT_MARK = b'"event":'
_UNKNOWN_OUTCOME: Json = {"code": -32603, "message": "The task ended without an answer of its agent."}


class Note(NamedTuple):
    """One entry as a follower sees it.

    Attributes:
        seq: journal position.
        event: StreamResponse as JSON text, None where the entry shows nothing.
        ends: nothing follows (a terminal).
        pauses: nothing follows for now (input is required).
        error: a JSON-RPC error object instead of an event.
        answers: position of the input that the error answers, 0 for the whole task.
    """

    seq: int
    event: bytes | None
    ends: bool = False
    pauses: bool = False
    error: Json | None = None
    answers: int = 0


def event_text(body: bytes) -> bytes | None:
    """The StreamResponse inside a body: ``event`` is always the last member, so its bytes can be cut out."""
    if body.startswith(_EVENT_FIRST):
        return body[len(_EVENT_FIRST) : -1]
    mark = body.find(_EVENT_MARK)
    return None if mark < 0 else body[mark + len(_EVENT_MARK) : -1]


def notes_of(entries: Iterable[Entry]) -> list[Note]:
    """Everything in these entries that a follower must hear of, in order."""
    notes: list[Note] = []
    for entry in entries:
        kind, body = entry.kind, entry.body or b"{}"
        if kind is Kind.EVENT:
            notes.append(Note(entry.seq, event_text(body)))
        elif kind is Kind.SUSPENDED:
            notes.append(Note(entry.seq, None, pauses=True))
        elif kind in (Kind.COMPLETED, Kind.FAILED, Kind.CANCELED, Kind.REJECTED):
            notes.append(Note(entry.seq, event_text(body), ends=True))
        elif kind in (Kind.REPLY, Kind.EXPIRED):
            event = event_text(body)
            error = None if event else parse(body).get("error") or _UNKNOWN_OUTCOME
            notes.append(Note(entry.seq, event, ends=True, error=error))
        elif kind is Kind.ANSWERED:
            refusal = parse(body).get("error")
            if refusal:
                notes.append(Note(entry.seq, None, error=refusal, answers=parse(body).get("input", 0)))
    return notes
