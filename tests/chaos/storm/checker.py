"""Judges a history: what every client of a storm was promised, one function a promise.

    python -m tests.chaos.storm.checker FILE

Shares no code with the product: its own fold, its own comparison of texts. Each promise returns sentences about
what broke it; none means that it held.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.storm import errors
from tests.chaos.storm.fold import TERMINAL, Folded, terminal, text_of
from tests.chaos.storm.history import read
from tests.chaos.storm.record import STREAMS, Op, Record
from tests.chaos.storm.script import outcome
from tests.chaos.storm.sights import folded, looks_at, terminals

Json = dict[str, Any]
BOUND_S = 60.0
"""From the moment when everything is at work again to the end of the last task."""

FINAL = "final"


def every_task_ends(record: Record) -> list[str]:
    """Every accepted task has ended, within a bound of the last fault."""
    wrong = []
    ended = terminals(record)
    for task in record.scripts:
        final = final_task(record, task)
        state = (final.state if final else "") or "unknown"
        if state not in TERMINAL:
            wrong.append(f"task {task} ({record.scripts[task].kind}) is {state} at the end")
        elif (late := ended.get(task, 0.0) - record.calm) > BOUND_S:
            wrong.append(f"task {task} ended {late:.1f} s after everything was at work again")
    return wrong


def ids_grow(record: Record) -> list[str]:
    """Every frame has an id, and the ids of a stream strictly increase."""
    wrong = []
    for op in _streams(record):
        ids = [number for _, number, event in op.frames if "message" not in event]
        if None in ids:
            wrong.append(f"{_name(op)}: a frame without an id")
        elif ids != sorted(set(ids), key=lambda each: each or 0):
            wrong.append(f"{_name(op)}: ids do not grow: {ids}")
        after = op.note.get("after")
        if (
            after is not None
            and op.events
            and (op.events[0][1] or 0) <= after
            and len(op.events) == len(op.frames)
        ):
            wrong.append(f"{_name(op)}: repeats what is before Last-Event-ID {after}")
    return wrong


def streams_agree(record: Record) -> list[str]:
    """All streams of a task show the same events under the same ids, and none of them leaves one out."""
    wrong = []
    for task, ops in record.streams.items():
        events: dict[int, Json] = {}
        for op in ops:
            for _, number, event in op.events:
                if number is not None and events.setdefault(number, event) != event:
                    wrong.append(f"task {task}: two events of id {number}: {event} and {events[number]}")
        known = sorted(events)
        for op in ops:
            ids = [number for _, number, _ in op.events if number is not None]
            if not ids:
                continue
            skipped = len(op.frames) - len(op.events)
            begin = op.frames[0][1] if skipped else op.note.get("after")
            begin = begin if begin is not None else (0 if op.first else ids[0] - 1)
            missing = [each for each in known if begin < each <= ids[-1] and each not in set(ids)]
            if missing:
                wrong.append(f"{_name(op)}: misses {missing} of {known}")
    return wrong


def one_terminal(record: Record) -> list[str]:
    """A task ends once, nothing follows, and a stream that closed well closed there or at a question."""
    wrong = []
    for task, ops in record.streams.items():
        ends = {number: terminal(event) for op in ops for _, number, event in op.events if terminal(event)}
        last = max((number or 0 for op in ops for _, number, _ in op.frames), default=0)
        if len(ends) > 1 or (ends and last > max(number or 0 for number in ends)):
            wrong.append(f"task {task}: ends {ends}, last id {last}")
        for op in ops:
            event = op.frames[-1][2]
            asks = "INPUT_REQUIRED" in json.dumps(event) and op.method == "SendStreamingMessage"
            closed = not op.error and not op.end["left"]
            if closed and not (terminal(event) or asks or "message" in event):
                wrong.append(f"{_name(op)}: closed at {event}")
            if closed and op.end["events"] != op.end["frames"]:
                wrong.append(f"{_name(op)}: {op.end['frames']} frames, the SDK's client saw {op.end['events']}")
    return wrong


def reads_agree(record: Record) -> list[str]:
    """What a stream folded to up to the end is what GetTask says, on every gateway."""
    wrong = []
    for task in record.scripts:
        finals = [folded(op.end["answer"]) for op in record.gets.get(task, []) if op.client == FINAL]
        if len({repr(each.whole) for each in finals}) > 1:
            wrong.append(f"task {task}: gateways differ: {[each.whole for each in finals]}")
        for op in record.streams.get(task, []):
            if "task" not in op.frames[0][2] or not terminal(op.frames[-1][2]) or not finals:
                continue
            fold = Folded()
            for _, _, event in op.frames:
                fold.apply(event)
            if fold.whole != finals[0].whole:
                wrong.append(f"{_name(op)}: folds to {fold.whole}, GetTask says {finals[0].whole}")
    return wrong


def reads_never_go_back(record: Record) -> list[str]:
    """Whoever asks after somebody saw something sees it too: same store, same host, one clock."""
    wrong = []
    for task in record.scripts:
        looks = looks_at(record, task)
        shown: list[tuple[float, tuple[int, int, bool]]] = sorted((seen, size) for _, seen, size, _ in looks)
        at, most = 0, (0, 0, False)
        for begun, _, size, op in sorted(looks, key=lambda look: look[0]):
            while at < len(shown) and shown[at][0] < begun:
                most = tuple(map(max, most, shown[at][1]))  # type: ignore[assignment]
                at += 1
            if any(a < b for a, b in zip(size, most, strict=True)):
                wrong.append(f"{_name(op)}: shows {size} of task {task}, {most} had been seen before it was asked")
    return wrong


def texts_are_the_agents(record: Record) -> list[str]:
    """Nothing is missing and nothing is there twice: texts and statuses are the deterministic agent's own."""
    wrong = []
    for task, script in record.scripts.items():
        final = final_task(record, task)
        if script.kind == "echo" or final is None:
            continue
        answers = record.answers.get(task, [])
        whole = outcome(script, [*answers, *[""] * script.questions])
        said = [text for _, text in final.said]
        if final.state == "COMPLETED":
            if final.by_name != sorted(whole.artifacts.items()) or said != whole.said:
                wrong.append(f"task {task} ({script.kind}): {final.by_name} {said}, not {whole}")
        elif final.state == "CANCELED":
            said = said[: len(whole.said)] if said[: len(whole.said)] == whole.said else said
            kept = [text for text in said if text in whole.said]
            if kept != whole.said[: len(kept)] or len(said) - len(kept) > 1:
                wrong.append(f"task {task} ({script.kind}), canceled: {said}")
            wrong += [
                f"task {task} ({script.kind}), canceled: {name}: {text}"
                for name, text in final.by_name
                if not whole.artifacts.get(name, "").startswith(text)
            ]
        for op in record.gets.get(task, []):
            wrong += [
                f"{_name(op)}: {name} is {text}"
                for name, text in folded(op.end["answer"]).by_name
                if not whole.artifacts.get(name, "").startswith(text)
            ]
    return wrong


