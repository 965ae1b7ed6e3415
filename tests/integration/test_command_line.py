"""The command line on a real store: what it shows, what it finds, and what its exit codes say."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bridge.journal import Entry, genesis
from bridge.quorum import Append, Appended
from sidecar.cli import main
from sidecar.store import Store
from tests.unit.ops.journals import SECOND, killed_and_finished, row

TASK, ENTRIES = killed_and_finished()


async def write(path: Path, *journals: tuple[str, list[Entry]]) -> None:
    store = await Store.open(path)
    try:
        for task, entries in journals:
            append = Append(task, SECOND, 0, genesis(task).hash, entries, len(entries))
            answer = await store.voter.append(append, row(task, entries))
            assert isinstance(answer, Appended), answer
    finally:
        await store.close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("DHP_SIDECAR_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "journal.db"
    monkeypatch.setenv("DHP_SIDECAR_STORE", f"sqlite:///{path}")
    asyncio.run(write(path, (TASK, ENTRIES), killed_and_finished("m-2", ended=False)))
    return path


def test_tasks_show_and_verify(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    assert TASK in capsys.readouterr().out
    assert main(["show", TASK[:8]]) == 0
    shown = capsys.readouterr().out
    assert "by right: orphaned" in shown
    assert "\x1b" not in shown
    assert main(["verify"]) == 0
    assert "2 journals" in capsys.readouterr().out
    assert main(["verify", TASK, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hash"] == ENTRIES[-1].hash


def test_reading_changes_nothing(store: Path) -> None:
    before = {path.name for path in store.parent.iterdir()}
    content = store.read_bytes()
    for command in (["tasks"], ["show", TASK], ["verify"], ["export", TASK]):
        assert main(command) == 0
    # SQLite's own side files may come and go with a reader; the store itself stays as it is.
    after = {path.name for path in store.parent.iterdir()} - {"journal.db-wal", "journal.db-shm"}
    assert after <= before
    assert store.read_bytes() == content


def test_an_export_stands_alone(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "task.jsonl"
    program = [sys.executable, "-m", "sidecar.cli"]
    with file.open("wb") as out:
        assert subprocess.run([*program, "export", TASK[:8]], stdout=out, check=False).returncode == 0
    elsewhere = {**os.environ, "DHP_SIDECAR_STORE": "sqlite:////nowhere/journal.db"}
    verified = [*program, "verify", "--file"]
    done = subprocess.run([*verified, str(file)], env=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(ENTRIES)} entries" in done.stdout
    changed = file.read_bytes().replace(b"page 3", b"page 9", 1)
    refused = subprocess.run([*verified, "-"], env=elsewhere, input=changed, capture_output=True, check=False)
    assert refused.returncode == 1
    assert b"the body is not the one that was hashed" in refused.stdout


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET fence_n = 1 WHERE seq = 13",
        "UPDATE entries SET fence_session = 'x,y' WHERE seq = 3",
        "UPDATE entries SET kind = 'spend' WHERE seq = 5",
        "UPDATE entries SET kind = 'nothing' WHERE seq = 5",
        "UPDATE entries SET at = at + 1 WHERE seq = 5",
        "UPDATE entries SET body_hash = randomblob(32) WHERE seq = 5",
        "UPDATE entries SET prev = randomblob(32) WHERE seq = 5",
        "UPDATE entries SET hash = randomblob(32) WHERE seq = 15",
        "UPDATE entries SET body = CAST(replace(body, 'page 2', 'page 7') AS BLOB) WHERE seq = 7",
        "UPDATE entries SET body = NULL WHERE seq = 7",
        "DELETE FROM entries WHERE seq = 7",
        "DELETE FROM entries WHERE seq = 15",
        "DELETE FROM entries",
        "UPDATE handoffs SET tip_seq = 3",
        "UPDATE handoffs SET tip_hash = randomblob(32)",
        "UPDATE tasks SET task_state = 'TASK_STATE_FAILED'",
        "UPDATE tasks SET state = 'review'",
        "UPDATE tasks SET context_id = 'other'",
        "UPDATE tasks SET listed = 0",
        "DELETE FROM tasks",
        "UPDATE finished SET body = CAST(replace(body, 'page 2', 'page 7') AS BLOB)",
        "DELETE FROM finished",
    ],
)
def test_what_was_changed_in_the_file_is_found(store: Path, change: str) -> None:
    connection = sqlite3.connect(store)
    assert connection.execute(change).rowcount
    connection.commit()
    connection.close()
    assert main(["verify"]) == 1


def test_a_row_that_is_no_entry_is_reported_by_every_command(store: Path) -> None:
    connection = sqlite3.connect(store)
    connection.execute("UPDATE entries SET kind = 'nothing' WHERE seq = 5")
    connection.commit()
    connection.close()
    assert main(["show", TASK]) == 1
    assert main(["export", TASK]) == 1
    assert main(["tasks"]) == 0


def test_exit_codes(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["show", "ffffffff-not-there"]) == 4
    assert main(["show"]) == 2
    assert main(["verify", TASK, "--file", "x"]) == 2
    assert main(["verify", "--file", str(store.parent / "none.jsonl")]) == 2
    assert main(["tasks", "--store", f"sqlite:///{store.parent}/none.db"]) == 3
    assert "no sidecar has run with this store; give --store" in capsys.readouterr().err
    (store.parent / "text.db").write_text("not a database, but a text of some length")
    assert main(["tasks", "--store", f"sqlite:///{store.parent}/text.db"]) == 3
    monkeypatch.setenv("DHP_SIDECAR_AGNET", "http://127.0.0.1:1")
    assert main(["tasks"]) == 2
    assert "the nearest is DHP_SIDECAR_AGENT" in capsys.readouterr().err
    assert not (store.parent / "none.db").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "the nearest is run"),
        (["run", "--agnet", "http://a:1"], "the nearest is --agent"),
        (["run", "--agent", "127.0.0.1:9000"], "an address like http://"),
        (["run", "--agent", "http://a:1", "--host", "0.0.0.0"], "--insecure"),
        (["run"], "give --agent"),
        (["run", "--lease-ttl", "5"], "DHP_SIDECAR_LEASE__TTL_MS"),
        (["run", "--por", "5"], "the nearest is --port"),
        (["tasks", "--limit", "none"], "above 0"),
        (["tasks", "--jsn"], "the nearest is --json"),
        (["tasks", "--state", "bogus"], "a handoff is dispatched"),
        (["run", "--agent", "http://a:1", "--host", "203.0.113.7", "--insecure"], "give another --host"),
        (["run", "--agent", "http://a:1", "--host", "no-such-host.invalid", "--insecure"], "give another --host"),
    ],
)
def test_a_slip_is_answered_with_what_to_do(
    arguments: list[str], said: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "examples:" in capsys.readouterr().out
    for release in ("version", "--version"):
        assert main([release]) == 0
        assert capsys.readouterr().out == "dhp-sidecar 0.1.0\n"
    with pytest.raises(SystemExit) as stopped:
        main(["run", "--help"])
    assert stopped.value.code == 0


def test_a_reader_that_has_seen_enough_is_not_an_error(store: Path) -> None:
    script = f"{sys.executable} -m sidecar.cli export {TASK} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("0", "141")
    assert done.stderr == ""


def test_told_to_stop_while_it_starts_it_ends(tmp_path: Path) -> None:
    """As a container's process 1 it would not even hear a signal that it has no handler for."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DHP_")}
    command = [sys.executable, "-m", "sidecar.cli", "run", "--agent", "http://127.0.0.1:9", "--port", "0"]
    command += ["--control-port", "0", "--store", f"sqlite:///{tmp_path / 'journal.db'}"]
    starting = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not catches(starting.pid, signal.SIGTERM):
            assert time.monotonic() < deadline
        starting.terminate()
        _, said = starting.communicate(timeout=20)
    finally:
        starting.kill()
    assert starting.returncode == 0, said
    assert "serves" not in said
    assert "Traceback" not in said


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal (proc(5))."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    caught = int(next(line.split()[1] for line in lines if line.startswith("SigCgt:")), 16)
    return bool(caught >> (number - 1) & 1)
