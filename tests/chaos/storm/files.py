"""What the hosts' files say after a storm, read with SQL alone: nothing of the product's code judges it.

Within a file: positions without a gap, a chain of hashes, fences that grow, each begun by a claim, one terminal
and nothing but seals behind it. Between files: what two hosts have committed is the same. In the end every host
has every task, to its end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

TERMINAL = {"completed", "failed", "canceled", "rejected", "reply", "expired"}
AFTER_THE_END = {"claimed", "voters", "answered"}
MEMBERS = "members"


class Line(NamedTuple):
    """One entry as a file has it."""

    seq: int
    n: int
    session: str
    kind: str
    prev: bytes
    hash: bytes


def disagreements(stores: Sequence[Path]) -> list[str]:
    """Whatever is wrong within the files or between them, for people; nothing where all is well."""
    found: list[str] = []
    journals = [_journals(store) for store in stores]
    for store, journal in zip(stores, journals, strict=True):
        for task, lines in journal.items():
            found += [f"{store.name}: task {task}: {each}" for each in _wrong(lines)]
    for task in sorted(set().union(*journals)):
        copies = [journal.get(task, []) for journal in journals]
        shortest = min(copies, key=len)
        for store, copy in zip(stores, copies, strict=True):
            if [each.hash for each in copy[: len(shortest)]] != [each.hash for each in shortest]:
                found.append(f"{store.name}: task {task}: committed otherwise than at another host")
            if not any(each.kind in TERMINAL for each in copy):
                found.append(f"{store.name}: task {task}: has no end here ({len(copy)} entries)")
    return found


def _journals(store: Path) -> dict[str, list[Line]]:
    file = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        known = file.execute(
            "SELECT id, task, committed FROM handoffs WHERE committed > 0 AND task != ?", (MEMBERS,)
        )
        return {task: list(_lines(file, number, committed)) for number, task, committed in known.fetchall()}
    finally:
        file.close()


def _lines(file: sqlite3.Connection, number: int, committed: int) -> Iterator[Line]:
    first = number << 32
    rows = file.execute(
        "SELECT position - ?, fence_n, fence_session, kind, prev, hash FROM entries "
        "WHERE position > ? AND position <= ? ORDER BY position",
        (first, first, first + committed),
    )
    return (Line(*row) for row in rows.fetchall())


def _wrong(lines: list[Line]) -> Iterator[str]:
    if [each.seq for each in lines] != list(range(1, len(lines) + 1)):
        yield "there are gaps"
    for a, b in pairwise(lines):
        if b.prev != a.hash:
            yield f"entry {b.seq} does not follow entry {a.seq}"
        if (b.n, b.session) != (a.n, a.session) and b.n <= a.n:
            yield f"fence {b.n} of {b.session} stands after fence {a.n} of {a.session}"
        if (b.n, b.session) != (a.n, a.session) and b.kind != "claimed":
            yield f"entry {b.seq} ({b.kind}) begins fence {b.n}, and is no claim"
    ends = [each for each in lines if each.kind in TERMINAL]
    if len(ends) > 1:
        yield f"it has {len(ends)} ends"
    for each in lines[ends[0].seq :] if ends else ():
        if each.kind not in AFTER_THE_END:
            yield f"entry {each.seq} ({each.kind}) stands after the end"
