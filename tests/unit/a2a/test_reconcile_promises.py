"""The promises of 5-reconcile.md on random lives of tasks; ``reconcile_cases`` runs any number of them."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.a2a.model_client import Limit
from tests.unit.a2a.model_promises import HAPPENED
from tests.unit.a2a.reconcile_cases import Case

#: Seeds that once failed, each for another reason: kept for ever.
ONCE_FAILED = [
    6,  # a snapshot of an agent that resumed inside an artifact holds only the rest of it
    33,  # a snapshot's question that the agent has an answer to already
    172,  # a replacement nobody saw that is a prefix of what it replaced: a documented limit
    208,  # a restarted sidecar took its own run's status for the earlier run's
    442,  # replace counts are lost with the sidecar in the middle of a repeat
    1616,  # auth-required told twice by two snapshots
    1797,
    2936,  # a swallowed status below the cursor, shown again after a restart
    3045,  # a replacement by the same content, then more of it
    4011261,  # versions that only go on from each other, two in a row
    4658,  # a replayed answer used twice after a restart
    5042,
    18223,
    18917,  # the question before the cut taken for the one that the run asks now
    19242,
    21131,
    29122,
    3035031,  # a last chunk that was swallowed before a restart: not known from a snapshot
    2016667,  # another run's snapshot moves past a status that this run did not tell: allowed
    2056719,  # a question that was replayed away from the cursor, told as progress after a restart
    2059674,  # the same, and its answer used twice
]


def lives(rng: random.Random) -> None:
    with suppress(Limit):
        Case(rng).run()


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_seeds_that_once_failed(seed: int) -> None:
    lives(random.Random(seed))


def test_random_lives_keep_the_promises_and_every_kind_of_trouble_happens() -> None:
    before = Counter(HAPPENED)
    for seed in range(1_000_000, 1_000_700):
        try:
            lives(random.Random(seed))
        except Exception as fault:
            raise AssertionError(f"python -m tests.unit.a2a.reconcile_cases 1 {seed}") from fault
    happened = HAPPENED - before
    for trouble in ("kills", "killed holding", "swallowed", "Rewind", "Replay", "Step", "owed", "reattached"):
        assert happened[trouble], f"no case had {trouble}"


@settings(max_examples=50, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.randoms(use_true_random=False))
def test_lives_that_shrink(rng: random.Random) -> None:
    lives(rng)
