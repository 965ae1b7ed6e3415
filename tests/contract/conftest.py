"""One store per test, and every implementation of a voter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sidecar.ports import Voter
from sidecar.store import Store
from tests.contract.memory_voter import MemoryVoter


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'journal.db'}"


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    store = await Store.open(url)
    yield store
    await store.close()


@pytest.fixture
def alive() -> set[str]:
    """Sessions that stand in a claim's way."""
    return set()


@pytest.fixture(params=["memory", "sqlite"])
async def voter(request: pytest.FixtureRequest, url: str, alive: set[str]) -> AsyncIterator[Voter]:
    blocks: Callable[[str], bool] = alive.__contains__
    if request.param == "memory":
        yield MemoryVoter(blocks)
        return
    store = await Store.open(url, holder_blocks=blocks)
    yield store.voter
    await store.close()
