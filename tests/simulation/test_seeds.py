"""Seeds that once broke a promise, each named after what was wrong. A seed is a world only as long as the order in
which a world asks for chance stays as it is; so each fault also has, where it was one of ``bridge``, a unit test,
and where worlds find it soon, a mutation that takes its fix back (``mutations.of_faults_found``).
"""

from __future__ import annotations

import pytest

from tests.simulation.simulate import run_seed

ONCE_FAILED = {
    "a claim that stood at two voters, and that its own session had given up, kept everybody off": 22686,
}


@pytest.mark.parametrize("name", ONCE_FAILED)
def test_seeds_that_once_failed(name: str) -> None:
    run_seed(ONCE_FAILED[name])
