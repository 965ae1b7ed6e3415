"""Break the rules on purpose, one at a time, and print after how many worlds which promise was seen to be broken.

    python -m tests.simulation.mutations                       all of them; 1 if one was not caught
    python -m tests.simulation.mutations --only "no pre-vote"  those with these words in their name
    python -m tests.simulation.mutations --markdown            the table for the documentation

What a mutation did in its world: ``python -m tests.simulation.mutations.worker "no pre-vote" --seed 46``
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.engine import Result, broken, control, each
from tests.simulation.mutations.mutation import OWN

HEADS = ("mutation", "caught by", "seed", "worlds", "seconds", "seen before that")


def row(result: Result) -> tuple[str, ...]:
    """A mutation's line of the table."""
    caught, first = result.caught, result.first
    by = caught.promise if caught else f"NOT CAUGHT by: {result.mutation.promise}"
    before = "" if first is None or first == caught else f"{first.promise}, in world {first.ran}"
    seed = str(caught.seed) if caught else ""
    return result.mutation.name, result.fault or by, seed, str(result.ran), f"{result.seconds:.1f}", before


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 if something was not caught, or something was wrong with nothing broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations")
    parser.add_argument("--only", default="", help="words of a name")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: each core)")
    parser.add_argument("--markdown", action="store_true", help="print the table for the documentation")
    asked = parser.parse_args(arguments)
    chosen = [mutation for mutation in MUTATIONS if asked.only in mutation.name]
    if not chosen:
        parser.error(f"nothing is named {asked.only!r}")
    line = "| {} | {} | {} | {} | {} | {} |" if asked.markdown else "{:<48} {:<36} {:>7} {:>6} {:>7}  {}"
    say(line.format(*HEADS).rstrip())
    if asked.markdown:
        say(line.format("---", "---", "---:", "---:", "---:", "---"))
    began, results = time.monotonic(), list[Result]()
    for result in each(broken, chosen, asked.workers):
        results.append(result)
        say(line.format(*row(result)).rstrip())
    missed = sum(bool(result.fault) or result.caught is None for result in results)
    faults = control(results)
    own = sum(result.first is not None and result.first.promise == OWN for result in results)
    say(f"\n{len(results) - missed} of {len(results)} broken rules were caught by the promise named for them,")
    say(f"{own} were met first by {OWN}; {time.monotonic() - began:.0f} s on {asked.workers} workers")
    say("\n".join(faults) or "with nothing broken, every promise was kept in the same worlds")
    return bool(missed or faults)


def say(line: str) -> None:
    """Print at once: all of them take minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
