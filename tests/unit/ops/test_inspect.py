"""The reading commands: what an operator sees of a journal, and what the exit code says."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from bridge.journal import Tip
from sidecar.errors import ConfigError
from sidecar.ops.inspect import NoSuchTask, Screen, export, resolve, show, tasks, verify_export, verify_store
from sidecar.ops.timeline import describe, timeline, visible
from tests.unit.ops.journals import MemoryShelf, killed_and_finished

TASK, ENTRIES = killed_and_finished()
OTHER, THEIRS = killed_and_finished("m-2", ended=False)


@pytest.fixture
def shelf() -> MemoryShelf:
    return MemoryShelf((TASK, list(ENTRIES)), (OTHER, list(THEIRS)))


def screen(*, json: bool = False, colour: bool = False) -> Screen:
    return Screen(io.StringIO(), io.BytesIO(), colour, json)


def text(of: Screen) -> str:
    assert isinstance(of.out, io.StringIO)
    return of.out.getvalue()


def test_a_unique_beginning_is_enough(shelf: MemoryShelf) -> None:
    assert resolve(shelf, TASK) == TASK
    assert resolve(shelf, TASK[:8]) == TASK
    for wrong in ("zzzz", TASK + "0"):
        with pytest.raises(NoSuchTask, match="begins with"):
            resolve(shelf, wrong)
    for short in (TASK[:2], ""):
        with pytest.raises(NoSuchTask, match="at least four characters of the id are needed"):
            resolve(shelf, short)


def test_an_ambiguous_beginning_lists_what_it_may_mean() -> None:
    shelf = MemoryShelf()
    shelf.journals = {"abcd-1": [], "abcd-2": [], "abcd": []}
    with pytest.raises(NoSuchTask, match=r"begins 2 task ids \(abcd-1, abcd-2\)"):
        resolve(shelf, "abcd-")
    assert resolve(shelf, "abcd") == "abcd"


def test_tasks_are_listed(shelf: MemoryShelf) -> None:
    out = screen()
    assert tasks(shelf, out, limit=50) == 0
    head, first, second = text(out).splitlines()
    assert head.split()[0] == "TASK"
    assert TASK in first
    assert "completed" in first
    assert OTHER in second
    assert "running" in second
    assert "working" in second


def test_tasks_by_state_limit_and_in_json(shelf: MemoryShelf) -> None:
    out = screen(json=True)
    tasks(shelf, out, limit=50, state="running")
    (line,) = text(out).splitlines()
    assert json.loads(line)["task"] == OTHER
    out = screen()
    tasks(shelf, out, limit=1)
    assert text(out).endswith("--limit 2\n")
    out = screen()
    tasks(MemoryShelf(), out, limit=1)
    assert text(out) == "no tasks\n"


def test_a_state_that_there_is_not_is_answered_with_those_that_there_are(shelf: MemoryShelf) -> None:
    with pytest.raises(ConfigError, match=r"'bogus' is no state.*running.*input-required"):
        tasks(shelf, screen(), limit=50, state="bogus")
    for known in ("orphaned", "auth-required", "TASK_STATE_WORKING"):
        assert tasks(shelf, screen(), limit=50, state=known) == 0


def test_show_tells_the_takeover(shelf: MemoryShelf) -> None:
    out = screen()
    assert show(shelf, out, TASK[:8]) == 0
    said = text(out)
    assert "completed" in said.splitlines()[1]
    assert "2 runs" in said
    assert "owner right at fence 2" in said
    assert "count the pages" in said
    assert "by left: accepted\n" in said
    assert "run 1 begins at http://127.0.0.1:9000" in said
    assert "by right: orphaned, 1 run so far" in said
    assert "run 2 begins at http://127.0.0.1:9001" in said
    assert " 4-9 " in said, "six events in a row share a line"
    assert "six pages" in said
    assert "\x1b" not in said


def test_show_everything_in_colour_and_in_json(shelf: MemoryShelf) -> None:
    out = screen(colour=True)
    show(shelf, out, TASK, everything=True)
    assert text(out).count("artifact page") == 6
    assert "\x1b[32mcompleted" in text(out)
    out = screen(json=True)
    show(shelf, out, TASK)
    answer = json.loads(text(out))
    assert (answer["state"], answer["attempts"], answer["fence"], answer["wrong"]) == ("completed", 2, 2, None)
    assert [entry["seq"] for entry in answer["entries"]] == list(range(1, len(ENTRIES) + 1))


def test_show_says_where_a_journal_is_broken(shelf: MemoryShelf) -> None:
    shelf.journals[TASK][4] = ENTRIES[4]._replace(body=b"{}")
    out = screen()
    assert show(shelf, out, TASK) == 1
    assert "WRONG  entry 5" in text(out)


def test_a_text_cannot_take_over_the_terminal() -> None:
    assert visible("a\x1b[2Jb\nc\u202ed") == "a\\x1b[2Jb\\nc\\u202ed"
    assert len(visible("x" * 500)) == 60
    hostile = ENTRIES[3]._replace(body=b'{"event":{"statusUpdate":{"status":{"state":"\\u001b[31m"}}}}')
    assert "\x1b" not in "".join(timeline([hostile]))


@pytest.mark.parametrize("body", [b"{}", b'{"event":null}', b'{"event":{"artifactUpdate":7}}', b"[1", b"7"])
def test_an_odd_body_is_shown_as_such(body: bytes) -> None:
    for entry in ENTRIES:
        assert isinstance(describe(entry._replace(body=body)), str)
    assert "dropped" in describe(ENTRIES[0]._replace(body=None))


def test_an_export_is_verified_alone(shelf: MemoryShelf) -> None:
    out = screen()
    assert export(shelf, out, TASK) == 0
    assert isinstance(out.raw, io.BytesIO)
    lines = out.raw.getvalue().splitlines(keepends=True)
    assert len(lines) == len(ENTRIES)
    found = screen()
    assert verify_export(found, lines) == 0
    assert "1 journal, 15 entries: chain and transitions hold" in text(found)
    assert "the file ends before" not in text(found)
    cut_off = screen()
    assert verify_export(cut_off, lines[:9]) == 0
    assert "the file ends before the task does; whether entries are missing" in text(cut_off)
    changed = [lines[0].replace(b"pages", b"dimes"), *lines[1:]]
    assert verify_export(screen(), changed) == 1
    assert verify_export(screen(), [*lines, b"not a line\n"]) == 1
    assert verify_export(screen(), []) == 1


def test_the_whole_store_is_verified(shelf: MemoryShelf) -> None:
    out = screen()
    assert verify_store(shelf, out) == 0
    assert text(out).count("ok ") == 2
    shelf.rows[OTHER] = replace(shelf.rows[OTHER], state="completed")
    out = screen(json=True)
    assert verify_store(shelf, out) == 1
    verdicts = {answer["task"]: answer for answer in map(json.loads, text(out).splitlines())}
    assert verdicts[TASK]["ok"]
    assert not verdicts[OTHER]["ok"]
    assert verify_store(shelf, screen(), TASK[:6]) == 0
    assert verify_store(shelf, screen(), OTHER) == 1


def test_a_journal_that_is_being_written_is_not_called_wrong(shelf: MemoryShelf) -> None:
    class Busy(MemoryShelf):
        reads = 0

        def tip(self, task: str) -> Tip | None:
            self.reads += 1
            found = super().tip(task)
            return found and found._replace(seq=self.reads)

    out = screen()
    assert verify_store(Busy((OTHER, list(THEIRS))), out) == 0
    assert "being written" in text(out)
