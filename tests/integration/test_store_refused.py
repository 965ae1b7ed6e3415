"""Stores that a sidecar must not use: it says which and why, exits with 3, and leaves the file as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.store.engine import SCHEMA_HEAD
from tests.integration.agents import free_port
from tests.integration.broken_disk import full_disk, read_only_disk
from tests.integration.processes import ROOT
from tests.integration.raw_agent import RawAgent
from tests.integration.raw_scripts import good
from tests.integration.stage import Stage, message

EXIT_STORE = 3
RUN = "import sys; from sidecar.cli import main; sys.exit(main(['run']))"
ON_NFS = """
import sys
from pathlib import Path
from sidecar.store import engine
engine.check_filesystem.__defaults__ = (Path(sys.argv[1]),)
from sidecar.cli import main
sys.exit(main(["run"]))
"""


def refused(store: Path, *arguments: str, program: str = RUN) -> str:
    """Start a sidecar on a store that it must refuse; what it says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DHP_SIDECAR_")}
    given = {
        "AGENT": f"http://127.0.0.1:{free_port()}", "STORE": f"sqlite:///{store}", "NAME": "a",
        "PORT": str(free_port()), "CONTROL_PORT": "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=env | {f"DHP_SIDECAR_{k}": v for k, v in given.items()},
        cwd=ROOT, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == EXIT_STORE, done.stderr
    assert "Traceback" not in done.stderr
    assert str(store) in done.stderr
    return done.stderr


@pytest.fixture
async def used(stage: Stage) -> Path:
    """A store that a sidecar has used and left."""
    async with RawAgent(good) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        await stage.rpc(sidecar, "SendMessage", message("hello"))
        sidecar.signal(15)
        assert await sidecar.exited() == 0
    return stage.store


async def test_a_store_of_a_newer_release(used: Path, stage: Stage) -> None:
    connection = sqlite3.connect(used)
    connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
    connection.commit()
    connection.close()
    before = used.read_bytes()
    said = refused(used)
    assert "from_the_future" in said
    assert "newer release" in said
    assert used.read_bytes() == before
    connection = sqlite3.connect(used)
    connection.execute("UPDATE alembic_version SET version_num = ?", (SCHEMA_HEAD,))
    connection.commit()
    connection.close()
    await stage.verify()


def test_what_is_no_store(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and somebody's only copy")
    assert "is not a database" in refused(text)
    assert text.read_text() == "not a database, and somebody's only copy"
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = other.read_bytes()
    assert "not a store" in refused(other)
    assert other.read_bytes() == before
    assert "is a directory" in refused(tmp_path)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_network_file_system(tmp_path: Path, kind: str) -> None:
    """The mount table is a file, and so can be another one."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 8:1 / / rw - ext4 /dev/sda rw\n"
        f"33 21 0:40 / {tmp_path} rw,relatime shared:1 - {kind} server:/export rw\n"
    )
    store = tmp_path / "journal.db"
    said = refused(store, str(mounts), program=ON_NFS)
    assert f"a {kind} file system" in said
    assert "local disk" in said
    assert not store.exists()


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with full_disk(tmp_path / "disk") as disk:
        disk.fail()
        yield disk.store


@pytest.fixture
def read_only(tmp_path: Path, used: Path) -> Iterator[Path]:
    with read_only_disk(tmp_path / "disk") as disk:
        for path in used.parent.glob("journal.db*"):
            path.rename(disk.store.with_name(path.name))
        disk.fail()
        yield disk.store


def test_a_disk_that_is_full_at_start(full: Path) -> None:
    assert "make room" in refused(full)


def test_a_store_that_is_read_only_at_start(read_only: Path) -> None:
    before = read_only.read_bytes()
    said = refused(read_only)
    assert "not permitted" in said or "readonly" in said
    assert read_only.read_bytes() == before
