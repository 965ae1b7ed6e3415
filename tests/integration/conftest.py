"""Fixtures of the tests with real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.front_clients import BINDINGS, ClientOf, clients_over
from tests.integration.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Processes that share a store, and die with the test (see ``tests.integration.stage``)."""
    async with staged(tmp_path) as stage:
        yield stage


@pytest.fixture(params=BINDINGS)
def client_of(request: pytest.FixtureRequest) -> ClientOf:
    """Makes stock clients of a front, for each binding."""
    return clients_over(request.param)
