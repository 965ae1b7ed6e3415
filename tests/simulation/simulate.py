"""Run seeds, on every core unless told otherwise, and say what happened in them.

    python -m tests.simulation.simulate --seeds 1000            seeds 0 to 999
    python -m tests.simulation.simulate --seeds 1000 --first 5000 --workers 1
    python -m tests.simulation.simulate --seed 17               one seed, with its trace
    python -m tests.simulation.simulate --seeds 50000 --every 50 --coverage
                                                                what of bridge/ every fiftieth of them reaches

It prints the range, the pace, how often each fault really fired, and the first failing seeds with the command that
repeats them; its status is 1 if any failed. Each worker is a process of its own: nothing is shared but the totals.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from typing import NamedTuple

from bridge.errors import InvariantViolation
from tests.simulation.reached import reach
from tests.simulation.world import World

SLICE = 50


class Found(NamedTuple):
    """What some seeds led to.

    Attributes:
        seeds: how many.
        steps: in all of them.
        fired: how often each fault happened.
        failed: seed and what was broken.
    """

    seeds: int
    steps: int
    fired: Counter[str]
    failed: list[tuple[int, str]]


def command(seed: int) -> str:
    """What repeats a seed."""
    return f"python -m tests.simulation.simulate --seed={seed}"


def run_seed(seed: int) -> World:
    """Live through a seed; whatever it breaks names the command that repeats it."""
    world = World(seed)
    try:
        return world.run()
    except (Exception, InvariantViolation) as broken:
        broken.add_note(command(seed))
        raise


def run_range(first: int, count: int, every: int = 1) -> Found:
    """Live through a range of seeds, or through every so-manieth of them."""
    seeds = range(first, first + count, every)
    steps, fired, failed = 0, Counter[str](), []
    for seed in seeds:
        world = World(seed)
        try:
            world.run()
        except (Exception, InvariantViolation) as broken:  # noqa: BLE001  (every seed has its turn)
            failed.append((seed, f"{type(broken).__name__}: {str(broken)[:300]}"))
        steps += world.kernel.steps
        fired += world.kernel.fired
    return Found(len(seeds), steps, fired, failed)


def run_all(first: int, count: int, workers: int, every: int = 1) -> Found:
    """Share a range among workers."""
    if workers == 1:
        return run_range(first, count, every)
    seeds, steps, fired, failed = 0, 0, Counter[str](), []
    starts = range(first, first + count, SLICE * every)
    counts = [min(SLICE * every, first + count - start) for start in starts]
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(run_range, starts, counts, repeat(every)):
            seeds += found.seeds
            steps += found.steps
            fired += found.fired
            failed += found.failed
    return Found(seeds, steps, fired, failed)


def show(seed: int) -> int:
    """One seed, with its trace; 1 if it broke a promise."""
    world = World(seed)
    broken: BaseException | None = None
    try:
        world.run()
    except (Exception, InvariantViolation) as fault:  # noqa: BLE001  (told below)
        broken = fault
    say("\n".join(world.kernel.trace))
    say(f"seed {seed}: {world.options}")
    say(f"{world.kernel.steps} steps, trace {world.kernel.digest()}")
    say(f"{type(broken).__name__}: {broken}" if broken else "every promise was kept")
    return broken is not None


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.simulate")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: each core)")
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth seed of the range")
    parser.add_argument("--coverage", action="store_true", help="and what of bridge/ they reach (3 times slower)")
    parser.add_argument("--seed", type=int, help="only this one, with its trace")
    asked = parser.parse_args(args)
    if asked.seed is not None:
        return show(asked.seed)
    if asked.coverage:
        return reach(asked.first, asked.seeds, asked.every, asked.workers)
    began = time.monotonic()
    found = run_all(asked.first, asked.seeds, asked.workers, asked.every)
    took = time.monotonic() - began
    which = f"seeds {asked.first} to {asked.first + asked.seeds - 1}"
    which += f", one in {asked.every}" if asked.every > 1 else ""
    say(f"{which}, in {took:.1f} s on {asked.workers} workers:"
        f" {found.seeds / took:.0f} seeds/s, {found.steps / max(1, found.seeds):.0f} steps a seed")  # fmt: skip
    for fault, times in sorted(found.fired.items()):
        say(f"  {times:>9}  {fault}")
    for seed, what in found.failed[:10]:
        say(f"seed {seed}: {what}\n  {command(seed)}")
    say(f"{len(found.failed)} of {found.seeds} seeds broke a promise")
    return bool(found.failed)


if __name__ == "__main__":
    sys.exit(main())
