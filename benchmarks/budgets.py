"""The budgets, and how each is read off the figures of one run. A measurement that was left out has no verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import hosts
from benchmarks.figures import DIRECT, GATEWAY, SIDECAR, Figures


@dataclass(frozen=True, slots=True)
class Budget:
    """One promise about cost or speed.

    Attributes:
        text: what is promised.
        limit: the number in it.
        unit: of that number.
        at_least: a floor, else a ceiling.
        value: reads it off the figures; None where it was not measured.
    """

    text: str
    limit: float
    unit: str
    at_least: bool
    value: Callable[[Figures], float | None]

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def bound(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:,g}{self.unit}"


def _more(figures: Figures, group: str, way: str, to: str) -> float | None:
    return figures.difference(group, way, to)


BUDGETS = (
    Budget("SendMessage to the SDK agent: added p50, c=1", 1.0, " ms", False,
           lambda f: f.difference("send.c1.p50", SIDECAR)),
    Budget("GetTask, c=16: requests/s against the SDK agent's own", 4, " times", True,
           lambda f: f.ratio("get.c16.rate", SIDECAR)),
    Budget("one stream of the canned agent: durable events/s", 20_000, "", True,
           lambda f: f.median("stream", SIDECAR)),
    Budget("many streams of the SDK agent, of direct", 0.95, " times", True,
           lambda f: f.ratio("streams", SIDECAR)),
    Budget("agent SIGKILLed: until the standby's agent has the task", 50, " ms", False,
           lambda f: f.median("takeover.resumed", SIDECAR)),
    Budget("agent and sidecar SIGKILLed: the same, through a gateway", 50, " ms", False,
           lambda f: f.median("takeover.resumed", GATEWAY)),
    Budget("start to ready", 1.0, " s", False, lambda f: f.median("idle.start", "sidecar")),
    Budget("resident memory, idle", 90, " MB", False, lambda f: f.median("idle.memory", "sidecar")),
    Budget("memory for each open client stream", 40, " KB", False,
           lambda f: f.median("open.memory", "subscription")),
    Budget("waiting tasks: CPU that they add to an idle sidecar", 0.5, " % of a core", False,
           lambda f: _more(f, "waiting.cpu", "waiting tasks", "empty store")),
    Budget("waiting tasks: memory that they add to an idle sidecar", 5, " MB", False,
           lambda f: _more(f, "waiting.memory", "waiting tasks", "empty store")),
    Budget("over hosts, agent SIGKILLed: until another host's agent has the task", 60, " ms", False,
           lambda f: f.median("hosts.resumed", hosts.AGENT)),
    Budget("over hosts, host SIGKILLed, lease of 3 s + 0.3 s", 4_000, " ms", False,
           lambda f: f.median("hosts.resumed", hosts.HOST)),
    Budget("over hosts, host SIGKILLed, refused is dead", 500, " ms", False,
           lambda f: f.median("hosts.resumed", hosts.PROVEN)),
    Budget("over hosts, host SIGKILLed with 100 running tasks: until the last of them runs", 6_000, " ms", False,
           lambda f: f.median("crowd.resumed", hosts.ALL)),
    Budget("three voters: p50 of a commit", 3, " ms", False, lambda f: f.median("majority.p50", hosts.THREE)),
    Budget("three voters: one stream's events/s, of one voter's", 0.35, " times", True,
           lambda f: f.ratio("majority.stream", hosts.THREE, hosts.ONE)),
    Budget("longest wait for a commit of 8 saturating writers", 500, " ms", False,
           lambda f: max(f.samples("writers.longest", "8 writers"), default=None)),
)  # fmt: skip
"""The last of each kind where the issue gives no number: what it calls nothing is less than the noise."""

RATIOS = (
    ("stream", SIDECAR), ("streams", SIDECAR), ("send.c1.rate", SIDECAR), ("send.c16.rate", SIDECAR),
    ("send.canned.c1.rate", SIDECAR), ("send.canned.c16.rate", SIDECAR), ("get.c1.rate", SIDECAR),
    ("get.c16.rate", SIDECAR),
)  # fmt: skip
__all__ = ["BUDGETS", "DIRECT", "RATIOS", "Budget"]
