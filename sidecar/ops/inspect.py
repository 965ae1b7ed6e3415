"""The reading commands: tasks, show, verify, export. Nothing here writes to a store.

They work on a ``Shelf`` of journals and write to the streams they are given, so that a test needs neither a
process nor a terminal. This file must not know SQL. The failure it prevents: an operator who has to open the
database by hand to learn what happened to one task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Protocol, TextIO

import orjson

from bridge.a2a.dialect import TASK_STATES
from bridge.errors import BridgeError
from bridge.handoff import FINAL, Handoff, State
from bridge.journal import Entry, Tip, to_line
from sidecar.errors import ConfigError, SidecarError
from sidecar.ops.timeline import day, paint, rows, timeline
from sidecar.ops.verify import Stored, Verdict, read_export, verify
from sidecar.records import TaskView

OK, WRONG = 0, 1
PREFIX_SHORTEST = 4
_LISTED_MAX = 10
_UNFINISHED = (
    "the file ends before the task does; whether entries are missing at its end cannot be told from it "
    "(`dhp-sidecar verify TASK` tells, where the store is)"
)
_MOVED_TRIES = 20
_LISTS = "`dhp-sidecar tasks` lists them"


class Shelf(Protocol):
    """Journals that can be read."""

    def views(self) -> Iterable[TaskView]:
        """The rows of all tasks, newest status first."""
        ...

    def find(self, prefix: str) -> Sequence[str]:
        """The ids of all journals that begin so, with or without a row."""
        ...

    def view(self, task: str) -> TaskView | None:
        """The row of one task."""
        ...

    def entries(self, task: str) -> Sequence[Entry]:
        """The whole journal of one task.

        Raises:
            BrokenChain: a stored row is no entry.
        """
        ...

    def tip(self, task: str) -> Tip | None:
        """Where the store remembers the journal to end."""
        ...

    def shown_seq(self, task: str) -> int:
        """The position that the row of one task was made at, 0 where that is not known."""
        ...


class NoSuchTask(SidecarError):
    """No journal, or more than one, begins with what was given."""

    code = "no_such_task"


class Unreadable(SidecarError):
    """The store holds something under this task that is no journal."""

    code = "unreadable_journal"


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a command writes.

    Attributes:
        out: for text.
        raw: for bytes that must stay as they are.
        colour: the terminal's colours may be used.
        json: answers are JSON.
    """

    out: TextIO
    raw: BinaryIO
    colour: bool = False
    json: bool = False

    def line(self, text: str = "") -> None:
        """Write one line of text."""
        self.out.write(text + "\n")

    def object(self, value: object) -> None:
        """Write one JSON value on a line."""
        self.out.write(orjson.dumps(value).decode() + "\n")


def resolve(shelf: Shelf, prefix: str) -> str:
    """The one task id that begins with ``prefix``.

    Raises:
        NoSuchTask: none does, or several do.
    """
    found = shelf.find(prefix)
    if prefix in found:
        return prefix
    if found and len(prefix) < min(PREFIX_SHORTEST, len(found[0])):
        raise NoSuchTask(f"{prefix!r} is too short: at least four characters of the id are needed", _LISTS)
    if not found:
        raise NoSuchTask(f"no task's id begins with {prefix!r}", _LISTS)
    if len(found) > 1:
        listed = ", ".join(found[:_LISTED_MAX]) + (", …" if len(found) > _LISTED_MAX else "")
        raise NoSuchTask(f"{prefix!r} begins {len(found)} task ids", listed)
    return found[0]


def tasks(shelf: Shelf, screen: Screen, *, limit: int, state: str = "") -> int:
    """List tasks, newest first.

    Raises:
        ConfigError: ``state`` is none that a handoff or a task can have.
    """
    handoffs = [str(each) for each in State if each is not State.ABSENT]
    of_tasks = [_short(each) for each in TASK_STATES]
    if state and state not in (*handoffs, *of_tasks, *TASK_STATES):
        raise ConfigError(
            f"--state {state!r} is no state",
            f"a handoff is {', '.join(handoffs)}; a task is {', '.join(of_tasks)}",
        )
    shown = 0
    for view in shelf.views():
        if state and state not in (view.state, _short_state(view), view.task_state):
            continue
        if shown == limit:
            if not screen.json:
                screen.line(f"… and more: --limit {limit * 2}")
            break
        shown += 1
        if screen.json:
            screen.object(
                {
                    "task": view.task_id,
                    "context": view.context_id,
                    "state": view.state,
                    "task_state": view.task_state,
                    "status_at": day(view.status_at).replace(" ", "T"),
                    "tenant": view.tenant,
                    "principal": view.principal,
                    "listed": view.listed,
                }
            )
            continue
        if shown == 1:
            screen.line(paint(f"{'TASK':<36}  {'HANDOFF':<10}  {'TASK STATE':<14}  SINCE", "1", on=screen.colour))
        colour = {"completed": "32", "failed": "31", "review": "31", "orphaned": "33"}.get(view.state, "")
        handoff = paint(f"{view.state:<10}", colour, on=screen.colour)
        screen.line(f"{view.task_id:<36}  {handoff}  {_short_state(view):<14}  {day(view.status_at)}")
    if not shown and not screen.json:
        screen.line("no tasks")
    return OK


