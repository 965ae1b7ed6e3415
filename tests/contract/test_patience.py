"""A writer's thread that stands still: told in time, refused meanwhile, and no harm where it moves again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from bridge.journal import Fence
from bridge.quorum import Appended
from sidecar.errors import StoreUnavailable
from sidecar.store import Store, patience
from sidecar.store import writer as writer_module
from tests.contract.journals import beginning, events, following

A = Fence(1, "aa")


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The writer's thread passes no commit while this is not set."""
    event = threading.Event()
    event.set()
    monkeypatch.setattr(writer_module, "reach", lambda _: event.wait(20))
    monkeypatch.setattr(patience, "STUCK_S", 0.2)
    monkeypatch.setattr(patience, "LOOK_S", 0.05)
    yield event
    event.set()


async def test_case_39_who_waits_is_told_and_what_was_given_is_written_once(
    store: Store, moving: threading.Event
) -> None:
    first = beginning("t", A)
    await store.voter.append(first)
    moving.clear()
    more = following(first, A, events(2))
    with pytest.raises(StoreUnavailable, match="has not come back"):
        await store.voter.append(more)
    with pytest.raises(StoreUnavailable):
        await store.voter.append_soon(more)  # at once: nothing of it is given to the thread
    moving.set()
    while store.writer.commits < 2:
        await asyncio.sleep(0.01)
    assert isinstance(await store.voter.append(more), Appended)  # the same entries again
    assert await store.entries("t") == [*first.entries, *more.entries]


async def test_time_in_which_this_process_did_not_run_is_not_held_against_the_writer(
    store: Store, moving: threading.Event
) -> None:
    first = beginning("t", A)
    await store.voter.append(first)
    moving.clear()
    threading.Timer(0.4, moving.set).start()
    answer = asyncio.ensure_future(store.voter.append(following(first, A, events(2))))
    await asyncio.sleep(0)
    time.sleep(0.8)
    assert isinstance(await answer, Appended)


async def test_a_thread_that_hangs_is_left_behind(url: str, moving: threading.Event) -> None:
    store = await Store.open(url)
    moving.clear()
    lost = asyncio.ensure_future(store.voter.append(beginning("t", A)))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await store.close()
    with pytest.raises(StoreUnavailable):
        await lost
