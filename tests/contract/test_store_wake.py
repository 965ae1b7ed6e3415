"""Other processes hear of commits: by datagram at once, by the poll in any case."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge.journal import Fence
from sidecar.store import Store
from sidecar.store.wakeaddress import Mailbox
from tests.contract.journals import after, at, beginning, events

A = Fence(1, "aa")
ROOT = Path(__file__).resolve().parents[2]


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


async def test_processes_in_another_network_namespace_are_told_at_once(url: str, store: Store) -> None:
    """As between containers that share nothing but the store's directory."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces are not permitted here")
    heard: list[frozenset[str] | None] = []
    store.on_change(lambda tasks, _: heard.append(tasks))
    await store.sessions.register("a")
    # It tells; nobody here watches, so no poll can be what is heard.
    process = await asyncio.create_subprocess_exec(
        *("unshare", "-n", sys.executable, "-m", "tests.contract.telling_writer", url), cwd=ROOT
    )
    assert await process.wait() == 0
    await until(lambda: frozenset({"t"}) in heard)


async def test_a_store_with_a_long_path_is_told_of_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    a, b = Mailbox(deep / "wake"), Mailbox(deep / "wake")
    a.send(b.address, b"hello")
    assert b.take(100) == b"hello"
    assert b.take(100) is None
    assert {each.address.partition(":")[0] for each in (a, b)} == {"beside"}
    a.close()
    b.close()


def test_where_no_socket_can_stand_an_abstract_one_serves(tmp_path: Path) -> None:
    (tmp_path / "wake").write_text("in the way")
    a, b = Mailbox(tmp_path / "wake"), Mailbox(tmp_path / "elsewhere")
    a.send(b.address, b"lost")
    b.send(a.address, b"hello")
    assert a.take(100) == b"hello"
    assert b.take(100) is None
    a.close()
    b.close()


def test_sockets_of_killed_processes_do_not_pile_up(tmp_path: Path) -> None:
    box = tmp_path / "wake"
    living = Mailbox(box)
    program = "import os, sys; from pathlib import Path; from sidecar.store.wakeaddress import Mailbox; "
    program += "Mailbox(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program, str(box)], cwd=ROOT, check=False)
        assert len(list(box.iterdir())) == 2
    late = Mailbox(box)
    late.send(living.address, b"still here")
    assert living.take(100) == b"still here"
    living.close()
    late.close()
    assert list(box.iterdir()) == []


def test_an_address_never_leads_out_of_the_directory(tmp_path: Path) -> None:
    outside, box = Mailbox(tmp_path / "outside"), Mailbox(tmp_path / "wake")
    name = outside.address.removeprefix("beside:")
    box.send(f"beside:../outside/{name}", b"hello")
    assert outside.take(100) is None
    outside.close()
    box.close()
