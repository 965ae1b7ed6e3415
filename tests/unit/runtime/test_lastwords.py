"""The words of ends: every one told once, at the level that operators need, and with the reasons that count."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from bridge.handoff import Handoff
from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis
from sidecar.runtime import lastwords

FENCE = Fence(1, "a" * 32)
Said = tuple[Kind, dict[str, Any]]
DISPATCHED: Said = (Kind.DISPATCHED, {"task": "t", "handoff": "h", "key": {"messageId": "m-1"}})
CLAIMED: Said = (Kind.CLAIMED, {"owner": "a"})
BOUND: Said = (Kind.BOUND, {"fresh": True})
REBOUND: Said = (Kind.BOUND, {"fresh": False})


def lost(reason: str) -> Said:
    return Kind.ORPHANED, {"reason": reason, "by": "a"}


def journal(*entries: Said) -> list[Entry]:
    return chain(genesis("t"), FENCE, 0, [Draft(kind, json.dumps(body).encode()) for kind, body in entries])


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], []),
        ([lost("no_agent_here"), BOUND], [""]),
        ([BOUND, lost("agent_gone"), lost("no_agent_here"), BOUND, REBOUND], ["agent_gone", ""]),
        ([BOUND, BOUND, lost("agent_hangs")], ["", "agent_hangs"]),
    ],
)
def test_each_run_has_the_reason_that_it_was_lost_for(entries: list[Said], expected: list[str]) -> None:
    assert lastwords.losses(journal(DISPATCHED, CLAIMED, *entries)) == expected


@pytest.mark.parametrize(
    ("count", "reasons", "told"),
    [
        (
            5,
            ["agent_gone"] * 5,
            "5 runs: the agent died in each of them.",
        ),
        (1, ["agent_hangs"], "1 run: the agent hung in it."),
        (
            3,
            ["agent_gone", "", "agent_gone"],
            "3 runs: the agent died in 2 of them, the run was lost in 1 of them.",
        ),
        (2, [], "2 runs."),
    ],
)
def test_a_dead_letter_says_why(count: int, reasons: list[str], told: str) -> None:
    assert lastwords.given_up(count, reasons) == f"Given up after {told} The journal is kept whole."


def test_an_orphan_says_what_happens_next_whatever_the_reason() -> None:
    assert lastwords.orphaned("agent_gone") == (
        "its agent is gone; given up for another sidecar, or for this one when its agent is back (agent_gone)"
    )
    assert lastwords.orphaned("new_reason").endswith("(new_reason)")


@pytest.mark.parametrize(
    ("kind", "body", "level", "told"),
    [
        (Kind.COMPLETED, {"event": {}}, logging.INFO, "task t: completed after 1 run"),
        (Kind.CANCELED, {"event": {}}, logging.INFO, "task t: canceled after 1 run"),
        (Kind.REPLY, {"event": {}}, logging.INFO, "task t: answered with a message after 1 run"),
        (Kind.FAILED, {"event": {}}, logging.WARNING, "task t: failed by its agent after 1 run"),
        (Kind.REJECTED, {"event": {}}, logging.WARNING, "task t: rejected by its agent after 1 run"),
        (Kind.FAILED, {"reason": "Why.", "event": {}}, logging.WARNING, "task t: failed after 1 run: Why."),
        (
            Kind.REPLY,
            {"error": {"code": -32602, "message": "No."}},
            logging.WARNING,
            "task t: message m-1 was answered with error -32602 after 1 run: No.",
        ),
        (
            Kind.EXPIRED,
            {"error": {"code": -32603, "message": "Nobody there."}},
            logging.WARNING,
            "task t: message m-1 was refused: Nobody there.",
        ),
        (Kind.EVENT, {"event": {}}, 0, ""),
    ],
)
def test_an_end_is_told_once(
    kind: Kind, body: dict[str, Any], level: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    entries = journal(DISPATCHED, CLAIMED, BOUND, (kind, body))
    handoff = Handoff.fold("t", entries)
    lastwords.tell_end(handoff, entries)
    lastwords.tell_end(handoff, entries[:-1])  # what else is committed once it has ended
    assert [(each.levelno, each.getMessage()) for each in caplog.records] == ([(level, told)] if told else [])
