"""A short storm for every check, and proof that its judge can find fault.

``python -m tests.chaos.storm`` is the long one. Here the same clients, faults and promises have six seconds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.storm import report
from tests.chaos.storm.checker import judge
from tests.chaos.storm.faults import AGENTS, schedule
from tests.chaos.storm.run import Plan, storm
from tests.chaos.storm.script import Script, outcome

Json = dict[str, Any]
SEED, SECONDS = 11, 6.0
TASK, OTHER = "11111111-1111-8111-8111-111111111111", "22222222-2222-8222-8222-222222222222"
SCRIPT = Script("long", "n1", steps=2)
HELLO = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": SCRIPT.text}]}


@pytest.mark.slow
async def test_a_short_storm_breaks_no_promise(tmp_path: Path) -> None:
    told = await storm(Plan(SEED, SECONDS, clients=8, pace=0.6, hold=0.3, steps=(3, 10)), tmp_path)
    assert report.clean(told), report.text(told)
    assert sum(told["faults"].values()) >= 4, "it did not blow"
    assert told["tasks"] >= 8


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_is_a_schedule_and_both_agents_go_down_in_it(seed: int) -> None:
    faults = schedule(seed, 120)
    assert faults == schedule(seed, 120) != schedule(seed + 1, 120)
    assert any(set(AGENTS) <= set(fault.targets) and fault.action == "kill" for fault in faults)
    assert {fault.action for fault in faults} == {"kill", "stop", "term"}


def agent_says(number: str, text: str) -> Json:
    return {"messageId": number, "role": "ROLE_AGENT", "parts": [{"text": text}]}


def status(state: str, said: Json | None = None) -> Json:
    told = {"state": f"TASK_STATE_{state}", **({"message": said} if said else {})}
    return {"statusUpdate": {"taskId": TASK, "status": told}}


def chunk(text: str, *, append: bool) -> Json:
    artifact = {"artifactId": "a", "name": "result", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": TASK, "artifact": artifact, "append": append}}


def whole_task() -> Json:
    text = outcome(SCRIPT, []).artifacts["result"]
    return {
        "id": TASK, "status": {"state": "TASK_STATE_COMPLETED"},
        "history": [HELLO, agent_says("s1", "step 1"), agent_says("s2", "step 2")],
        "artifacts": [{"artifactId": "a", "name": "result", "parts": [{"text": text}]}],
    }  # fmt: skip


def history() -> list[Json]:
    """Two streams of one task, and what was asked afterwards."""
    begun = {"id": TASK, "status": {"state": "TASK_STATE_SUBMITTED"}, "history": [HELLO]}
    half = {
        **begun, "status": {"state": "TASK_STATE_WORKING", "message": agent_says("s1", "step 1")},
    }  # fmt: skip
    events = [
        (2, {"task": begun}), (4, status("WORKING", agent_says("s1", "step 1"))),
        (5, chunk(SCRIPT.chunk(1), append=False)), (7, status("WORKING", agent_says("s2", "step 2"))),
        (8, chunk(SCRIPT.chunk(2), append=True)), (9, status("COMPLETED")),
    ]  # fmt: skip
    lines: list[Json] = []
    send = {"method": "SendStreamingMessage", "message": "m1", "to": "", "text": SCRIPT.text}
    for op, told, shown in (
        (1, send, events),
        (2, {"method": "SubscribeToTask", "task": TASK, "after": None}, [(4, {"task": half}), *events[2:]]),
    ):
        lines.append({"what": "begin", "op": op, "client": f"c{op}", "gate": "gate-1", **told})
        lines += [{"what": "frame", "op": op, "id": number, "event": event} for number, event in shown]
        count = len(shown)
        lines.append({"what": "end", "op": op, "ok": True, "frames": count, "events": count, "left": False})
    lines.append({"what": "calm"})
    for op, told, answer in (
        (3, {"method": "GetTask", "task": TASK}, whole_task()),
        (4, {"method": "ListTasks"}, {"tasks": [whole_task()]}),
    ):
        lines.append({"what": "begin", "op": op, "client": "final", "gate": "gate-1", **told})
        lines.append({"what": "end", "op": op, "ok": True, "answer": answer})
    timed = copy.deepcopy([{"t": float(index), **line} for index, line in enumerate(lines)])
    subscribed = next(line for line in timed if line["what"] == "begin" and line["op"] == 2)
    subscribed["t"] = frames(timed, 1)[1]["t"] + 0.5
    return timed


def frames(lines: list[Json], op: int) -> list[Json]:
    return [line for line in lines if line["what"] == "frame" and line["op"] == op]


def end(lines: list[Json], op: int) -> Json:
    return next(line for line in lines if line["what"] == "end" and line["op"] == op)


def ask(lines: list[Json], method: str, **ended: Any) -> None:
    begun = {"client": "c", "gate": "gate-1", "method": method, "task": TASK}
    lines.append({"t": 90.0, "what": "begin", "op": 9, **begun})
    lines.append({"t": 91.0, "what": "end", "op": 9, **ended})


def drop(lines: list[Json]) -> None:
    lines.remove(frames(lines, 2)[2])


def repeat(lines: list[Json]) -> None:
    lines.insert(lines.index(frames(lines, 1)[3]), copy.deepcopy(frames(lines, 1)[2]))


def renumber(lines: list[Json]) -> None:
    frames(lines, 2)[1]["id"] = 6


def double(lines: list[Json]) -> None:
    for op in (1, 2):
        event = frames(lines, op)[-2]["event"]["artifactUpdate"]
        event["artifact"]["parts"].append(event["artifact"]["parts"][0])
    end(lines, 3)["answer"]["artifacts"][0]["parts"].append({"text": SCRIPT.chunk(2)})


def cut(lines: list[Json]) -> None:
    lines.remove(frames(lines, 1)[-1])


def end_twice(lines: list[Json]) -> None:
    again = {**copy.deepcopy(frames(lines, 1)[-1]), "id": 10}
    lines.insert(lines.index(end(lines, 1)), again)


def forget(lines: list[Json]) -> None:
    end(lines, 4)["answer"]["tasks"] = []


def begin_twice(lines: list[Json]) -> None:
    end(lines, 4)["answer"]["tasks"].append({**whole_task(), "id": OTHER})


def hear_twice(lines: list[Json]) -> None:
    end(lines, 3)["answer"]["history"].append(HELLO)


def stay(lines: list[Json]) -> None:
    end(lines, 3)["answer"]["status"]["state"] = "TASK_STATE_WORKING"


def go_back(lines: list[Json]) -> None:
    frames(lines, 2)[0]["event"]["task"]["status"].pop("message")


def cancel_all_the_same(lines: list[Json]) -> None:
    ask(lines, "CancelTask", ok=True, answer=whole_task())


def fail(lines: list[Json]) -> None:
    ask(lines, "GetTask", ok=False, error="transport", said="reset")


def test_a_good_history_is_found_good() -> None:
    assert judge(history()) == {}


@pytest.mark.parametrize(
    ("spoil", "promise"),
    [
        (drop, "streams_agree"), (renumber, "streams_agree"), (repeat, "ids_grow"),
        (double, "texts_are_the_agents"),
        (cut, "one_terminal"), (end_twice, "one_terminal"), (forget, "messages_count_once"),
        (begin_twice, "messages_count_once"), (hear_twice, "messages_count_once"),
        (stay, "every_task_ends"), (stay, "reads_agree"),
        (go_back, "reads_never_go_back"), (cancel_all_the_same, "cancels_hold"), (fail, "errors_are_foreseen"),
    ],
)  # fmt: skip
def test_a_spoilt_history_is_found_out(spoil: Callable[[list[Json]], None], promise: str) -> None:
    spoil(lines := history())
    assert promise in judge(lines)
