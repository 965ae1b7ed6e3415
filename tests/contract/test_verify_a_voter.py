"""The reading commands on the store of a voter among several: what is not committed is not there, nor missed."""

from __future__ import annotations

import asyncio
import io
import sqlite3
from pathlib import Path

from sidecar.ops import inspect
from sidecar.ops.inspect import Screen
from sidecar.ops.shelf import open_shelf
from sidecar.records import Riders
from sidecar.store import Store
from tests.contract.peering import Said, part
from tests.unit.ops.journals import FIRST, SECOND, killed_and_finished, row

TASK, LOG = killed_and_finished(voters=["v1", "v2", "v3"])


async def stored(path: Path, committed: int, riders: Riders) -> None:
    store = await Store.open(path, alone=False)
    voter = store.local_voter(Said(), listed=False)
    await voter.append_soon(part(TASK, LOG, 0, FIRST, 0, 11))
    await voter.append_soon(part(TASK, LOG, 11, SECOND, committed), riders)
    await store.close()


def checked(path: Path) -> tuple[int, str]:
    said = io.StringIO()
    with open_shelf(path) as shelf:
        return inspect.verify_store(shelf, Screen(said, io.BytesIO())), said.getvalue()


async def found(path: Path) -> tuple[int, str]:
    return await asyncio.to_thread(checked, path)


async def test_what_is_not_committed_is_neither_there_nor_missed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await stored(path, 13, Riders(row(TASK, LOG), len(LOG)))
    code, said = await found(path)
    assert code == inspect.OK
    assert "running, 13 entries, fence 2" in said
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM entries WHERE seq = 13")
    connection.close()
    code, said = await found(path)
    assert code == inspect.WRONG
    assert "the store remembers entry 13" in said


async def test_nothing_committed_is_no_journal_yet(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await stored(path, 0, Riders())
    assert await found(path) == (inspect.OK, "no tasks\n")


async def test_a_row_is_compared_with_what_it_was_made_of(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await stored(path, len(LOG), Riders(row(TASK, LOG[:12]), 12))
    code, said = await found(path)
    assert (code, "completed, 15 entries" in said) == (inspect.OK, True)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE tasks SET state = 'running'")
    connection.close()
    code, said = await found(path)
    assert code == inspect.WRONG
    assert "the row says state 'running', the journal 'claimed'" in said
