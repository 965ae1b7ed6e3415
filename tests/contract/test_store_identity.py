"""Which voter a store is: a copy is another one, and one process has it to itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.errors import StoreUnavailable
from sidecar.store import Store
from sidecar.store.connect import writing_engine
from sidecar.store.engine import prepare
from sidecar.store.identity import place_of_file
from tests.contract.journals import beginning, fence

HOLDER = """
import asyncio, sys
from sidecar.store import Store

async def main():
    store = await Store.open(sys.argv[1], alone=sys.argv[2] == "alone")
    print("open", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_file_keeps_its_id_and_every_fresh_one_has_its_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    id_ = prepare(one)
    assert prepare(one) == id_
    assert prepare(other) != id_
    one.rename(tmp_path / "moved.db")  # the very file, under another name
    assert prepare(tmp_path / "moved.db") == id_


@pytest.mark.parametrize("how", ["beside", "over it", "under the same name"])
def test_a_copy_is_another_voter(tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture) -> None:
    path, copy = tmp_path / "journal.db", tmp_path / "copy.db"
    id_ = prepare(path)
    shutil.copy(path, copy)
    if how == "over it":
        copy.replace(path)
    elif how == "under the same name":  # a file system may give the same inode number again
        path.unlink()
        shutil.copy(copy, path)
    copied = prepare(copy if how == "beside" else path)
    assert copied != id_
    assert f"copy of voter {id_}" in caplog.text
    assert prepare(copy if how == "beside" else path) == copied


def test_what_is_restored_in_place_is_another_voter_if_somebody_says_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    id_ = prepare(path)
    before = path.read_bytes()
    path.write_bytes(before)
    assert prepare(path) == id_
    restored = prepare(path, restored=True)
    assert restored != id_
    assert prepare(path) == restored


def test_a_store_of_before_there_were_places_keeps_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    id_ = prepare(path)
    engine = writing_engine(path)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM meta WHERE name = 'voter_place'")
    engine.dispose()
    assert prepare(path) != id_  # nobody has named that id yet


def test_a_place_is_of_the_machine_the_file_system_and_the_inode(tmp_path: Path) -> None:
    machine, path, other = tmp_path / "machine-id", tmp_path / "a", tmp_path / "b"
    machine.write_text("0123\n")
    other.touch()
    descriptor, second = os.open(path, os.O_RDWR | os.O_CREAT), os.open(other, os.O_RDWR)
    place = place_of_file(descriptor, machine)
    assert place.split(":")[:3] == ["0123", f"{os.statvfs(path).f_fsid:x}", str(path.stat().st_ino)]
    assert place == place_of_file(descriptor, machine)
    assert place != place_of_file(second, machine)
    assert place_of_file(descriptor, tmp_path / "none").startswith(":")
    os.close(descriptor)
    os.close(second)


async def test_an_open_store_says_who_it_is(url: str) -> None:
    store = await Store.open(url)
    id_ = store.voter_id
    await store.close()
    store = await Store.open(url, alone=False)
    assert store.voter_id == id_
    await store.close()
    store = await Store.open(url, alone=False, restored=True)
    assert store.voter_id != id_
    await store.close()


@pytest.mark.parametrize(("theirs", "mine"), [("peers", False), ("peers", True), ("alone", False)])
async def test_a_store_of_a_sidecar_with_peers_is_its_own(url: str, theirs: str, mine: bool) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, url, theirs], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"open\n"
    with pytest.raises(StoreUnavailable) as refused:
        await Store.open(url, alone=mine)
    assert "a store of its own" in refused.value.hint
    holder.kill()
    holder.communicate()
    store = await Store.open(url, alone=mine)  # the kernel has freed it
    await store.close()
    store = await Store.open(url, alone=not mine)
    await store.close()


async def test_a_store_that_could_not_be_opened_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> str:
        raise StoreUnavailable("for a test")

    monkeypatch.setattr("sidecar.store.store.prepare", fails)
    with pytest.raises(StoreUnavailable, match="for a test"):
        await Store.open(tmp_path / "journal.db", alone=False)
    monkeypatch.undo()
    store = await Store.open(tmp_path / "journal.db", alone=False)
    await store.close()


async def test_what_is_no_store_has_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(Exception, match="not a database"):
        await Store.open(path)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


async def test_a_voter_whose_file_was_replaced_says_nothing_more(peer_store: Store, tmp_path: Path) -> None:
    await peer_store.voter.append(beginning("t", fence(1, "aa")))
    prepare(tmp_path / "other.db")
    (tmp_path / "other.db").replace(peer_store.path)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="forgotten its promises"):
            await peer_store.voter.append(beginning("t2", fence(1, "aa")))
