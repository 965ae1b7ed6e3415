"""What was measured: every sample, under the name of its group and of the way that was taken.

A figure is only ever compared with one of the same run. This file must not know budgets or pages.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

DIRECT, NGINX, SIDECAR, GATEWAY = "direct", "nginx", "sidecar", "gateway"


@dataclass(slots=True)
class Group:
    """Samples that belong in one picture.

    Attributes:
        title: for people.
        unit: of every sample.
        ways: samples by the way that was taken (``direct``, ``nginx``, ``sidecar`` …).
        more_is_better: how to read it.
    """

    title: str
    unit: str
    more_is_better: bool = True
    ways: dict[str, list[float]] = field(default_factory=dict)


class Figures:
    """All groups of a run."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def open(self, group: str, title: str, unit: str, *, more_is_better: bool = True) -> None:
        self.groups.setdefault(group, Group(title, unit, more_is_better))

    def add(self, group: str, way: str, *samples: float) -> None:
        self.groups[group].ways.setdefault(way, []).extend(samples)

    def samples(self, group: str, way: str) -> list[float]:
        found = self.groups.get(group)
        return found.ways.get(way, []) if found else []

    def median(self, group: str, way: str) -> float | None:
        samples = self.samples(group, way)
        return statistics.median(samples) if samples else None

    def ratio(self, group: str, way: str, to: str = DIRECT) -> float | None:
        """How a way stands to another one, of medians."""
        mine, theirs = self.median(group, way), self.median(group, to)
        return mine / theirs if mine is not None and theirs else None

    def difference(self, group: str, way: str, to: str = DIRECT) -> float | None:
        """What a way adds to another one, of medians."""
        mine, theirs = self.median(group, way), self.median(group, to)
        return mine - theirs if mine is not None and theirs is not None else None

    def as_json(self) -> dict[str, Any]:
        return {
            name: {
                "title": group.title,
                "unit": group.unit,
                "more_is_better": group.more_is_better,
                "samples": group.ways,
                "median": {way: self.median(name, way) for way in group.ways},
            }
            for name, group in self.groups.items()
        }
