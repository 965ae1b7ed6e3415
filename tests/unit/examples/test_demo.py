"""The demo's judgement: it can be red, it forgets nothing, and its client repairs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from a2a.types import (
    Artifact,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

from bridge.journal import Draft, Fence, Kind, chain, genesis, to_line
from examples.demo.client import Seen
from examples.demo.display import Plain
from examples.demo.evidence import Evidence, journal_facts


def chunk(text: str, *, append: bool, artifact: str = "a") -> StreamResponse:
    content = Artifact(artifact_id=artifact, name="story", parts=[Part(text=text)])
    return StreamResponse(artifact_update=TaskArtifactUpdateEvent(task_id="t", artifact=content, append=append))


def exported(*claims: tuple[Fence, list[Draft]]) -> bytes:
    tip, lines = genesis("t"), []
    for fence, drafts in claims:
        for entry in chain(tip, fence, 0, drafts):
            lines.append(to_line("t", entry))
            tip = tip._replace(fence=entry.fence, seq=entry.seq, hash=entry.hash)
    return b"\n".join(lines)


def claimed(owner: str, attempt: int) -> Draft:
    body = {"owner": owner, "attempt": attempt, "reason": "orphaned"}
    return Draft(Kind.CLAIMED, json.dumps(body).encode())


def step(state: object) -> Draft:
    return Draft(Kind.STEP, json.dumps({"state": state, "receipts": [], "position": {}}).encode())


def test_without_an_act_or_a_check_it_is_red() -> None:
    evidence = Evidence()
    assert not evidence.green
    act = evidence.act("one")
    assert not evidence.green
    act.check("kept", kept=True, seen="x")
    assert evidence.green
    assert evidence.broken() == []
    evidence.act("Act 2 — the writer").check("broken", kept=False, seen="y")
    assert not evidence.green
    assert evidence.broken() == ["FAIL Act 2: broken: y"]


def test_evidence_is_written_in_the_order_of_time(tmp_path: Path) -> None:
    evidence = Evidence()
    act = evidence.act("one")
    act.check("kept", kept=True, seen="x")
    evidence.note("client", "later", evidence.began + 2)
    evidence.note("agent B", "earlier", evidence.began + 1)
    evidence.write(tmp_path / "e.json")
    written = json.loads((tmp_path / "e.json").read_text())
    assert [note["at_ms"] for note in written["timeline"]] == [1000, 2000]
    assert written["green"] is True
    assert written["acts"][0]["checks"] == [{"name": "kept", "kept": True, "seen": "x"}]


def test_covered_is_the_last_checkpoint_before_the_takeover() -> None:
    first, second = Fence(1, "s1"), Fence(2, "s2")
    export = exported(
        (first, [claimed("A", 1), step(["a"]), step(["a", "b"])]),
        (second, [claimed("B", 2), step(["a", "b", "c"]), Draft(Kind.REWOUND, b'{"artifact":"a"}')]),
    )
    facts = journal_facts(export)
    assert facts["covered"] == ["a", "b"]
    assert (facts["entries"], facts["checkpoints"], facts["rewound"]) == (6, 3, 1)
    assert [(f["n"], f["session"], f["owner"], f["attempt"], f["seq"]) for f in facts["fences"]] == [
        (1, "s1", "A", 1, 1),
        (2, "s2", "B", 2, 4),
    ]
    assert facts["hash"] in export.splitlines()[-1].decode()


def test_without_a_takeover_nothing_is_covered() -> None:
    assert journal_facts(exported((Fence(1, "s"), [claimed("A", 1), step([1])])))["covered"] is None
    assert journal_facts(b"") == {
        "entries": 0,
        "hash": "",
        "fences": [],
        "checkpoints": 0,
        "ended": False,
        "rewound": 0,
        "covered": None,
    }


def test_the_client_shows_a_repetition_as_one() -> None:
    seen = Seen()
    seen.take(StreamResponse(task=Task(id="t", status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))))
    for text, append in (("one ", False), ("two ", True), ("two ", True)):
        seen.take(chunk(text, append=append))
    assert seen.texts == {"story": "one two two "}
    assert (seen.task_id, seen.chunks, seen.replaced) == ("t", {"story": 3}, 0)
    assert not seen.completed


@pytest.mark.parametrize("artifact", ["a", "another id of the same name"])
def test_the_client_counts_a_replacement(artifact: str) -> None:
    seen = Seen()
    seen.take(chunk("one ", append=False))
    seen.take(chunk("anew ", append=False, artifact=artifact))
    assert seen.texts == {"story": "anew "}
    assert seen.replaced == 1


def test_the_client_finds_the_next_event_and_the_longest_silence() -> None:
    seen = Seen()
    assert seen.longest_silence() == 0
    seen.times = [1.0, 1.5, 4.0, 4.25]
    assert seen.longest_silence() == 2.5
    assert seen.after(1.5) == 4.0
    assert seen.after(5) is None
    status = TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
    seen.take(StreamResponse(status_update=TaskStatusUpdateEvent(task_id="t", status=status)))
    assert seen.completed


def test_plain_lines_tell_steps_notes_and_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    evidence = Evidence()
    act = evidence.act("one")
    act.check("held", kept=True, seen="1 of 1")
    act.check("broke", kept=False, seen="0 of 1")
    with Plain() as display:
        display.act("Act", "story")
        for done in range(61):
            display.progress(done, 60, "pages", "ignored")
        display.progress(60, 60, "pages", "")
        display.note(evidence.note("agent A", "SIGKILL", evidence.began + 1.5))
        display.verdict(act)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines if line.lstrip().startswith("client has")] == [
        "10",
        "20",
        "30",
        "40",
        "50",
        "60",
    ]
    assert lines[-3:] == ["   1.500 s agent A: SIGKILL", "  ok   held: 1 of 1", "  FAIL broke: 0 of 1"]
