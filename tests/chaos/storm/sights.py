"""When who saw how much of a task: what the promises about time and order are judged by."""

from __future__ import annotations

from typing import Any

from tests.chaos.storm.fold import Folded, terminal
from tests.chaos.storm.record import Op, Record

Json = dict[str, Any]


def folded(task: Json) -> Folded:
    """A Task object, as a fold has it."""
    fold = Folded()
    fold.apply({"task": task})
    return fold


def terminals(record: Record) -> dict[str, float]:
    """When the end of each task was first seen."""
    return {
        task: min(t for op in ops for t, _, event in op.frames if terminal(event))
        for task, ops in record.streams.items()
        if any(terminal(event) for op in ops for _, _, event in op.frames)
    }


def looks_at(record: Record, task: str) -> list[tuple[float, float, tuple[int, int, bool], Op]]:
    """(asked, seen, how far, who) for every sight of a task."""
    found = []
    for op in record.streams.get(task, []):
        if "task" not in op.frames[0][2]:
            continue
        fold = Folded()
        for index, (t, _, event) in enumerate(op.frames):
            fold.apply(event)
            # Only a snapshot is a read; a send begins at its task's beginning, later frames come when they come.
            read = index == 0 and op.method == "SubscribeToTask"
            found.append((op.begun if read else float("inf"), t, fold.size, op))
    gets = record.gets.get(task, [])
    found += [(op.begun, op.ended, folded(op.end["answer"]).size, op) for op in gets]
    return [look if look[0] < float("inf") else (-1.0, *look[1:]) for look in found]
