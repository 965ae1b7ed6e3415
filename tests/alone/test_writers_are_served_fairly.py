"""No writer starves: with saturating processes on one store every commit comes within half a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("FAIRNESS_SECONDS", "2"))
LONGEST_MS = 500


@pytest.mark.chaos
@pytest.mark.parametrize("writers", [2, 8])
def test_no_writer_waits_long_for_a_commit(tmp_path: Path, writers: int) -> None:
    url = f"sqlite:///{tmp_path / 'journal.db'}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.alone.saturating_writer", url, f"writer-{index}", str(SECONDS)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for index in range(writers)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = [json.loads(process.communicate(timeout=SECONDS + 60)[0]) for process in processes]
    for report in reports:
        sys.stdout.write(f"{report}\n")
    assert max(report["longest_ms"] for report in reports) < LONGEST_MS
    commits = [report["commits"] for report in reports]
    assert min(commits) > max(commits) / 2, "some were served twice as often as others"
