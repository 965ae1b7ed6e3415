"""A history, put in order for the promises: operations with their frames, tasks, and who was in trouble when.

Shares nothing with the product. It must not judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.chaos.storm.script import Script, parse

Json = dict[str, Any]
FOREVER = float("inf")
STREAMS = frozenset({"SendStreamingMessage", "SubscribeToTask"})


@dataclass(slots=True)
class Op:
    """One operation of a client.

    Attributes:
        number, client, gate, method, begun: as written.
        note: its other parameters.
        frames: (time, SSE id, event).
        end: the line that ended it; empty if it never did.
    """

    number: int
    client: str
    gate: str
    method: str
    begun: float
    note: Json
    frames: list[tuple[float, int | None, Json]] = field(default_factory=list)
    end: Json = field(default_factory=dict)

    @property
    def ended(self) -> float:
        """When."""
        return float(self.end.get("t", FOREVER))

    @property
    def error(self) -> str:
        """ "" where it went well."""
        return str(self.end.get("error") or ("" if self.end else "never ended"))

    @property
    def first(self) -> bool:
        """It sends the first message of a task."""
        return self.method.startswith("Send") and not self.note["to"]

    @property
    def events(self) -> list[tuple[float, int | None, Json]]:
        """The journalled events of a stream: a subscription's first Task is a snapshot, not an event."""
        skip = self.method == "SubscribeToTask" and bool(self.frames) and "task" in self.frames[0][2]
        return self.frames[skip:] if self.method in STREAMS else []

    @property
    def task(self) -> str:
        """Which task it is about, "" if it never became known."""
        known = self.note.get("task") or self.note.get("to")
        if known:
            return str(known)
        for _, _, event in self.frames:
            for kind in ("task", "statusUpdate", "artifactUpdate"):
                if kind in event:
                    return str(event[kind].get("taskId") or event[kind].get("id"))
        return str(self.end.get("answer", {}).get("task", {}).get("id", ""))


class Record:
    """Everything that happened.

    Attributes:
        ops: in the order in which they began.
        streams: of each task, those with frames.
        gets: of each task, the answers of GetTask.
        scripts: task to what its agent must say.
        answers: task to the answers that its client gave, in order.
        calm: when everything was at work again after the last fault.
    """

    def __init__(self, lines: list[Json]) -> None:
        by_number: dict[int, Op] = {}
        self._trouble: dict[str, list[list[float]]] = {}
        self._stops: list[list[float]] = []
        self.calm = FOREVER
        for line in lines:
            match line["what"]:
                case "begin":
                    keys = ("t", "what", "op", "client", "gate", "method")
                    note = {key: value for key, value in line.items() if key not in keys}
                    op = Op(line["op"], line["client"], line["gate"], line["method"], line["t"], note)
                    by_number[op.number] = op
                case "frame":
                    by_number[line["op"]].frames.append((line["t"], line["id"], line["event"]))
                case "end":
                    by_number[line["op"]].end = line
                case "fault":
                    for target in line["targets"]:
                        self._trouble.setdefault(target, []).append([line["t"], FOREVER])
                    self._stops += [[line["t"], line["t"] + line["hold"]]] * (line["action"] == "stop")
                case "ready":
                    self._trouble[line["target"]][-1][1] = line["t"]
                case "calm":
                    self.calm = line["t"]
                case _:
                    pass
        self.ops = list(by_number.values())
        self.streams: dict[str, list[Op]] = {}
        self.gets: dict[str, list[Op]] = {}
        self.scripts: dict[str, Script] = {}
        self.answers: dict[str, list[str]] = {}
        self._sort()

    def trouble(self, target: str, begin: float, end: float, slack: float = 1.0) -> bool:
        """Whether a process was in trouble at some time between."""
        return any(a <= end and begin <= b + slack for a, b in self._trouble.get(target, []))

    def total_trouble(self, pairs: Sequence[tuple[str, ...]], begin: float, end: float) -> float:
        """The longest time in between in which no pair was whole."""
        cuts = sorted(
            {
                begin,
                end,
                *(t for spans in self._trouble.values() for span in spans for t in span if begin < t < end),
            }
        )
        longest = run = 0.0
        for a, b in pairwise(cuts):
            whole = any(not any(self.trouble(each, a + 1e-6, b - 1e-6, 0.0) for each in pair) for pair in pairs)
            run = 0.0 if whole else run + b - a
            longest = max(longest, run)
        return longest

    def fault_within(self, begin: float, end: float) -> bool:
        """Whether anything was in trouble between."""
        return any(self.trouble(target, begin, end) for target in self._trouble)

    def stopped(self, begin: float, end: float) -> bool:
        """Whether any process was stopped at some time between."""
        return any(a <= end and begin <= b for a, b in self._stops)

    def _sort(self) -> None:
        given: dict[tuple[str, str], None] = {}
        for op in self.ops:
            task = op.task
            if not task:
                continue
            if op.method == "GetTask" and not op.error:
                self.gets.setdefault(task, []).append(op)
            if op.frames:
                self.streams.setdefault(task, []).append(op)
            if op.first:
                self.scripts[task] = parse(op.note["text"])
            elif op.method.startswith("Send") and (task, op.note["message"]) not in given:
                given[task, op.note["message"]] = None
                self.answers.setdefault(task, []).append(op.note["text"])