def show(shelf: Shelf, screen: Screen, prefix: str, *, everything: bool = False) -> int:
    """One journal as a timeline."""
    task = resolve(shelf, prefix)
    entries = _read(shelf, task)
    handoff = Handoff.absent(task)
    wrong = ""
    try:
        for entry in entries:
            handoff.apply(entry)
    except BridgeError as error:
        wrong = str(error)
    if screen.json:
        screen.object(
            {
                "task": task,
                "handoff": handoff.handoff_id,
                "state": str(handoff.state),
                "owner": handoff.owner,
                "fence": handoff.fence.n,
                "attempts": handoff.attempts,
                "cut": handoff.cut,
                "hash": handoff.tip.hash,
                "wrong": wrong or None,
                "entries": rows(entries),
            }
        )
        return WRONG if wrong else OK
    began = f", began {day(entries[0].at)}" if entries else ""
    held, runs = _count(len(entries), "entry", "entries"), _count(handoff.attempts, "run", "runs")
    screen.line(f"{paint('task', '1', on=screen.colour)} {task}")
    screen.line(
        f"{handoff.state}{began}, {held}, {runs}, owner {handoff.owner or 'none'} at fence {handoff.fence.n}"
    )
    screen.line()
    for text in timeline(entries, colour=screen.colour, everything=everything):
        screen.line(text)
    if wrong:
        screen.line()
        screen.line(paint(f"WRONG  {wrong}", "31", on=screen.colour))
    return WRONG if wrong else OK


def export(shelf: Shelf, screen: Screen, prefix: str) -> int:
    """One journal as JSON Lines: evidence that ``verify --file`` checks anywhere."""
    task = resolve(shelf, prefix)
    for entry in _read(shelf, task):
        screen.raw.write(to_line(task, entry) + b"\n")
    screen.raw.flush()
    return OK


def verify_store(shelf: Shelf, screen: Screen, prefix: str = "") -> int:
    """Check one journal of a store, or all of them, views included."""
    chosen = [resolve(shelf, prefix)] if prefix else shelf.find("")
    if not chosen and not screen.json:
        screen.line("no tasks")
    return _report(screen, (_verdict(shelf, task) for task in chosen), [], "chain, transitions and views hold")


def verify_export(screen: Screen, lines: Iterable[bytes]) -> int:
    """Check every journal of an export file."""
    export = read_export(lines)
    wrong = export.wrong or ([] if export.journals else ["the file holds no journal"])
    found = (verify(task, entries) for task, entries in export.journals.items())
    verdicts = (each if each.wrong or each.state in FINAL else replace(each, note=_UNFINISHED) for each in found)
    return _report(screen, verdicts, wrong, "chain and transitions hold")


def _read(shelf: Shelf, task: str) -> Sequence[Entry]:
    try:
        return shelf.entries(task)
    except BridgeError as error:
        raise Unreadable(f"task {task}: {error}", "`dhp-sidecar verify` checks the others") from error


def _verdict(shelf: Shelf, task: str) -> Verdict:
    # A running task moves on between two reads: row and journal belong together only if the tip stood still.
    entries: Sequence[Entry] = ()
    for _ in range(_MOVED_TRIES):
        tip, view, shown_seq = shelf.tip(task), shelf.view(task), shelf.shown_seq(task)
        try:
            entries = shelf.entries(task)
        except BridgeError as error:
            return verify(task, (), unreadable=str(error))
        if shelf.tip(task) == tip:
            return verify(task, entries, Stored(view, tip, shown_seq))
    return replace(verify(task, entries), note="it is being written: its rows were not compared")


def _report(screen: Screen, verdicts: Iterable[Verdict], wrong: Sequence[str], praise: str) -> int:
    journals = entries = bad = 0
    for verdict in verdicts:
        journals, entries, bad = journals + 1, entries + verdict.entries, bad + bool(verdict.wrong)
        if screen.json:
            screen.object(verdict.as_json())
            continue
        mark = paint("WRONG", "31", on=screen.colour) if verdict.wrong else paint("ok   ", "32", on=screen.colour)
        held = _count(verdict.entries, "entry", "entries")
        screen.line(f"{mark}  {verdict.task}  {verdict.state}, {held}, fence {verdict.tip.fence.n}")
        screen.line(f"       {verdict.tip.hash}")
        for what in filter(None, (*verdict.wrong, verdict.note)):
            screen.line(f"       {what}")
    for what in wrong:
        if screen.json:
            screen.object({"ok": False, "wrong": [what]})
        else:
            screen.line(f"{paint('WRONG', '31', on=screen.colour)}  {what}")
    if not screen.json and journals:
        found = f"{bad} of them wrong" if bad else praise
        screen.line(f"{_count(journals, 'journal', 'journals')}, {_count(entries, 'entry', 'entries')}: {found}")
    return WRONG if bad or wrong else OK


def _short_state(view: TaskView) -> str:
    return _short(view.task_state) or "-"


def _short(task_state: str) -> str:
    return task_state.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