def echoes_are_right(record: Record) -> list[str]:
    """A Message says what the agent says."""
    wrong = []
    for op in record.ops:
        if op.method == "SendMessage" and "kind=echo" in op.note["text"] and not op.error:
            said = text_of(op.end["answer"].get("message", {}))
            nonce = op.note["text"].split("nonce=")[1].split()[0]
            if said != f"echo {nonce}":
                wrong.append(f"{_name(op)}: {op.end['answer']}")
    return wrong


def cancels_hold(record: Record) -> list[str]:
    """What was said to be canceled is, nothing else is, and nothing fails."""
    wrong = []
    cancels = [op for op in record.ops if op.method == "CancelTask"]
    for task, script in record.scripts.items():
        final = final_task(record, task)
        state = final.state if final else ""
        mine = [op for op in cancels if op.note["task"] == task]
        if any(not op.error for op in mine) and state != "CANCELED":
            wrong.append(f"task {task}: a cancel was answered with success, it is {state}")
        if state == "CANCELED" and not mine:
            wrong.append(f"task {task}: canceled, and nobody wished it")
        if state in {"FAILED", "REJECTED"}:
            wrong.append(f"task {task} ({script.kind}): {state}: {final and final.said[-1:]}")
    return wrong


def messages_count_once(record: Record) -> list[str]:
    """One message, one task: however often it was sent, and nothing is listed that nobody sent."""
    wrong = []
    begun: dict[str, set[str]] = {}
    for op in record.ops:
        if op.first and op.task:
            begun.setdefault(op.note["message"], set()).add(op.task)
    wrong += [f"message {message} began {tasks}" for message, tasks in begun.items() if len(tasks) > 1]
    sent = Counter(op.note["message"] for op in record.ops if op.method.startswith("Send") and op.error[:1] == "-")
    for task in record.scripts:
        for op in record.gets.get(task, []):
            said = [
                each["messageId"] for each in op.end["answer"].get("history", []) if each["role"] == "ROLE_USER"
            ]
            # A message that was answered with an error and sent again is a new one.
            twice = [each for each, n in Counter(said).items() if n > 1 + sent[each]]
            wrong += [f"{_name(op)}: has the message {each} twice" for each in twice]
    for gate in {op.gate for op in record.ops if op.client == FINAL}:
        pages = [op for op in record.ops if op.client == FINAL and op.gate == gate and op.method == "ListTasks"]
        tasks = [task for op in pages if not op.error for task in op.end["answer"].get("tasks", [])]
        firsts = Counter(task["history"][0]["messageId"] for task in tasks)
        wrong += [f"{gate}: message {each} is in {n} listed tasks" for each, n in firsts.items() if n > 1]
        listed = {task["id"] for task in tasks}
        missing = [task for task, script in record.scripts.items() if task not in listed and script.kind != "echo"]
        wrong += [f"{gate}: does not list {task}" for task in missing]
    return wrong


