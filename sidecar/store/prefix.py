"""Reading what a candidate adopts: the journal up to exactly the tip that this voter granted, committed or not.

It comes in chunks; between two of them the voter may have cut and continued its journal for somebody else, and
then that prefix is gone (``bridge.catchup``). The failure this prevents: half of one owner's journal and half of
another's.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from bridge.catchup import DEFAULT_BOUNDS, HEADER_BYTES, Bounds, holds
from bridge.journal import Entry, Kind, Tip
from bridge.quorum import VoterView
from sidecar.store.pieces import hash_at, piece


def prefix(
    connection: Connection, view: VoterView, task: str, tip: Tip, after: int, bounds: Bounds = DEFAULT_BOUNDS
) -> tuple[Entry, ...] | None:
    """The next chunk of a prefix.

    Args:
        connection: reads within one snapshot.
        view: the voter's row in that snapshot.
        task: task id.
        tip: where the prefix must end.
        after: position that the chunk follows.
        bounds: of a chunk.

    Returns:
        At least one entry unless none is left; None where that prefix is not, or no more, here.
    """
    if not holds(view, tip, lambda seq: hash_at(connection, task, seq)):
        return None
    limit = min(bounds.entries_max, tip.seq - after)
    if limit <= 0:
        return ()
    bytes_max = max(1, bounds.bytes_max - HEADER_BYTES * limit)
    found, _ = piece(connection, task, after, limit, bytes_max, committed=False)
    return tuple(_whole(connection, task, tip, found))


def _whole(connection: Connection, task: str, tip: Tip, found: Sequence[Entry]) -> Sequence[Entry]:
    # The record of a replacement does not travel without the replacement.
    while found and found[-1].kind is Kind.REWOUND and found[-1].seq < tip.seq:
        more, _ = piece(connection, task, found[-1].seq, 1, 1, committed=False)
        found = [*found, *more]
    return found
