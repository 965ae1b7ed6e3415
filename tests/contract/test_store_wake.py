"""Other processes hear of commits: by datagram at once, by the poll in any case."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable

import pytest

from bridge.journal import Fence
from sidecar.store import Store
from tests.contract.journals import after, at, beginning, events

A = Fence(1, "aa")


@pytest.fixture
async def other(url: str, store: Store) -> AsyncIterator[Store]:
    other = await Store.open(url)
    yield other
    await other.close()


async def until(condition: Callable[[], object], within_s: float = 5.0) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within_s
        await asyncio.sleep(0.001)
    return time.monotonic() - began


async def test_a_commit_is_told_to_other_sessions_by_its_tasks(store: Store, other: Store) -> None:
    heard: list[frozenset[str] | None] = []
    other.on_change(lambda tasks, _: heard.append(tasks))
    await other.sessions.register("b")
    await store.sessions.register("a")
    await store.voter.append(beginning("t", A))
    await until(lambda: frozenset({"t"}) in heard)


async def test_a_session_that_registers_later_is_told_at_once(store: Store, other: Store) -> None:
    heard: list[frozenset[str] | None] = []
    await store.sessions.register("a")
    await other.sessions.register("b")
    other.on_change(lambda tasks, _: heard.append(tasks))
    await asyncio.sleep(0)
    await store.voter.append(beginning("t", A))
    await until(lambda: frozenset({"t"}) in heard)


async def test_what_somebody_has_to_act_on_is_marked(store: Store, other: Store) -> None:
    heard: list[tuple[frozenset[str] | None, bool]] = []
    await store.sessions.register("a")
    await other.sessions.register("b")
    other.on_change(lambda tasks, urgent: heard.append((tasks, urgent)))
    await store.voter.append(beginning("t", A))
    await until(lambda: (frozenset({"t"}), False) in heard)
    await store.inbox_put("t", "cancel", b"{}")
    await until(lambda: (frozenset({"t"}), True) in heard)


async def test_without_datagrams_the_poll_notices_while_somebody_watches(store: Store, other: Store) -> None:
    heard: list[frozenset[str] | None] = []
    with other.watch():
        await until(lambda: other.writer.commits == 0 and heard == [])
        await asyncio.sleep(0.05)
        other.on_change(lambda tasks, _: heard.append(tasks))
        await store.voter.append(beginning("t", A))
        assert await until(lambda: heard) < 1
    assert set(heard) == {None}


async def test_ones_own_commits_are_no_news(store: Store) -> None:
    heard: list[frozenset[str] | None] = []
    first = beginning("t", A)
    await store.voter.append(first)
    with store.watch():
        await asyncio.sleep(0.06)
        store.on_change(lambda tasks, _: heard.append(tasks))
        tip = after(first)
        for _ in range(20):
            append = at("t", tip, A, events(1))
            await store.voter.append(append)
            tip = after(append)
            await asyncio.sleep(0.005)
    assert heard == []


async def test_a_foreign_commit_is_seen_before_the_next_decision(store: Store, other: Store) -> None:
    first = beginning("t", A)
    await store.voter.append(first)
    one = at("t", after(first), A, events(1))
    await other.voter.append(one)
    two = at("t", after(one), A, events(1))
    await store.voter.append(two)
    assert [entry.seq for entry in await other.entries("t")] == [1, 2, 3, 4]


async def test_nobody_watching_means_no_polling(store: Store) -> None:
    with store.watch():
        pass
    await asyncio.sleep(0.05)
    looks: list[int] = []
    store.wake.look = lambda: looks.append(1)
    await asyncio.sleep(0.06)
    assert looks == []


async def test_a_change_made_by_a_tool_without_a_session_is_noticed(store: Store) -> None:
    heard: list[frozenset[str] | None] = []
    with store.watch():
        await asyncio.sleep(0.05)
        store.on_change(lambda tasks, _: heard.append(tasks))
        tool = sqlite3.connect(store.path)
        with tool:
            tool.execute("INSERT INTO inbox (task, kind, body) VALUES ('t', 'cancel', x'7b7d')")
        tool.close()
        await until(lambda: heard)
