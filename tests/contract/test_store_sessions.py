"""Sessions: facts about who is alive, from a file that never waits behind appends."""

from __future__ import annotations

import asyncio
import sqlite3
import time

import pytest

from bridge.journal import Fence
from bridge.lease import Evidence
from bridge.quorum import Claim, Granted, Refusal, Refused
from sidecar.store import Renewal, Store
from sidecar.store.sessionfile import SessionFile
from tests.contract.journals import beginning


async def test_a_session_is_registered_with_what_others_need_to_know(store: Store) -> None:
    session = await store.sessions.register("a", group="census", role="sidecar", url="http://a")
    assert len(bytes.fromhex(session.session)) == 16
    (row,) = await store.sessions.list()
    assert (row.name, row.boot, row.group, row.role, row.url) == ("a", 1, "census", "sidecar", "http://a")
    assert row.address == store.wake.address
    assert row.evidence is None
    assert row.age_ms < 1000
    assert not row.ready


async def test_a_renewal_says_what_changed(store: Store) -> None:
    session = await store.sessions.register("a", group="")
    assert await store.sessions.renew(session, ready=True, draining=True, capacity=7) is Renewal.RENEWED
    row = await store.sessions.row(session.session)
    assert row is not None
    assert (row.ready, row.draining, row.capacity) == (True, True, 7)


async def test_a_newer_boot_of_the_name_fences_the_older_session(store: Store) -> None:
    older = await store.sessions.register("a")
    newer = await store.sessions.register("a")
    other = await store.sessions.register("b")
    assert (older.boot, newer.boot, other.boot) == (1, 2, 1)
    assert await store.sessions.renew(older) is Renewal.FENCED
    assert await store.sessions.renew(newer) is Renewal.RENEWED
    row = await store.sessions.row(older.session)
    assert row is not None
    assert row.evidence is Evidence.NEWER_BOOT


async def test_a_released_session_is_evidence_and_cannot_be_renewed(store: Store) -> None:
    session = await store.sessions.register("a")
    await store.sessions.release(session)
    assert await store.sessions.renew(session) is Renewal.FENCED
    row = await store.sessions.row(session.session)
    assert row is not None
    assert row.evidence is Evidence.RELEASED
    assert row.lock_free


async def test_a_session_of_another_boot_of_the_host_is_dead(store: Store) -> None:
    session = await store.sessions.register("a")
    with sqlite3.connect(store.path.with_name("journal.db-sessions")) as connection:
        connection.execute("UPDATE sessions SET host_boot = 'before'")
    connection.close()
    assert await store.sessions.renew(session) is Renewal.FENCED
    row = await store.sessions.row(session.session)
    assert row is not None
    assert not row.this_boot
    assert row.evidence is Evidence.LOCK_FREED


async def test_the_lock_of_a_process_that_let_go_is_free_without_a_release(store: Store) -> None:
    other = SessionFile(store.path)
    session = other.register("b")
    row = await store.sessions.row(session.session)
    assert row is not None
    assert row.evidence is None
    other.close()
    row = await store.sessions.row(session.session)
    assert row is not None
    assert row.evidence is Evidence.LOCK_FREED


async def test_a_living_owner_keeps_its_handoffs_and_a_dead_one_does_not(store: Store) -> None:
    other = SessionFile(store.path)
    holder = other.register("b")
    await store.voter.append(beginning("t", Fence(1, holder.session)))
    mine = await store.sessions.register("a")
    claim = Claim("t", Fence(2, mine.session), mine.session)
    refused = await store.voter.claim(claim)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.HELD
    other.close()
    assert isinstance(await store.voter.claim(claim), Granted)


async def test_an_owner_that_hangs_keeps_its_handoffs_for_one_lease(url: str) -> None:
    store = await Store.open(url, ttl_ms=200, margin_ms=50)
    holder = await store.sessions.register("b")
    await store.voter.append(beginning("t", Fence(1, holder.session)))
    mine = await store.sessions.register("a")
    claim, began = Claim("t", Fence(2, mine.session), mine.session), time.monotonic()
    while isinstance(await store.voter.claim(claim), Refused):
        assert time.monotonic() - began < 5
        await asyncio.sleep(0.01)
    assert time.monotonic() - began > 0.15
    await store.close()


@pytest.mark.parametrize("which", ["renew", "list"])
async def test_sessions_do_not_wait_behind_a_writer_that_hangs(store: Store, which: str) -> None:
    session = await store.sessions.register("a")
    stuck = sqlite3.connect(store.path, isolation_level=None)
    stuck.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    if which == "renew":
        assert await store.sessions.renew(session) is Renewal.RENEWED
    else:
        assert len(await store.sessions.list()) == 1
    assert await store.open_handoffs() == []
    assert time.monotonic() - began < 1
    stuck.execute("ROLLBACK")
    stuck.close()


async def test_a_death_is_heard_of_when_the_kernel_frees_the_lock(store: Store) -> None:
    """No clock is asked: whoever listens can look at the facts at once."""
    died: list[float] = []
    await store.sessions.register("a")
    other = await Store.open(store.path)
    session = await other.sessions.register("b")
    store.sessions.on_death(lambda: died.append(time.monotonic()))
    await store.sessions.list()
    await asyncio.sleep(0.05)
    assert died == []
    began = time.monotonic()
    await other.sessions.release(session)
    while not died:
        assert time.monotonic() - began < 5
        await asyncio.sleep(0.001)
    rows = [row for row in await store.sessions.list() if row.session == session.session]
    assert rows[0].evidence is not None
    await other.close()
