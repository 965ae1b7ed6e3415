"""What of an offered append is new to a journal.

Whoever was not answered offers the same again, alone or with what came since. The failure this prevents: an entry
that is written twice, or another one in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge.journal import Entry, genesis
from bridge.quorum import Append, Appended


def new_part(task: str, log: Sequence[Entry], append: Append) -> Sequence[Entry] | None:
    """The entries of an append that a journal does not have; None where it is not a continuation of it."""
    after, entries = append.after_seq, append.entries
    if after > len(log) or (log[after - 1].hash if after else genesis(task).hash) != append.after_hash:
        return None
    there = log[after : after + len(entries)]
    if any(mine.hash != other.hash for mine, other in zip(there, entries, strict=False)):
        return None
    return entries[len(there) :]


def acknowledged(append: Append) -> Appended:
    """The answer to an append that is committed."""
    end = append.after_seq + len(append.entries)
    return Appended(append.fence, end, append.entries[-1].hash if append.entries else append.after_hash, end)
