"""Appends that may wait share commits; what somebody waits for does not wait, and nothing changes its order."""

from __future__ import annotations

import asyncio

import pytest

from bridge.quorum import Append, Appended
from sidecar.store import Store, gather
from tests.contract.journals import BODY, beginning, events, fence, following

MANY = 20


@pytest.fixture(autouse=True)
def long_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough that no machine takes it for a moment."""
    monkeypatch.setattr(gather, "PACE_S", 60.0)


async def begun(store: Store) -> Append:
    append = beginning("t", fence(1, "s"))
    assert isinstance(await store.voter.append(append), Appended)
    return append


async def test_what_nobody_waits_for_goes_along_with_the_next_that_somebody_does(store: Store) -> None:
    append, commits = await begun(store), store.writer.commits
    answers = []
    for _ in range(MANY):
        append = following(append, fence(1, "s"), events(1))
        answers.append(store.voter.append_soon(append, may_wait=True))
        await asyncio.sleep(0)
    assert store.writer.commits == commits
    last = following(append, fence(1, "s"), events(1))
    assert isinstance(await store.voter.append(last), Appended)
    assert all(isinstance(each.result(), Appended) for each in answers)
    assert store.writer.commits == commits + 1
    assert [entry.seq for entry in await store.entries("t")] == list(range(1, MANY + 4))


async def test_a_lone_one_is_not_delayed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    append = await begun(store)
    monkeypatch.setattr(gather, "PACE_S", 0.0)  # the last commit was longer ago than that
    await asyncio.wait_for(store.voter.append_soon(following(append, fence(1, "s"), events(1)), may_wait=True), 30)


async def test_it_goes_when_its_time_has_come(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    append = await begun(store)
    monkeypatch.setattr(gather, "PACE_S", 0.05)
    await asyncio.wait_for(store.voter.append_soon(following(append, fence(1, "s"), events(1)), may_wait=True), 30)


async def test_many_bytes_do_not_wait(store: Store) -> None:
    append = await begun(store)
    much = events(gather.WAITING_BYTES_MAX // len(BODY))
    await asyncio.wait_for(store.voter.append_soon(following(append, fence(1, "s"), much), may_wait=True), 30)


async def test_closing_commits_what_waits(url: str) -> None:
    store = await Store.open(url)
    append = await begun(store)
    waiting = store.voter.append_soon(following(append, fence(1, "s"), events(1)), may_wait=True)
    await store.close()
    await asyncio.sleep(0)
    assert isinstance(waiting.result(), Appended)
    store = await Store.open(url)
    assert len(await store.entries("t")) == 3
    await store.close()
