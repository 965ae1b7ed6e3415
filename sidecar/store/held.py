"""One handoff's row as a write transaction holds it in memory, and as it stands in the file.

This file must not know the rules of claims and appends. The failure it prevents: a column that is written by one
meaning and read by another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bridge.journal import TERMINAL, Entry, Fence, Kind, Tip
from bridge.quorum import VoterView
from sidecar.records import TaskView

COLUMNS = (
    "id, task, promised_n, promised_session, tip_n, tip_session, tip_seq, tip_hash, committed, "
    "granted_n, granted_session, granted_until_ms, granted_boot, terminal_seq, purged, released"
)

_TELLING = TERMINAL | {Kind.ORPHANED, Kind.CLAIMED}  # kinds that the row itself remembers


@dataclass(slots=True)
class Held:
    """One handoff's rows as this transaction sees them.

    Attributes:
        id: the handoff's row.
        task: its task id.
        view: the voter's memory.
        terminal_seq: position of the terminal entry, 0 without.
        released: the owner gave the handoff up (``orphaned``) and nobody has claimed it since.
        shown_seq: position at which the row for reads was made that is shown, 0 where that is not known.
        task_view: the row for reads as it was last written from here; None: not known.
    """

    id: int
    task: str
    view: VoterView
    terminal_seq: int
    released: bool = False
    shown_seq: int = 0
    task_view: TaskView | None = None


def held_of(row: Sequence[Any], boot: str) -> Held:
    """A handoff's rows from its stored row (all columns in the schema's order)."""
    granted = Fence(row[9], row[10]) if row[9] is not None and row[12] == boot else None
    view = VoterView(
        promised=Fence(row[2], row[3]),
        tip=Tip(Fence(row[4], row[5]), row[6], row[7].hex()),
        committed=row[8],
        granted=granted,
        granted_until_ms=row[11] if granted else 0,
        purged=bool(row[14]),
    )
    return Held(row[0], row[1], view, row[13], bool(row[15]))


def row_of(held: Held, boot: str) -> tuple[Any, ...]:
    """The stored row (all columns in the schema's order)."""
    view = held.view
    granted = view.granted
    return (
        held.id, held.task, *view.promised, *view.tip.fence, view.tip.seq, bytes.fromhex(view.tip.hash),
        view.committed, granted and granted.n, granted and granted.session, view.granted_until_ms,
        granted and boot, held.terminal_seq, view.purged,
        held.released,
    )  # fmt: skip


def flatten(base: int, add: Sequence[Entry], held: Held, cut_from: int | None) -> tuple[list[Any], int, bool]:
    """Entries as the values of their rows, and what the handoff's row remembers after them.

    Args:
        base: key of the handoff's entries.
        add: entries to be added.
        held: the row before.
        cut_from: position from which stored entries are removed first, if any.

    Raises:
        ValueError, AttributeError: an entry is malformed.
    """
    flat: list[Any] = []
    terminal_seq, released = held.terminal_seq, held.released
    if cut_from is not None:
        terminal_seq, released = (0 if terminal_seq >= cut_from else terminal_seq), False
    for seq, fence, kind, at, body_hash, prev, digest, body in add:
        flat += (
            base + seq, fence.n, fence.session, kind.value, at,
            bytes.fromhex(body_hash), bytes.fromhex(prev), bytes.fromhex(digest), body,
        )  # fmt: skip
        if kind in _TELLING:
            released = kind is Kind.ORPHANED
            if not terminal_seq and kind in TERMINAL:
                terminal_seq = seq
    return flat, terminal_seq, released
