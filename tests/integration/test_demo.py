"""The demo itself, as ``make demo`` runs it: green, within its time, with evidence that holds what it claims."""

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


@pytest.mark.slow
def test_the_demo_is_green_and_its_evidence_says_why(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    done = subprocess.run(
        [*COMMAND, "--json", str(file)], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.splitlines()[-1] == "BRIDGE DEMO: GREEN", done.stdout + done.stderr
    assert done.returncode == 0
    evidence = json.loads(file.read_text())
    assert evidence["seconds"] < 40
    census, writer = evidence["acts"]
    for act in (census, writer):
        assert act["green"]
        assert all(check["kept"] for check in act["checks"])
        first, second = act["journal"]["fences"]
        assert first["n"] < second["n"]
        assert len(act["journal"]["hash"]) == 64
        assert 0 < act["facts"]["kill_to_standby_ms"] <= act["facts"]["kill_to_next_event_ms"]
    assert census["facts"]["pages"] == 60
    assert census["facts"]["fetches"]["covered_and_fetched_again"] == []
    assert 20 <= census["facts"]["fetches"]["covered_by_checkpoint_at_takeover"] < 60
    assert writer["facts"]["sha256"] == writer["facts"]["sha256_uninterrupted"]
    assert any("SIGKILL" in note["what"] for note in evidence["timeline"])


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
