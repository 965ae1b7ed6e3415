"""One store per test, and every implementation of a voter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.ports import Voter
from sidecar.store import LocalVoter, Store
from tests.contract.memory_voter import MemoryVoter
from tests.contract.peering import Said


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
    def blocks(holder: str, _: str) -> bool:
        return holder in alive

    if request.param == "memory":
        yield MemoryVoter(blocks)
        return
    store = await Store.open(url, holder_blocks=blocks)
    yield store.voter
    await store.close()


@pytest.fixture
def said() -> Said:
    """What a host among several has heard of sessions."""
    return Said()


@pytest.fixture
async def peer_store(url: str) -> AsyncIterator[Store]:
    """The store of a host among several."""
    store = await Store.open(url, alone=False)
    yield store
    await store.close()


@pytest.fixture
def local_voter(peer_store: Store, said: Said) -> LocalVoter:
    """Its voter, where nothing is placed by a list."""
    return peer_store.local_voter(said, listed=False)
