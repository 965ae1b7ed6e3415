"""One handoff's row as a write transaction holds it in memory, and as it stands in the file.

This file must not know the rules of claims and appends. The failure it prevents: a column that is written by one
meaning and read by another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bridge.gist import TELLING, WORKING, Gist, folded
from bridge.handoff import State
from bridge.journal import TERMINAL, Entry, Fence, Kind, Tip
from bridge.quorum import VoterView
from sidecar.records import TaskView

COLUMNS = (
    "id, task, promised_n, promised_session, tip_n, tip_session, tip_seq, tip_hash, committed, "
    "granted_n, granted_session, granted_until_ms, granted_boot, terminal_seq, purged, released, "
    "state, due, cancel, waits, shown_seq"
)

NOTHING = Gist()


@dataclass(slots=True)
class Held:
    """One handoff's rows as this transaction sees them.

    Attributes:
        id: the handoff's row.
        task: its task id.
        view: the voter's memory.
        terminal_seq: position of the terminal entry, 0 without.
        gist: what a sweep has to know of the journal.
        shown_seq: position at which the row for reads was made that is shown, 0 where that is not known.
        task_view: the row for reads as it was last written from here; None: not known.
        elsewhere: another host is the only voter, and goes on with what stands here as it began (``elsewhere``).
    """

    id: int
    task: str
    view: VoterView
    terminal_seq: int
    gist: Gist = NOTHING
    shown_seq: int = 0
    task_view: TaskView | None = None
    elsewhere: bool = False

    @property
    def waits(self) -> bool:
        """A sweep passes it by: nothing is to be done here, and all of it is known to be committed."""
        return self.elsewhere or self.rests

    @property
    def rests(self) -> bool:
        """The same, by the journal alone."""
        return self.view.committed >= self.view.tip.seq and self.gist.word not in WORKING


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
    gist = Gist(State(row[16]), bool(row[17]), bool(row[18]), bool(row[15]))
    held = Held(row[0], row[1], view, row[13], gist, row[20])
    held.elsewhere = bool(row[19]) and not held.rests
    return held


def row_of(held: Held, boot: str) -> tuple[Any, ...]:
    """The stored row (all columns in the schema's order)."""
    view, gist = held.view, held.gist
    granted = view.granted
    return (
        held.id, held.task, *view.promised, *view.tip.fence, view.tip.seq, bytes.fromhex(view.tip.hash),
        view.committed, granted and granted.n, granted and granted.session, view.granted_until_ms,
        granted and boot, held.terminal_seq, view.purged,
        gist.released, gist.state.value, gist.due, gist.cancel, held.waits, held.shown_seq,
    )  # fmt: skip


def flatten(base: int, add: Sequence[Entry]) -> tuple[list[Any], list[tuple[int, Kind]]]:
    """Entries as the values of their rows, and those of them that tell a sweep something.

    Args:
        base: key of the handoff's entries.
        add: entries to be added.

    Raises:
        ValueError, AttributeError: an entry is malformed.
    """
    flat: list[Any] = []
    telling: list[tuple[int, Kind]] = []
    for seq, fence, kind, at, body_hash, prev, digest, body in add:
        flat += (
            base + seq, fence.n, fence.session, kind.value, at,
            bytes.fromhex(body_hash), bytes.fromhex(prev), bytes.fromhex(digest), body,
        )  # fmt: skip
        if kind in TELLING:
            telling.append((seq, kind))
    return flat, telling


def told(gist: Gist, terminal_seq: int, telling: Sequence[tuple[int, Kind]]) -> tuple[Gist, int]:
    """What a handoff's row remembers of its entries, after more of them."""
    ends = (seq for seq, kind in telling if kind in TERMINAL)
    return folded(gist, [kind for _, kind in telling]), terminal_seq or next(ends, 0)
