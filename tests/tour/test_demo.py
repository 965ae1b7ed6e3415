"""The demo itself, as ``make demo`` runs it: green, with evidence that holds what it claims."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-m", "examples.demo"]


PAGES = 24
"""A census of 60 shows nothing more here, and each page costs time."""

ACTS = ("2", "3", "4", "5", "6")
"""The first has nothing of its own: the agent alone is killed in the second, the census struck in the others."""

LATE_MS = 5000
"""No promise (that is measured on a quiet machine), but a takeover that waited for a timeout would show."""

LEASE_MS = 3300
"""What hosts that share nothing have to wait for: nobody tells that one is gone."""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_demo_is_green_and_its_evidence_says_why(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    acts = [word for act in ACTS for word in ("--act", act)]
    command = [*COMMAND, *acts, "--pages", str(PAGES), "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=170, check=False)
    assert done.stdout.splitlines()[-1] == "BRIDGE DEMO: GREEN", done.stdout + done.stderr
    assert done.returncode == 0
    evidence = json.loads(file.read_text())
    blows = "kill", "kill", "sigterm", "kill", "kill"
    for act, blow, claims in zip(evidence["acts"], blows, (2, 3, 3, 3, 2), strict=True):
        assert act["green"]
        assert all(check["kept"] for check in act["checks"])
        fences = [fence["n"] for fence in act["journal"]["fences"]]
        assert fences == sorted(set(fences))
        assert len(fences) == claims
        assert len(act["journal"]["hash"]) == 64
        facts = act["facts"]
        assert 0 < facts[f"{blow}_to_standby_ms"] <= facts[f"{blow}_to_next_event_ms"]
        waited = LEASE_MS if act["journal"].get("hosts") else 0
        assert facts[f"{blow}_to_standby_ms"] < LATE_MS + waited
    writer, together, drained, apart, paired = (act["facts"] for act in evidence["acts"])
    for census in (together, drained, apart, paired):
        assert census["pages"] == PAGES
        assert census["fetches"]["covered_and_fetched_again"] == []
        assert PAGES // 3 <= census["fetches"]["covered_by_checkpoint_at_takeover"] < PAGES
        assert census["fetches"]["total"] == PAGES + len(census["fetches"]["in_flight_and_fetched_again"])
    assert writer["sha256"] == writer["sha256_uninterrupted"]
    assert drained["exit_status"] == 0
    assert drained["sigterm_to_exit_ms"] < LATE_MS
    assert drained["sigterm_to_run_stopped_ms"] < LATE_MS
    hosts = evidence["acts"][3]["journal"]["hosts"]
    assert len(hosts) == 2
    assert set(hosts.values()) == {evidence["acts"][3]["journal"]["hash"]}
    assert evidence["acts"][4]["journal"]["ended"]
    struck = [note["what"] for note in evidence["timeline"] if note["who"] == "demo"]
    assert [what.split()[0] for what in struck] == ["SIGKILL"] * 2 + ["SIGTERM"] + ["SIGKILL"] * 3
    assert ["deleted" in what for what in struck] == [False, False, False, True, False, True]


def test_interrupted_it_leaves_nothing_running() -> None:
    demo = subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    family: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + 20
        while len(family) < 5 and time.monotonic() < deadline:
            family = psutil.Process(demo.pid).children(recursive=True)
            time.sleep(0.02)
        assert len(family) >= 5
        demo.send_signal(signal.SIGTERM)
        said, _ = demo.communicate(timeout=30)
        assert "interrupted" in said
        assert demo.returncode == 130
        _, left = psutil.wait_procs(family, timeout=5)
        assert left == []
    finally:
        if demo.poll() is None:
            os.kill(demo.pid, signal.SIGKILL)
