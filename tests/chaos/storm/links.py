"""Faults of the network between hosts: their schedule, from a seed, and what each does to a switch.

    cut    no frame between a host and its peers passes        mute   none from it
    slow   200 ms and 5 % of loss, both ways                   deaf   none to it
    torn   none between two hosts, which both reach the third

Clients reach their gateway all the time. This file must not know processes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.chaos.net.switch import CLEAR, CUT, SLOW, Switch
from tests.chaos.storm.faults import FIRST_S, SIDECARS, STEADY_GATE, TTL_S, Fault

HOSTS = (*SIDECARS, STEADY_GATE)
ACTIONS = {"cut": 2.0, "deaf": 1.5, "mute": 1.5, "slow": 1.0, "torn": 1.5}


def schedule(seed: int, seconds: float, pace: float) -> list[Fault]:
    """All faults of the network; one at a time."""
    rng = random.Random(f"links {seed}")
    faults: list[Fault] = []
    at = FIRST_S
    while (at := at + rng.expovariate(1 / pace)) < seconds:
        action = rng.choices([*ACTIONS], [*ACTIONS.values()])[0]
        targets = tuple(rng.sample(HOSTS, 2 if action == "torn" else 1))
        hold = round(rng.choice((rng.uniform(0.1, 1.5), rng.uniform(1.5, 2 * TTL_S))), 3)
        faults.append(Fault(round(at, 3), action, targets, hold))
        at += hold
    return faults


def strike(switch: Switch, action: str, targets: Sequence[str]) -> None:
    """Have a fault begin; ``clear`` ends it."""
    host, others = targets[0], [each for each in HOSTS if each != targets[0]]
    others = [targets[1]] if action == "torn" else others
    way = {"clear": CLEAR, "slow": SLOW}.get(action, CUT)
    if action != "deaf":
        switch.set([host], others, way)
    if action != "mute":
        switch.set(others, [host], way)
