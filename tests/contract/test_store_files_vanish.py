"""Files of a store that somebody removes, replaces or silences under running processes."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.journal import Fence
from bridge.lease import Evidence
from bridge.quorum import Appended, Claim, Refused
from sidecar.errors import StoreError
from sidecar.store import Renewal, Session, Store
from sidecar.store.sessionfile import KEPT_MS, SessionFile
from tests.contract.journals import beginning, view_of

A = Fence(1, "aa")


def lock_of(store: Store, session: Session) -> Path:
    return store.path.with_name("journal.db-locks") / f"{session.session}.lock"


def in_sessions(store: Store, statement: str) -> None:
    connection = sqlite3.connect(store.path.with_name("journal.db-sessions"), isolation_level=None)
    connection.execute(statement)
    connection.close()


async def evidence(store: Store, session: Session) -> Evidence | None:
    row = await store.sessions.row(session.session)
    assert row is not None
    return row.evidence


@pytest.fixture
async def other(store: Store) -> AsyncIterator[SessionFile]:
    files = SessionFile(store.path)
    yield files
    files.close()


async def test_a_removed_lock_file_is_no_evidence_against_who_renews(store: Store, other: SessionFile) -> None:
    session = other.register("b")
    lock_of(store, session).unlink()
    assert await evidence(store, session) is None
    assert other.renew(session.session) is Renewal.RENEWED
    assert lock_of(store, session).exists()
    assert await evidence(store, session) is None
    other.close()
    assert await evidence(store, session) is Evidence.LOCK_FREED


async def test_a_removed_lock_file_of_who_is_silent_is_evidence(store: Store, other: SessionFile) -> None:
    session = other.register("b")
    lock_of(store, session).unlink()
    in_sessions(store, f"UPDATE sessions SET renewed_ms = renewed_ms - {KEPT_MS}")
    assert await evidence(store, session) is Evidence.LOCK_FREED


async def test_a_missing_lock_file_is_heard_of_as_no_death(store: Store, other: SessionFile) -> None:
    died: list[str] = []
    store.sessions.on_death(lambda: died.append("died"))
    session = other.register("b")
    lock_of(store, session).unlink()
    for _ in range(3):
        await store.sessions.list()
        await asyncio.sleep(0.02)
    assert died == []


async def test_the_directory_of_locks_is_made_again(store: Store, other: SessionFile) -> None:
    session = other.register("b")
    lock_of(store, session).unlink()
    lock_of(store, session).parent.rmdir()
    assert other.renew(session.session) is Renewal.RENEWED
    assert lock_of(store, session).exists()


async def test_only_the_dead_are_forgotten_after_an_hour(store: Store, other: SessionFile) -> None:
    silent = other.register("silent")
    gone = SessionFile(store.path)
    dead = gone.register("dead")
    gone.close()
    in_sessions(store, f"UPDATE sessions SET renewed_ms = renewed_ms - {KEPT_MS + 1000}")
    await store.sessions.register("new")
    assert {row.name for row in await store.sessions.list()} == {"silent", "new"}
    assert lock_of(store, silent).exists()
    assert not lock_of(store, dead).exists()
    assert other.renew(silent.session) is Renewal.RENEWED


@pytest.mark.parametrize("how", ["the row", "the file"])
async def test_who_was_forgotten_enters_again_unless_a_newer_one_is_there(
    store: Store, other: SessionFile, how: str
) -> None:
    session = other.register("b", group="census", url="http://b")
    if how == "the row":
        in_sessions(store, "DELETE FROM sessions")
    else:
        for suffix in ("", "-wal", "-shm"):
            store.path.with_name(f"journal.db-sessions{suffix}").unlink()
    assert other.renew(session.session, ready=True) is Renewal.RENEWED
    (row,) = await store.sessions.list()
    assert (row.session, row.boot, row.group, row.url, row.ready) == (
        session.session,
        1,
        "census",
        "http://b",
        True,
    )
    newer = await store.sessions.register("b")
    in_sessions(store, f"DELETE FROM sessions WHERE session = '{session.session}'")
    assert other.renew(session.session) is Renewal.FENCED
    assert await store.sessions.renew(newer) is Renewal.RENEWED


@contextmanager
def no_descriptors() -> Iterator[None]:
    """No file can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_without_descriptors_nobody_is_taken_for_dead(store: Store, other: SessionFile) -> None:
    mine, session = await store.sessions.register("a"), other.register("b")
    await store.voter.append(beginning("t", Fence(1, session.session)))
    await store.sessions.list()
    with no_descriptors():
        assert await evidence(store, session) is None
        refused = await store.voter.claim(Claim("t", Fence(2, mine.session), mine.session))
        renewed = await store.sessions.renew(mine)
        with pytest.raises(StoreError):
            await store.sessions.register("c")
    assert isinstance(refused, Refused)
    assert renewed is Renewal.RENEWED


async def test_readers_see_a_file_that_replaced_the_one_they_had_open(store: Store, tmp_path: Path) -> None:
    await store.voter.append(beginning("old", A), view_of("old"))
    copy = tmp_path / "copy.db"
    connection = sqlite3.connect(store.path)
    connection.execute("VACUUM INTO ?", (str(copy),))
    connection.close()
    await store.voter.append(beginning("later", A), view_of("later"))
    assert await store.view("later") is not None
    for suffix in ("-wal", "-shm"):
        store.path.with_name(f"journal.db{suffix}").unlink()
    copy.replace(store.path)
    assert await store.view("later") is None
    assert isinstance(await store.voter.append(beginning("new", A), view_of("new")), Appended)
    assert await store.view("new") is not None
    assert await store.view("old") is not None


async def test_nothing_is_acknowledged_once_the_log_was_removed_and_nothing_acknowledged_is_lost(
    store: Store, tmp_path: Path
) -> None:
    await store.voter.append(beginning("one", A), view_of("one"))
    for suffix in ("-wal", "-shm"):
        store.path.with_name(f"journal.db{suffix}").unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match="was removed"):
            await store.voter.append(beginning("two", A), view_of("two"))
        with pytest.raises(StoreError, match="was removed"):
            await store.attempt()
    # What a process that starts now would find, were this one killed: the database alone.
    left = tmp_path / "left.db"
    left.write_bytes(store.path.read_bytes())
    connection = sqlite3.connect(left)
    assert connection.execute("SELECT task FROM tasks").fetchall() == [("one",)]
    connection.close()
