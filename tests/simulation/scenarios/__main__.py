"""Tell the ten scenarios and say how often the fault of each really fired.

    python -m tests.simulation.scenarios                       all of them, as often as the suite does
    python -m tests.simulation.scenarios --seeds 500           each over 500 seeds
    python -m tests.simulation.scenarios voter_writes --first 7 --seeds 1 --all-counts

Its status is 1 if a promise was broken or something that a scenario is about never happened.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bridge.errors import InvariantViolation
from tests.simulation.scenarios import (
    test_adopted_end,
    test_crash_at_each_event,
    test_lease_edges,
    test_minority_terminal,
    test_one_message_twice,
    test_pair,
    test_purged,
    test_subscribers,
    test_three_fences,
    test_voter_forgets,
    test_voter_writes,
    test_voters_change,
)
from tests.simulation.scenarios.scenario import Happened, Scenario, play

SCENARIOS: tuple[Scenario, ...] = (
    test_three_fences.SCENARIO,
    test_voter_writes.SCENARIO,
    test_minority_terminal.SCENARIO,
    test_adopted_end.SCENARIO,
    test_voter_forgets.SCENARIO,
    test_purged.SCENARIO,
    test_lease_edges.SCENARIO,
    test_voters_change.SCENARIO,
    test_pair.SCENARIO,
    test_crash_at_each_event.SCENARIO,
    test_one_message_twice.SCENARIO,
    test_subscribers.SCENARIO,
)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tell(scenario: Scenario, seeds: Sequence[int], *, all_counts: bool) -> bool:
    """Tell one; whether it went as it must."""
    try:
        happened = play(scenario, seeds)
    except (Exception, InvariantViolation) as broken:  # noqa: BLE001  (every scenario has its turn)
        say(f"{scenario.number:>2}  {scenario.name}\n    BROKEN {type(broken).__name__}: {str(broken)[:300]}")
        for note in getattr(broken, "__notes__", ()):
            say(f"    {note}")
        return False
    show(scenario, happened, all_counts=all_counts)
    return not happened.missing(scenario)


def show(scenario: Scenario, happened: Happened, *, all_counts: bool) -> None:
    """The lines of one scenario."""
    say(
        f"{scenario.number:>2}  {scenario.name}\n"
        f"    {happened.seeds} seeds, {happened.worlds} worlds, {happened.seconds:.1f} s of a processor"
    )
    counts = dict.fromkeys(scenario.must, 0) | (dict(sorted(happened.fired.items())) if all_counts else {})
    for fault in counts:
        times = happened.fired[fault]
        say(f"    {times:>9}  {fault}{'' if times or fault not in scenario.must else '   NEVER'}")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.scenarios")
    keys = [scenario.key for scenario in SCENARIOS]
    parser.add_argument("which", nargs="*", metavar="scenario", help=f"of {', '.join(keys)} (default: all)")
    parser.add_argument("--seeds", type=int, help="how many (default: as many as in the suite)")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--all-counts", action="store_true", help="all that happened, not only what must")
    asked = parser.parse_args(args)
    if unknown := [key for key in asked.which if key not in keys]:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    well = True
    for scenario in SCENARIOS:
        if not asked.which or scenario.key in asked.which:
            seeds = range(asked.first, asked.first + (asked.seeds or scenario.seeds))
            well = tell(scenario, seeds, all_counts=asked.all_counts) and well
    return not well


if __name__ == "__main__":
    sys.exit(main())
