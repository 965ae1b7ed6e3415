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
    test_ten_claimants,
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
    test_ten_claimants.SCENARIO,
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


def tell(scenario: Scenario, seeds: Sequence[int], *, all_counts: bool) -> Happened | None:
    """Tell one, with what happened in it; None if it broke a promise."""
    say(f"{scenario.number:>2}  {scenario.name}")
    try:
        happened = play(scenario, seeds)
    except (Exception, InvariantViolation) as broken:  # noqa: BLE001  (every scenario has its turn)
        say(f"    BROKEN {type(broken).__name__}: {str(broken)[:300]}")
        for note in getattr(broken, "__notes__", ()):
            say(f"    {note}")
        return None
    counts = dict.fromkeys(scenario.must, 0) | (dict(sorted(happened.fired.items())) if all_counts else {})
    missing = happened.missing(scenario)
    for fault in counts:
        say(f"    {happened.fired[fault]:>9}  {fault}{'   NEVER' if fault in missing else ''}")
    return happened


def table(told: Sequence[tuple[Scenario, Happened]]) -> str:
    """A line for each: its fault proper, and how often it fired."""
    width = max(len(scenario.key) for scenario, _ in told)
    head = f"\n    {'scenario':<{width}}  seeds  worlds    s  fired"
    lines = [
        f"{scenario.number:>2}  {scenario.key:<{width}} {happened.seeds:>6} {happened.worlds:>7} "
        f"{happened.seconds:>4.1f} {happened.fired[scenario.must[0]]:>6}  {scenario.must[0]}"
        for scenario, happened in told
    ]
    return "\n".join([head, *lines])


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
    chosen = [scenario for scenario in SCENARIOS if not asked.which or scenario.key in asked.which]
    told: list[tuple[Scenario, Happened]] = []
    for scenario in chosen:
        seeds = range(asked.first, asked.first + (asked.seeds or scenario.seeds))
        happened = tell(scenario, seeds, all_counts=asked.all_counts)
        if happened is not None:
            told.append((scenario, happened))
    if told:
        say(table(told))
    return len(told) < len(chosen) or any(happened.missing(scenario) for scenario, happened in told)


if __name__ == "__main__":
    sys.exit(main())
