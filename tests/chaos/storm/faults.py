"""The schedule of faults: from a seed, before anything starts, so that a seed always means the same faults.

Pure. It must not know processes. What it prevents: a storm that cannot be had again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

TTL_S = 3.0
BOOT_S = 2.5
DRAIN_S = 5.0
FIRST_S = 2.0
BOTH_AGENTS_EVERY_S = 45.0
SHORT_STOP_S = 1.5
"""A gateway that is stopped no longer keeps its clients: they wait 5 s, and the last comment is 2 s old."""

AGENTS, SIDECARS = ("agent-a", "agent-b"), ("sidecar-a", "sidecar-b")
PAIRS = (("agent-a", "sidecar-a"), ("agent-b", "sidecar-b"))
STEADY_GATE, FRAIL_GATE = "gate-1", "gate-2"

_SINGLES = [(target,) for target in (*AGENTS, *SIDECARS)]
_CHOICES: list[tuple[float, str, tuple[str, ...]]] = [
    *((2.5, "kill", each) for each in _SINGLES),
    *((1.5, "stop", each) for each in _SINGLES),
    *((1.2, "term", each) for each in _SINGLES),
    *((1.5, "kill", pair) for pair in PAIRS),
    *((0.5, action, pair) for pair in PAIRS for action in ("stop", "term")),
    (1.5, "kill", AGENTS),
    (0.5, "stop", AGENTS),
    (1.0, "kill", SIDECARS),
    (0.7, "stop", SIDECARS),
    (0.4, "term", SIDECARS),
    (0.5, "kill", (*AGENTS, *SIDECARS)),
    (1.2, "kill", (FRAIL_GATE,)),
    (0.8, "stop", (FRAIL_GATE,)),
    (0.8, "term", (FRAIL_GATE,)),
    (0.8, "stop", (STEADY_GATE,)),
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        at: seconds from the beginning.
        action: ``kill`` (SIGKILL), ``stop`` (SIGSTOP, and SIGCONT after ``hold``), ``term`` (SIGTERM), or one of
            the network's (``links``).
        targets: who is hit, at the same moment.
        hold: how long a stopped one stays stopped, an ended one ended, a network spoilt.
    """

    at: float
    action: str
    targets: tuple[str, ...]
    hold: float

    @property
    def kind(self) -> str:
        """For counting."""
        return f"{self.action} {' '.join(self.targets)}"

    @property
    def over(self) -> float:
        """When its targets are at work again, roughly."""
        drain = DRAIN_S if self.action == "term" else 0.0
        return self.at + drain + self.hold + (0.5 if self.action == "stop" else BOOT_S)


def schedule(seed: int, seconds: float, pace: float = 1.5, hold: float = 1.0) -> list[Fault]:
    """All faults of a storm.

    Args:
        seed: decides everything.
        seconds: how long it blows.
        pace: mean seconds between two faults, where there is a target free.
        hold: stretches or shortens how long targets are kept away.
    """
    rng = random.Random(f"faults {seed}")
    free = dict.fromkeys((*AGENTS, *SIDECARS, STEADY_GATE, FRAIL_GATE), 0.0)
    faults: list[Fault] = []
    at, both_due = FIRST_S, rng.uniform(FIRST_S, min(BOTH_AGENTS_EVERY_S, max(FIRST_S, seconds / 2)))
    while True:
        at += rng.expovariate(1 / pace)
        choices = [each for each in _CHOICES if all(free[target] <= at for target in each[2])]
        if at >= both_due:  # both agents down, sooner or later in any case
            at = max(at, *(free[target] for target in AGENTS))
            choices, both_due = [(1.0, "kill", AGENTS)], at + BOTH_AGENTS_EVERY_S
        if at >= seconds:
            return faults
        if not choices:
            continue
        _, action, targets = rng.choices(choices, [each[0] for each in choices])[0]
        fault = Fault(round(at, 3), action, targets, round(_hold(rng, action, targets) * hold, 3))
        faults.append(fault)
        free.update(dict.fromkeys(targets, fault.over))


def _hold(rng: random.Random, action: str, targets: tuple[str, ...]) -> float:
    if targets == (STEADY_GATE,):
        return rng.uniform(0.1, SHORT_STOP_S)
    if action == "stop":
        return rng.choice((rng.uniform(0.05, 1.5), rng.uniform(1.5, 2 * TTL_S)))
    return rng.choice((rng.uniform(0, 0.5), rng.uniform(0.5, 4.0)))
