"""A scenario: a story told over a range of seeds, and what of it must really have happened.

``--seeds`` of the command tells it more often than the suite has time for. What a story asserts about its own end
it asserts itself; here only the counts of all its seeds together are judged.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bridge.errors import InvariantViolation


class Scenario(NamedTuple):
    """One of the ten.

    Attributes:
        number: in the list of scenarios.
        name: of it.
        key: word by which the command knows it.
        play: lives through all worlds of a seed; says how many they were, and what happened in them.
        must: what has to happen in each range of seeds; the first is the scenario's fault proper.
        seeds: how many the suite has time for.
    """

    number: int
    name: str
    key: str
    play: Callable[[int], tuple[int, Counter[str]]]
    must: Sequence[str]
    seeds: int


class Happened(NamedTuple):
    """What a range of seeds led to, and the seconds of a processor that it cost."""

    seeds: int
    worlds: int
    fired: Counter[str]
    seconds: float

    def missing(self, scenario: Scenario) -> list[str]:
        """What should have happened and did not, in a range that is long enough to say so."""
        if self.seeds < scenario.seeds:
            return []
        return [fault for fault in scenario.must if not self.fired[fault]]


def command(scenario: Scenario, seed: int) -> str:
    """What repeats a seed."""
    return f"python -m tests.simulation.scenarios {scenario.key} --first {seed} --seeds 1"


def play(scenario: Scenario, seeds: Sequence[int]) -> Happened:
    """Live through a range of seeds.

    Raises:
        Broken: a promise was broken; a note names the command that repeats it.
    """
    began, worlds, fired = time.process_time(), 0, Counter[str]()
    for seed in seeds:
        try:
            count, counted = scenario.play(seed)
        except (Exception, InvariantViolation) as broken:
            broken.add_note(command(scenario, seed))
            raise
        worlds += count
        fired += counted
    return Happened(len(seeds), worlds, fired, time.process_time() - began)
