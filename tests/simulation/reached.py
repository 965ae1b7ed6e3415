"""What of ``bridge/`` a range of seeds reaches: each share of it runs traced in a process of its own.

A process is traced from its first import on, so that what a module does while it is read counts too; their data
are put together at the end. A line that no world reaches is one that the simulator says nothing about. This file
must not import what it measures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[2]
WORLDS = "tests.simulation.simulate"


def shares(first: int, count: int, every: int, workers: int) -> list[tuple[int, int]]:
    """A range cut into one piece a worker: the first seed and the length of each."""
    size = -(-count // (every * workers)) * every
    return [(start, min(size, first + count - start)) for start in range(first, first + count, size)]


def traced(first: int, count: int, every: int, data: Path) -> list[str]:
    """The command that lives through a share and leaves what it reached in ``data``."""
    seeds = ["--first", str(first), "--seeds", str(count), "--every", str(every), "--workers", "1"]
    run = [sys.executable, "-m", "coverage", "run", "--branch", "--source=bridge", f"--data-file={data}"]
    return [*run, "-m", WORLDS, *seeds]


def table(data: Sequence[Path], into: Path) -> str:
    """Each file of ``bridge/`` with its share of lines and branches, and those that no seed reached."""
    measured = Coverage(data_file=str(into), branch=True, source=["bridge"])
    measured.combine([str(each) for each in data], keep=True)
    report = StringIO()
    measured.report(file=report, show_missing=True, skip_covered=False, sort="-cover")
    kept = measured.get_data()
    used = [name for name in kept.measured_files() if kept.lines(name)]
    share = measured.report(include=used, file=StringIO())
    return f"{report.getvalue()}{share:.0f}% of the {len(used)} files that the worlds use\n"


def reach(first: int, count: int, every: int, workers: int) -> int:
    """Measure a range and print it; 1 if a seed broke a promise, too."""
    with tempfile.TemporaryDirectory() as folder:
        pieces = shares(first, count, every, workers)
        data = [Path(folder, f"reached.{start}") for start, _ in pieces]
        running = [
            subprocess.Popen(traced(start, size, every, where), cwd=ROOT, stdout=subprocess.PIPE, text=True)
            for (start, size), where in zip(pieces, data, strict=True)
        ]
        for process in running:
            lines = process.communicate()[0].splitlines()
            told = [line for line in lines if not line.startswith("  ") or WORLDS in line]
            sys.stdout.write("\n".join([*told, ""]))
        sys.stdout.write("\n" + table(data, Path(folder, "all")))
    return any(process.returncode for process in running)
