"""A disk that does not do what it should: clear errors, nothing half written, and no need to restart."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from bridge.journal import Entry, Fence, Kind, verify
from bridge.quorum import Append, Appended, Claim, Refused
from sidecar.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from sidecar.records import Caller, ListQuery
from sidecar.store import Store
from sidecar.store import writer as writer_module
from sidecar.store.connect import connect
from sidecar.store.faults import translate, translated
from tests.contract.journals import after, at, beginning, events, following

A = Fence(1, "aa")


def driver_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk trouble")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreUnavailable),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreUnavailable),
        (sqlite3.SQLITE_LOCKED, StoreUnavailable),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailable),
        (sqlite3.SQLITE_IOERR, StoreUnavailable),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailable),
        (sqlite3.SQLITE_IOERR_SHMSIZE, StoreFull),
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_READONLY, StoreReadOnly),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreReadOnly),
        (sqlite3.SQLITE_CORRUPT, StoreCorrupt),
        (sqlite3.SQLITE_NOTADB, StoreCorrupt),
        (sqlite3.SQLITE_ERROR, StoreError),
        (sqlite3.SQLITE_MISUSE, StoreError),
    ],
)
def test_every_code_of_sqlite_has_its_error(code: int, kind: type[StoreError]) -> None:
    assert type(translate(driver_error(code), "x")) is kind
    wrapped = DatabaseError("SELECT 1", {}, driver_error(code))
    assert type(translate(wrapped, "x")) is kind


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.EIO, StoreUnavailable),
    ],
)
def test_system_errors_too(number: int, kind: type[StoreError]) -> None:
    assert type(translate(OSError(number, "x"), "x")) is kind


@pytest.mark.parametrize("error", [sqlite3.ProgrammingError("closed"), SQLAlchemyError("x"), OSError(5, "x")])
def test_only_errors_of_the_tree_leave_the_translating_block(error: Exception) -> None:
    with pytest.raises(StoreError), translated("trying"):
        raise error


CALLS: dict[str, Callable[[Store], Awaitable[Any]]] = {
    "claim": lambda store: store.voter.claim(Claim("t", A, "aa")),
    "append": lambda store: store.voter.append(beginning("t", A)),
    "read": lambda store: store.voter.read("t"),
    "entries": lambda store: store.entries("t"),
    "view": lambda store: store.view("t"),
    "handoff_row": lambda store: store.handoff_row("t"),
    "open_handoffs": lambda store: store.open_handoffs(),
    "list_tasks": lambda store: store.list_tasks(ListQuery(), Caller()),
    "keys": lambda store: store.keys("k"),
    "inbox_put": lambda store: store.inbox_put("t", "input", b"{}"),
    "inbox_take": lambda store: store.inbox_take("t"),
    "inbox_waiting": lambda store: store.inbox_waiting(),
    "task_ids": lambda store: store.reads.task_ids(),
    "attempt": lambda store: store.attempt(),
    "register": lambda store: store.sessions.register("a"),
    "sessions": lambda store: store.sessions.list(),
}


@pytest.mark.parametrize("call", CALLS)
async def test_no_librarys_error_escapes(store: Store, call: str) -> None:
    for path in (store.path, store.path.with_name("journal.db-sessions")):
        connection = sqlite3.connect(path, isolation_level=None)
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table != "sqlite_sequence":
                connection.execute(f"DROP TABLE {table}")
        connection.close()
    with pytest.raises(StoreError) as caught:
        await CALLS[call](store)
    assert isinstance(caught.value.__cause__ or caught.value, (sqlite3.Error, SQLAlchemyError, StoreError))


class FailingCommit(sqlite3.Connection):
    """A connection whose commits fail while ``failure`` is set."""

    failure: int | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql == "COMMIT" and FailingCommit.failure is not None:
            raise driver_error(FailingCommit.failure)
        return super().execute(sql, parameters)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> type[FailingCommit]:
    def connect_failing(path: Path, **named: Any) -> sqlite3.Connection:
        with monkeypatch.context() as patch:
            plain = sqlite3.connect
            patch.setattr(sqlite3, "connect", lambda *args, **named: plain(*args, **named, factory=FailingCommit))
            return connect(path, **named)

    monkeypatch.setattr(writer_module, "connect", connect_failing)
    FailingCommit.failure = None
    return FailingCommit


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_READONLY])
async def test_a_failing_commit_fails_its_batch_and_nothing_of_it_is_written(
    failing: type[FailingCommit], url: str, code: int
) -> None:
    store = await Store.open(url)
    first = beginning("t", A)
    await store.voter.append(first)
    failing.failure = code
    more = following(first, A, events(2))
    answers = await asyncio.gather(
        store.voter.append(more), store.voter.append(beginning("u", A)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [type(translate(driver_error(code), ""))] * 2
    assert answers[0] is not answers[1]
    assert await store.entries("t") == first.entries
    assert await store.entries("u") == []
    failing.failure = None
    assert isinstance(await store.voter.append(more), Appended)
    assert verify("t", await store.entries("t")) == after(more)
    await store.close()


async def test_an_operation_that_cannot_be_stored_fails_alone(store: Store) -> None:
    bad = beginning("bad", A)
    huge = bad.entries[0]._replace(at=1 << 70)
    odd = bad.entries[0]._replace(body_hash="not hex")
    good, other = beginning("good", A), beginning("other", A)
    answers = await asyncio.gather(
        store.voter.append(good),
        store.voter.append(Append("bad", A, 0, bad.after_hash, [huge], 0)),
        store.voter.append(Append("worse", A, 0, beginning("worse", A).after_hash, _relinked("worse", odd), 0)),
        store.voter.append(following(good, Fence(0, "x"), events(1))),
        store.voter.append(other),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [Appended, StoreError, ValueError, Refused, Appended]
    assert await store.entries("good") == good.entries
    assert await store.entries("other") == other.entries
    assert await store.entries("bad") == []


def _relinked(task: str, entry: Entry) -> list[Entry]:
    return [entry._replace(prev=beginning(task, A).after_hash)]


async def test_nothing_is_acknowledged_into_a_file_that_was_taken_away(store: Store) -> None:
    first = beginning("t", A)
    await store.voter.append(first)
    away = store.path.with_name("away.db")
    store.path.rename(away)
    more = following(first, A, events(1))
    with pytest.raises(StoreUnavailable):
        await store.voter.append(more)
    assert not store.path.exists()
    away.rename(store.path)
    assert isinstance(await store.voter.append(more), Appended)
    assert verify("t", await store.entries("t")) == after(more)


async def test_a_closed_store_says_so(url: str) -> None:
    store = await Store.open(url)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.voter.append(beginning("t", A))


async def test_what_was_queued_before_closing_is_written(url: str) -> None:
    store = await Store.open(url)
    answer = asyncio.ensure_future(store.voter.append(beginning("t", A)))
    await store.close()
    assert isinstance(await answer, Appended)


async def test_a_queue_that_is_full_refuses_and_forgets_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "QUEUED_BYTES_MAX", 10_000)
    first = beginning("t", A)
    appends, tip = [first], after(first)
    for _ in range(20):
        appends.append(at("t", tip, A, events(5)))
        tip = after(appends[-1])
    answers = await asyncio.gather(*(store.voter.append(each) for each in appends), return_exceptions=True)
    taken = [answer for answer in answers if isinstance(answer, Appended)]
    refused = [answer for answer in answers if isinstance(answer, StoreUnavailable)]
    assert len(taken) + len(refused) == 21
    assert taken
    assert refused
    assert (await store.entries("t"))[-1].seq == taken[-1].seq
    assert isinstance(await store.voter.append(appends[len(taken)]), Appended)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not permitted: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


async def test_a_full_disk_is_told_at_once_and_writing_goes_on_when_there_is_room(small_disk: Path) -> None:
    store = await Store.open(small_disk / "journal.db")
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (4 << 20))
    first = beginning("t", A)
    await store.voter.append(first)
    acknowledged, failure, took, more = after(first), None, 0.0, first
    while failure is None:
        more = at("t", acknowledged, A, events(20, Kind.EVENT, b'{"x":"' + b"y" * 5000 + b'"}'))
        began = time.monotonic()
        try:
            assert isinstance(await store.voter.append(more), Appended)
            acknowledged = after(more)
        except StoreError as error:
            failure, took = error, time.monotonic() - began
    assert isinstance(failure, StoreFull)
    assert took < 5
    assert verify("t", await store.entries("t", 0, 100_000)) == acknowledged
    with pytest.raises(StoreFull):
        await store.voter.append(more)
    filler.unlink()
    assert isinstance(await store.voter.append(more), Appended)
    assert verify("t", await store.entries("t", 0, 100_000)) == after(more)
    await store.close()


async def test_a_store_on_a_read_only_file_system_is_refused_until_it_is_writable(small_disk: Path) -> None:
    path = small_disk / "journal.db"
    await (await Store.open(path)).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    began = time.monotonic()
    with pytest.raises(StoreReadOnly):
        await Store.open(path)
    assert time.monotonic() - began < 5
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    store = await Store.open(path)
    assert isinstance(await store.voter.append(beginning("t", A)), Appended)
    await store.close()
