"""What seeds reach of ``bridge/`` is measured over all workers together."""

from __future__ import annotations

import pytest

from tests.simulation.reached import reach, shares


@pytest.mark.parametrize(("count", "every", "workers"), [(1_000, 50, 3), (7, 1, 2), (3, 1, 8), (101, 10, 2)])
def test_shares_are_together_the_seeds_that_were_asked_for(count: int, every: int, workers: int) -> None:
    pieces = shares(20, count, every, workers)
    seeds = [seed for first, size in pieces for seed in range(first, first + size, every)]
    assert seeds == [*range(20, 20 + count, every)]
    assert len(pieces) <= workers


def test_two_workers_reach_the_rules_of_the_quorum(capsys: pytest.CaptureFixture[str]) -> None:
    assert reach(0, 8, 2, 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line == "0 of 2 seeds broke a promise" for line in lines) == 2
    percent = {
        line.split()[0]: int(line.split("%")[0].split()[-1]) for line in lines if line.startswith("bridge/")
    }
    assert percent["bridge/proposer.py"] > 60
    assert percent["bridge/a2a/params.py"] == 0  # no world has a request's text
    assert lines[-1].endswith("files that the worlds use")
