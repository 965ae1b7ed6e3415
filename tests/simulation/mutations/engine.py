"""Break every rule, each in a process of its own, and say who saw it.

A process is begun for each mutation, because a module can be loaded broken only where nothing has loaded it yet.
This file must not import the rules, nor the simulator. The failure it prevents: a proof by worlds that would have
failed anyway; so the control lives through the same worlds with nothing broken.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.patch import ROOT

WORKER = "tests.simulation.mutations.worker"
CONTROL_MIN = 20  # worlds of the control, where the mutation was seen in the first


class Note(NamedTuple):
    """A promise that was seen to be broken.

    Attributes:
        promise: name of the checker, or who else stopped the world.
        seed: of the world.
        ran: in the how manyth world that was.
        said: what was said.
    """

    promise: str
    seed: int
    ran: int
    said: str


class Result(NamedTuple):
    """What became of a mutation.

    Attributes:
        caught: by the promise that must see it; None where it did not.
        first: whatever was seen first, which may be the same.
        others: how many worlds were stopped by something else, by its name.
        ran: how many worlds.
        seconds: of them.
        fault: why nothing could be said.
    """

    mutation: Mutation
    caught: Note | None
    first: Note | None
    others: dict[str, int]
    ran: int
    seconds: float
    fault: str = ""


def worked(*arguments: str) -> dict[str, Any]:
    """What a worker found; ``fault`` where it could not say."""
    command = [sys.executable, "-m", WORKER, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"fault": (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def broken(mutation: Mutation) -> Result:
    """Break one rule."""
    found = worked(mutation.name)
    fault = found.get("fault", "")
    if not fault and found["unbroken"]:
        fault = f"no world imports {', '.join(found['unbroken'])}"
    caught, first = (Note(**each) if each else None for each in (found.get("caught"), found.get("first")))
    others = found.get("others", {})
    return Result(mutation, caught, first, others, found.get("ran", 0), found.get("seconds", 0.0), fault)


def control(results: Sequence[Result]) -> list[str]:
    """What was wrong in the same worlds with nothing broken; each kind of world once, as far as any went."""
    furthest: dict[str, Result] = {}
    for result in results:
        key = str(result.mutation.worlds)
        if key not in furthest or furthest[key].ran < result.ran:
            furthest[key] = result
    return [said for result in furthest.values() for said in _control(result)]


def _control(result: Result) -> list[str]:
    found = worked("-", "--like", result.mutation.name, "--seeds", str(max(CONTROL_MIN, result.ran)))
    if "fault" in found:
        return [found["fault"]]
    caught = found["caught"]
    return [f"seed {caught['seed']} with nothing broken: {caught['said']}"] if caught else []


def each(run: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Iterator[Any]:
    """Results in the order of what they are of, so many processes at once."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(run, items)


def unseen(results: Sequence[Result], promises: Sequence[str]) -> list[str]:
    """Promises that nothing was caught by: whether they would see anything is not known."""
    saw = {result.caught.promise for result in results if result.caught}
    return [promise for promise in promises if promise not in saw]
