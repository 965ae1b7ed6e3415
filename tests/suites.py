"""Run the test suites one after the other, each within its time budget.

A suite that grows slow fails here, before it makes everybody wait. Budgets are generous (machines are noisy, and
share their cores); a suite that hangs is stopped at twice its budget.

    .venv/bin/python tests/suites.py            all suites
    .venv/bin/python tests/suites.py unit       some of them
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Suite(NamedTuple):
    """A directory below ``tests``, the seconds it may take, and what pytest is told besides."""

    name: str
    budget_s: int
    options: tuple[str, ...] = ()


# These wait for processes more than they work.
PARALLEL = ("-n", "4", "--dist", "worksteal")

# These only work, and count over a whole file what happened in it.
BY_FILE = ("-n", "2", "--dist", "loadfile")

SUITES = (
    Suite("architecture", 40),
    Suite("unit", 150, ("--cov=bridge", "--cov-branch", "--cov-fail-under=100", "--cov-report=term:skip-covered")),
    Suite("simulation", 60, BY_FILE),
    Suite("model", 90),  # skipped where spin or a C compiler is missing
    Suite("contract", 60),
    Suite("integration", 180, PARALLEL),
    Suite("hosts", 120, PARALLEL),
    Suite("tour", 120, PARALLEL),  # what the documents invite to: the demo and the benchmarks
    Suite("chaos", 150, PARALLEL),
    Suite("alone", 40),  # measures how long something takes: nothing runs beside it
    Suite("container", 480),  # on a machine that has no image yet; skipped where containers are not permitted
)


def main(names: list[str]) -> int:
    """Run the suites of these names (all without any) and say what each cost; 1 if one failed or was too slow."""
    unknown = set(names) - {suite.name for suite in SUITES}
    if unknown:
        sys.stderr.write(f"no such suite: {', '.join(sorted(unknown))}\n")
        return 2
    lines: list[str] = []
    for suite in SUITES:
        if names and suite.name not in names:
            continue
        if any((ROOT / "tests" / suite.name).rglob("test_*.py")):
            seconds, wrong = run(suite)
            lines.append(f"{suite.name:<14}{seconds:6.1f} s of {suite.budget_s} s  {wrong or 'ok'}")
        else:
            wrong = ""
            lines.append(f"{suite.name:<14}   has no tests")
        sys.stdout.write(f"== {lines[-1]}\n")
        sys.stdout.flush()
        if wrong:
            return 1
    sys.stdout.write("\n".join(["", "every suite passed within its budget:", *lines, ""]))
    return 0


def run(suite: Suite) -> tuple[float, str]:
    """Run one suite; its seconds, and what was wrong, if anything."""
    command = [sys.executable, "-m", "pytest", "-q", f"tests/{suite.name}", *suite.options]
    begin = time.monotonic()
    try:
        status = subprocess.run(command, cwd=ROOT, timeout=suite.budget_s * 2, check=False).returncode
    except subprocess.TimeoutExpired:
        return time.monotonic() - begin, "stopped: twice over its budget"
    seconds = time.monotonic() - begin
    if status:
        return seconds, f"failed ({status})"
    return seconds, "over its budget" if seconds > suite.budget_s else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
