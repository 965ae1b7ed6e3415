"""A store of an earlier schema is brought up to date with what it holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command

from bridge.handoff import FINAL
from bridge.journal import Draft, Fence, Kind
from sidecar.errors import StoreError
from sidecar.store import Store, engine, open_readonly
from sidecar.store.connect import writing_engine
from sidecar.store.schema import APPLICATION_ID
from tests.contract.journals import beginning, events, following, view_of

A = Fence(1, "aa")
BOUND, ASKED = Draft(Kind.BOUND, b"{}"), Draft(Kind.SUSPENDED, b"{}")
BEGUN = {
    "a-dispatched": ([], "claimed"),
    "b-running": ([BOUND, *events(3)], "running"),
    "c-asked": ([BOUND, ASKED, *events(1)], "suspended"),
    "d-answered": ([BOUND, ASKED, Draft(Kind.INPUT, b"{}")], "claimed"),
    "e-review": ([Draft(Kind.REVIEW, b"{}")], "review"),
    "f-canceled": ([BOUND, ASKED, Draft(Kind.CANCEL, b"{}")], "claimed"),
    "g-orphaned": ([BOUND, Draft(Kind.ORPHANED, b"{}")], "orphaned"),
    "h-completed": ([BOUND, Draft(Kind.COMPLETED, b"{}"), Draft(Kind.CLAIMED, b"{}")], "completed"),
    "i-expired": ([Draft(Kind.EXPIRED, b"{}")], "expired"),
}


def of_schema(path: Path, revision: str) -> None:
    """An empty store as an earlier release made it."""
    made = writing_engine(path)
    with made.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
        config = engine._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    made.dispose()


async def write_as_before(path: Path, before: Path) -> None:
    """The same journals in both: by today's voter, and in the rows that the first schema had."""
    store = await Store.open(path)
    for task, (drafts, _) in BEGUN.items():
        begin = beginning(task, A)
        await store.voter.append(begin, view_of(task))
        await store.voter.append(following(begin, A, drafts))
    await store.close()
    of_schema(before, "journal")
    connection = sqlite3.connect(before)
    connection.execute("ATTACH ? AS today", (str(path),))
    for table in ("handoffs", "entries", "tasks"):
        stored = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        columns = ", ".join(stored)
        connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM today.{table}")
    connection.commit()
    connection.close()


async def test_the_first_schema_is_migrated_with_what_a_sweep_looks_for(tmp_path: Path) -> None:
    today, before = tmp_path / "today.db", tmp_path / "before.db"
    await write_as_before(today, before)
    with pytest.raises(StoreError, match="older schema"):
        open_readonly(before)
    migrated, fresh = await Store.open(before), await Store.open(today)
    for task, (_, state) in BEGUN.items():
        row = await migrated.handoff_row(task)
        assert row == await fresh.handoff_row(task)
        assert row is not None
        assert (row.task, row.state) == (task, state)
        assert await migrated.entries(task) == await fresh.entries(task)
        assert await migrated.view(task) == view_of(task)
    at_work = [row.task for row in await migrated.handoffs_at_work()]
    assert at_work == ["a-dispatched", "b-running", "d-answered", "f-canceled", "g-orphaned"]
    assert [row.task for row in await migrated.open_handoffs()] == [
        task for task, (_, state) in BEGUN.items() if state not in FINAL
    ]
    with sqlite3.connect(before) as connection, sqlite3.connect(today) as other:
        rows = "SELECT * FROM handoffs ORDER BY task"
        assert connection.execute(rows).fetchall() == other.execute(rows).fetchall()
    connection.close()
    other.close()
    await migrated.close()
    await fresh.close()


async def test_a_migrated_store_goes_on(tmp_path: Path) -> None:
    before = tmp_path / "before.db"
    await write_as_before(tmp_path / "today.db", before)
    store = await Store.open(before)
    begin = beginning("c-asked", A)
    log = [*begin.entries, *following(begin, A, BEGUN["c-asked"][0]).entries]
    answer = following(following(begin, A, BEGUN["c-asked"][0]), A, events(1, Kind.INPUT, b"{}"))
    await store.voter.append(answer)
    assert await store.entries("c-asked") == [*log, *answer.entries]
    row = await store.handoff_row("c-asked")
    assert row is not None
    assert row.state == "claimed"
    await store.close()
