"""The Task that a journal tells of: which entries change what clients read, and how.

Whoever reads late, whoever owned the task and whoever verifies it folds by this one rule. This file must not know
how an event changes a Task (``fold`` does). The failure it prevents: the owner's Task and a late reader's differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.a2a.fold import TaskFold
from bridge.journal import Entry, Kind
from bridge.jsontext import parse_stored

FOLDED: frozenset[Kind] = frozenset(
    {Kind.DISPATCHED, Kind.INPUT, Kind.EVENT, Kind.COMPLETED, Kind.FAILED, Kind.CANCELED, Kind.REJECTED}
)


def advance(fold: TaskFold, kind: Kind, body: dict[str, Any]) -> TaskFold:
    """Move a fold on by one journal entry.

    Args:
        fold: changed in place, except by ``dispatched``.
        kind: of the entry; kinds outside ``FOLDED`` change nothing.
        body: of the entry.

    Returns:
        The fold to go on with.
    """
    if kind is Kind.DISPATCHED:
        return TaskFold(body["intent"]["inputs"].get("message"))
    if kind is Kind.INPUT:
        fold.add_message(body["message"])
    elif kind in FOLDED and "event" in body:
        fold.apply(body["event"])
    return fold


def refold(entries: Iterable[Entry], fold: TaskFold | None = None) -> TaskFold:
    """Fold a journal, or continue a fold of its beginning.

    Raises:
        MalformedJson: a body is not JSON.
    """
    fold = fold or TaskFold()
    for entry in entries:
        if entry.body is not None and entry.kind in FOLDED:
            fold = advance(fold, entry.kind, parse_stored(entry.body))
    return fold
