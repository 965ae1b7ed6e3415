"""Fixtures of the tests that kill."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.chaos.nursery import Nursery
from tests.integration.processes import Process
from tests.integration.stage import Stage, staged


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def quick(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a stage start within a tenth of a second."""
    monkeypatch.setattr(Process, "popen", staticmethod(nursery.popen))


@pytest.fixture
async def stage(quick: None, tmp_path: Path) -> AsyncIterator[Stage]:
    """As in ``tests/integration``, with quick processes."""
    async with staged(tmp_path) as stage:
        yield stage
