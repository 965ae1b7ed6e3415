"""Every promise, in as many worlds as fit into the suite's time; and every fault really happens in them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.simulate import run_range, run_seed

SEEDS, SLICE = 900, 100

#: What must have happened, or the worlds prove nothing.
EXPECTED = (
    "message lost", "message repeated", "message delayed", "partition", "one-way partition",
    "partition kept a message", "kill at an effect", "killed", "power lost", "paused", "disk stood still",
    "disk came back empty", "disk came back old", "unsynced write lost", "written but not answered",
    "wall clock jumped", "clock stopped",
    "a living session taken for dead", "lease lapsed", "suffix cut", "agent killed", "agent hung",
    "agent's stream broke", "client moved", "stream broke", "cancel wished", "ended: canceled", "claimed eagerly",
    "one message at two fronts", "repeat attached", "reattached", "event swallowed", "answer replayed", "rewound",
    "append in chunks", "prefix read in chunks", "dispatched without a claim", "dispatch met another",
    "purged", "asked for a tombstone", "buried: copy", "buried: unfinished copy", "buried: task it never had",
    "gone, its end was seen", "gone, its end was not seen", "first message sent again after the end",
    "repeat answered with the end", "repeat answered with gone",
    "majority lost", "waited for a lost majority", "majority is back",
    "voters changed", "handoff to be moved", "dispatch refused: misplaced",
    "checkpoint", "effect done", "effect repeated: key enforced", "effect asked for", "effect unknown",
    "killed before its receipt", "review", "review resolved",
    "orphaned: agent_gone", "orphaned: agent_hangs", "owner cut off", "drained", "drained in time",
    "orphaned: drain", "release heard", "lapsed output held",
    "answers to an owner late", "held output flushed", "held output dropped: another went on",
    "buffer full", "request to an agent lost",
)  # fmt: skip

FIRED: Counter[str] = Counter()


@pytest.mark.parametrize("first", range(0, SEEDS, SLICE))
def test_promises_hold_whatever_fails(first: int) -> None:
    found = run_range(first, SLICE)
    FIRED.update(found.fired)
    if found.failed:
        run_seed(found.failed[0][0])  # raises where it broke, with the command that repeats it
    assert not found.failed


def test_every_kind_of_fault_really_happened() -> None:
    if not FIRED:
        FIRED.update(run_range(0, 400).fired)
    assert not [fault for fault in EXPECTED if not FIRED[fault]]
