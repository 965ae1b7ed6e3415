"""The benchmarks over hosts run and say what they measured: structure, not speed."""

from __future__ import annotations

import pytest

from tests.tour.test_benchmarks import OVER_HOSTS, forked, measures

__all__ = ["forked"]

TAKEOVER = {"hosts.resumed", "hosts.event"}
GROUPS = {
    "hosts": TAKEOVER, "dead": TAKEOVER, "proven": TAKEOVER, "crowd": {"crowd.resumed"},
    "majority": {"majority.stream", "majority.p50", "majority.p99"},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OVER_HOSTS))
async def test_each_part_measures_what_it_names(name: str) -> None:
    await measures(name, GROUPS[name])
