"""Seeds that once broke a promise, each named after what was wrong. A seed is a world only as long as the order in
which a world asks for chance stays as it is; so each fault also has, where it was one of ``bridge``, a unit test.
"""

from __future__ import annotations

import pytest

from tests.simulation.simulate import run_seed

ONCE_FAILED = {
    "a pause that was prolonged turned the order of a connection round": 1281,
    "an owner that had written orphaned called itself fresh": 170,
    "a minority voter was never brought up once all was committed": 316,
    "a front spoke of what its voter had not yet synced": 708,
    "one voter: another front had shown what its owner had not heard of": 186,
    "an end that was lost with its owner had to be learnt by a new claim": 364,
}


@pytest.mark.parametrize("name", ONCE_FAILED)
def test_seeds_that_once_failed(name: str) -> None:
    run_seed(ONCE_FAILED[name])