def errors_are_foreseen(record: Record) -> list[str]:
    """No client sees an error that the design does not foresee at that moment."""
    return [
        f"{_name(op)}: {op.error}: {op.end.get('said')} (from {op.begun:.2f} to {op.ended:.2f})"
        for op in record.ops
        if op.error and errors.kind(record, op) == errors.UNFORESEEN
    ]


PROMISES: list[Callable[[Record], list[str]]] = [
    every_task_ends, ids_grow, streams_agree, one_terminal, reads_agree, reads_never_go_back, texts_are_the_agents,
    echoes_are_right, cancels_hold, messages_count_once, errors_are_foreseen,
]  # fmt: skip


def judge(lines: list[Json]) -> dict[str, list[str]]:
    """Promise to what broke it; empty if all held."""
    record = Record(lines)
    found = {promise.__name__: promise(record) for promise in PROMISES}
    return {name: wrong for name, wrong in found.items() if wrong}


def final_task(record: Record, task: str) -> Folded | None:
    """What GetTask says after the storm."""
    answers = [op.end["answer"] for op in record.gets.get(task, []) if op.client == FINAL]
    return folded(answers[-1]) if answers else None


def _streams(record: Record) -> list[Op]:
    return [op for op in record.ops if op.method in STREAMS and op.frames]


def _name(op: Op) -> str:
    return f"{op.client} {op.method} {op.number} at {op.gate} (task {op.task[:8]})"


if __name__ == "__main__":
    lines = read(Path(sys.argv[1]))
    for name, wrong in judge(lines).items():
        sys.stdout.write("\n".join([f"{name}: {len(wrong)}", *(f"  {each[:600]}" for each in wrong[:10]), ""]))
