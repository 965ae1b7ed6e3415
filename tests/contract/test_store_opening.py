"""Which files are opened, which are refused, and that any number of processes may be the first."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from sidecar.config import kept_name
from sidecar.errors import (
    ConfigError,
    NetworkFilesystem,
    SchemaNewer,
    StoreCorrupt,
    StoreReadOnly,
    StoreUnavailable,
)
from sidecar.store import Store, open_readonly
from sidecar.store.connect import BUSY_TIMEOUT_MS, path_of, writing_engine
from sidecar.store.engine import check_filesystem, prepare
from sidecar.store.schema import metadata
from tests.contract.journals import beginning, fence

OPENER = (
    "import sys; from pathlib import Path; from sidecar.store.engine import prepare; prepare(Path(sys.argv[1]))"
)


def test_twelve_processes_open_a_fresh_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fresh" / "journal.db"
    openers = [
        subprocess.Popen([sys.executable, "-c", OPENER, str(path)], stderr=subprocess.PIPE) for _ in range(12)
    ]
    failures = [stderr.decode() for opener in openers if (stderr := opener.communicate(timeout=60)[1])]
    assert failures == []
    assert [opener.returncode for opener in openers] == [0] * 12


def test_the_migrations_lead_to_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    prepare(path)
    engine = writing_engine(path)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


async def test_a_store_keeps_what_it_holds_when_opened_again(url: str) -> None:
    store = await Store.open(url)
    await store.voter.append(beginning("t", fence(1, "aa")))
    await store.close()
    store = await Store.open(url)
    assert len(await store.entries("t")) == 2
    await store.close()


def test_who_starts_while_a_stopped_process_holds_the_store_waits_for_it(tmp_path: Path) -> None:
    """Longer than SQLite waits by itself: a sidecar that is started again is not to end over it."""
    prepare(path := tmp_path / "journal.db")
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    lets_go = threading.Timer(BUSY_TIMEOUT_MS / 1000 + 0.3, holder.execute, ["ROLLBACK"])
    lets_go.start()
    prepare(path)
    lets_go.join()
    holder.close()


async def test_nobody_else_reads_what_stands_beside_a_store(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    kept_name(path, 8470)
    store = await Store.open(path)
    session = await store.sessions.register("a")
    await store.voter.append(beginning("t", fence(1, "aa")))
    modes = {each.name: oct(each.stat().st_mode & 0o077) for each in path.parent.rglob("*") if each.is_file()}
    await store.sessions.release(session)
    await store.close()
    assert {"journal.db", "journal.db-sessions", "journal.db-sessions-wal", "journal.db-8470.name"} <= set(modes)
    assert set(modes.values()) == {"0o0"}, modes


def test_a_store_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "exists", forbidden)
    with pytest.raises(StoreReadOnly) as found:
        open_readonly(tmp_path / "journal.db")
    assert "the right to read" in found.value.hint
    assert "by itself" not in found.value.hint


async def test_a_newer_schema_is_refused(url: str) -> None:
    await (await Store.open(url)).close()
    with sqlite3.connect(path_of(url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
    connection.close()
    with pytest.raises(SchemaNewer):
        await Store.open(url)
    with pytest.raises(SchemaNewer):
        open_readonly(url)


async def test_what_is_not_a_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(StoreCorrupt):
        await Store.open(path)
    assert path.read_text() == "dear diary"
    with pytest.raises(StoreCorrupt):
        await Store.open(tmp_path)


async def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(StoreCorrupt):
        await Store.open(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()


async def test_a_damaged_database_is_refused(url: str) -> None:
    await (await Store.open(url)).close()
    path = path_of(url)
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    with pytest.raises(StoreCorrupt):
        await Store.open(url)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        f"40 22 0:50 / {tmp_path.resolve()} rw,relatime shared:2 - {kind} server:/export rw\n"
    )
    with pytest.raises(NetworkFilesystem):
        check_filesystem(tmp_path / "journal.db", mounts)
    check_filesystem(Path("/var/journal.db"), mounts)


@pytest.mark.parametrize("url", ["postgresql://db/x", "sqlite:///", ":memory:"])
def test_only_a_file_is_a_store(url: str) -> None:
    with pytest.raises(ConfigError):
        path_of(url)


async def test_a_read_only_view_creates_nothing_and_reads_everything(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        open_readonly(url)
    assert list(tmp_path.iterdir()) == []
    store = await Store.open(url)
    first = beginning("t", fence(1, "aa"))
    await store.voter.append(first)
    await store.close()
    reads = open_readonly(url)
    assert await reads.task_ids() == ["t"]
    assert await reads.entries("t") == first.entries
    await reads.close()
