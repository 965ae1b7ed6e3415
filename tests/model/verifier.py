"""Runs spin: a model becomes C, the C a program, the program searches every state within the bounds.

Knows spin's and the verifier's command lines and what they print, not what a model is about. It prevents a search
that did not see everything (too deep, out of memory, stopped) from counting as one that found nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.model.catalogue import Model

HERE = Path(__file__).resolve().parent
CYCLE = "no_progress_though_all_is_quiet"
DEPTH_MOST = 20_000
MEGABYTES_MOST = 12_000

NUMBERS = {
    "states": re.compile(r"([\d.e+]+) states, stored"),
    "transitions": re.compile(r"([\d.e+]+) transitions"),
    "depth": re.compile(r"depth reached (\d+)"),
    "seconds": re.compile(r"elapsed time ([\d.]+)"),
    "megabytes": re.compile(r"([\d.]+)\s+total actual memory"),
}
FAULT = re.compile(r"pan:\d+: (.+?) \(at depth")
PROPERTY = re.compile(r"assertion violated\s+!\((\w+)\)")


class Result(NamedTuple):
    """What one search found.

    Attributes:
        broken: the first property found broken, or what the verifier calls the fault; empty if none.
        exhaustive: whether every state within the bounds was seen.
        trail: what the simulator prints on the way to the fault.
    """

    states: int
    transitions: int
    depth: int
    seconds: float
    megabytes: float
    broken: str
    exhaustive: bool
    trail: str


def missing() -> str:
    """The tools that this machine lacks, as a reason not to search; empty if it has all."""
    lacking = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]
    return f"no {' and no '.join(lacking)} on this machine" if lacking else ""


def search(model: Model, flag: str = "", *, ordered: bool = True, shortest: bool = False) -> Result:
    """Search one model, with a rule broken if there is a flag.

    Args:
        model: file and bounds.
        flag: the mutation's macro.
        ordered: look at one order of equal voters only: fewer states, but a trail nobody can follow.
        shortest: breadth first: the shortest trail to a fault, but cycles are not looked for.
    """
    macros = [*model.bounds, *([flag] if flag else []), *(["SYMMETRY"] if ordered else [])]
    defines = [f"-D{macro}" for macro in macros]
    cycles = model.quiet and not shortest
    kind = ["-DNP"] if cycles else ["-DSAFETY"]
    # Faults need the later fences, which the models name last.
    kind += ["-DBFS"] if shortest else ["-DT_REVERSE"] if flag else []
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        for source in HERE.glob("*.pml"):
            shutil.copy(source, folder)
        run(["spin", *defines, "-a", model.file], folder)
        limits = ["-DNOREDUCE", "-DVECTORSZ=1024", f"-DMEMLIM={MEGABYTES_MOST}"]
        run(["gcc", "-w", "-O1", *limits, *kind, "-o", "pan", "pan.c"], folder)
        said = run(["./pan", "-n", "-w22", f"-m{DEPTH_MOST}", *(["-l"] if cycles else [])], folder)
        trail = run(["spin", *defines, "-t", model.file], folder) if FAULT.search(said) else ""
    return result(said, trail)


def result(said: str, trail: str) -> Result:
    """Read what the verifier printed."""
    numbers = {name: float(match[1]) if (match := known.search(said)) else 0.0 for name, known in NUMBERS.items()}
    broken = found[1] if (found := FAULT.search(said)) else ""
    if known := PROPERTY.search(broken):
        broken = known[1]
    elif "non-progress cycle" in broken:
        broken = CYCLE
    whole = "errors: 0" in said and not re.search(r"not completed|too small|out of memory|MEMLIM|aborted", said)
    return Result(
        int(numbers["states"]),
        int(numbers["transitions"]),
        int(numbers["depth"]),
        numbers["seconds"],
        numbers["megabytes"],
        broken,
        whole and not broken,
        trail,
    )


def run(command: list[str], folder: str) -> str:
    """Run a command and return what it printed; a failure is an error, a verifier's finding is not one."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode and command[0] != "./pan" and "-t" not in command:
        raise RuntimeError(f"{' '.join(command)} failed:\n{said}")
    if "syntax error" in said or "Error: undeclared" in said:
        raise RuntimeError(f"{' '.join(command)}:\n{said}")
    return said
