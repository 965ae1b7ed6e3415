"""Verify: walk a journal from its first entry, and compare what it says with what is stored beside it.

The chain, every transition, the ids of its envelope, every body and the Task that folds from them are checked by
the rules of ``bridge``; then the row that reads use and the finished Task are made again and compared. Read-only;
works on an export alone. The failure it prevents: a view that has drifted from its journal, or a changed byte of
history, staying unnoticed until someone needs the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.a2a.fold import TaskFold
from bridge.a2a.refold import refold
from bridge.envelope import verify_envelope
from bridge.errors import BridgeError
from bridge.handoff import Handoff, State
from bridge.journal import Entry, Tip, from_line, genesis
from bridge.jsontext import parse
from bridge.placement import MEMBERS
from sidecar.records import Caller, TaskView
from sidecar.runtime.views import row_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one journal.

    Attributes:
        task: the task id.
        entries: how many entries hold, from the first.
        state: the handoff's state after them.
        tip: where they end; its hash is what two copies of a journal are compared by.
        wrong: what does not hold, in words; empty when everything does.
        note: what could not be checked, if anything.
    """

    task: str
    entries: int
    state: State
    tip: Tip
    wrong: tuple[str, ...] = ()
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """For ``verify --json``."""
        return {
            "task": self.task,
            "ok": not self.wrong,
            "entries": self.entries,
            "state": str(self.state),
            "fence": self.tip.fence.n,
            "hash": self.tip.hash,
            "wrong": list(self.wrong),
            "note": self.note or None,
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store keeps beside a journal.

    Attributes:
        view: the row that reads use.
        tip: where the journal ends. Without it nobody would miss entries cut off at the end.
        shown_seq: position that the row was made at. An only voter writes it with the entries; to one of several
            it may come later, or never.
    """

    view: TaskView | None
    tip: Tip | None
    shown_seq: int = 0


@dataclass(slots=True)
class Export:
    """What the lines of an export hold.

    Attributes:
        journals: entries by task id, in the order of the lines.
        wrong: lines that are no entries.
    """

    journals: dict[str, list[Entry]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def read_export(lines: Iterable[bytes]) -> Export:
    """The journals in an export file; lines that cannot be read are reported, not skipped."""
    export = Export()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task, entry = from_line(line)
        except BridgeError as error:
            export.wrong.append(f"line {number}: {error}")
            continue
        export.journals.setdefault(task, []).append(entry)
    return export


def verify(task: str, entries: Sequence[Entry], stored: Stored | None = None, *, unreadable: str = "") -> Verdict:
    """Check one journal.

    Args:
        task: the task id that the journal is kept under.
        entries: the whole journal, in order.
        stored: what is kept beside it; None for an export, which carries nothing else.
        unreadable: why the entries could not be read, if so.
    """
    handoff = Handoff.absent(task)
    if unreadable:
        return _found(handoff, unreadable)
    try:
        for entry in entries:
            handoff.apply(entry)
        if not entries and stored is not None and stored.tip == genesis(task):
            return replace(_found(handoff), note="promised to a candidate, not known to have begun")
        if not entries:
            return _found(handoff, "the journal is empty")
        if handoff.cut and handoff.step is None:
            return _found(handoff, f"entry {handoff.cut}: the newest checkpoint has no content")
        if task == MEMBERS:  # a journal of the hosts, and nobody's message
            return _found(handoff, *(_cut_off(handoff, stored) if stored is not None else ()))
        verify_envelope(handoff.dispatched)
        fold = refold(entries)
    except BridgeError as error:
        return _found(handoff, str(error))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return _found(handoff, f"entry {handoff.tip.seq} or one before it folds to no task: {error!r}")
    if stored is None:
        return _found(handoff)
    wrong = _cut_off(handoff, stored)
    if handoff.dispatched.get("voters") in (None, ["self"]):
        return _found(handoff, *wrong, *_differences(handoff, fold, stored.view))
    if stored.view is not None and 0 < stored.shown_seq <= len(entries):
        shown = entries[: stored.shown_seq]
        wrong += _differences(Handoff.fold(task, shown), refold(shown), stored.view)
    return _found(handoff, *wrong)


def _found(handoff: Handoff, *wrong: str) -> Verdict:
    return Verdict(handoff.task_id, handoff.tip.seq, handoff.state, handoff.tip, wrong)


def _cut_off(handoff: Handoff, stored: Stored) -> list[str]:
    if stored.tip == handoff.tip:
        return []
    known = f"entry {stored.tip.seq} with hash {stored.tip.hash[:12]}…" if stored.tip else "nothing"
    return [f"the journal ends at entry {handoff.tip.seq}, the store remembers {known}"]


def _differences(handoff: Handoff, fold: TaskFold, view: TaskView | None) -> list[str]:
    if view is None:
        return ["the row that reads use is missing"]
    key = handoff.dispatched["key"]
    context = fold.task().get("contextId") if fold.exists else None
    context = context or handoff.dispatched.get("context") or ""
    made = row_of(handoff, fold, Caller(key["tenant"], key["principal"]), context, 0)
    wrong = [
        f"the row says {name} {getattr(view, name)!r}, the journal {getattr(made, name)!r}"
        for name in ("tenant", "principal", "context_id", "state", "task_state", "listed")
        if getattr(view, name) != getattr(made, name)
    ]
    return wrong + _finished_differences(made.finished, view.finished)


def _finished_differences(made: bytes | None, stored: bytes | None) -> list[str]:
    if made is None and stored is None:
        return []
    if made is None:
        return ["a finished task is stored, but nothing ended"]
    if stored is None:
        return ["the finished task is missing"]
    try:
        same = parse(stored) == parse(made)
    except BridgeError as error:
        return [f"the finished task cannot be read: {error}"]
    return [] if same else ["the finished task is not the one that the journal folds to"]
