"""What a fence may append to the journal that it adopted: its own ``claimed`` first, and after the end only seals.

A terminal that stands in an adopted journal, committed or not, is the end: its new owner *seals* it by committing
its own ``claimed`` behind it, and then it knows that the end is committed. It never runs the task again, and it
never writes an end of its own. The failures this prevents: two ends of one handoff; and an end that was shown
because a majority "has" it, though under an older fence, and then lost to a journal with a newer one.

What entries mean beyond that is ``handoff``'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import TERMINAL, Entry, Fence, Kind, Tip, chain
from bridge.proposal import Opened

AFTER_END: Final = (Kind.VOTERS, Kind.ANSWERED)
"""What may follow an end besides ``claimed``: nothing that a client could see."""


def ended(entries: Iterable[Entry]) -> bool:
    """Whether a journal holds its terminal entry."""
    return any(entry.kind in TERMINAL for entry in entries)


def opening(adopted: Sequence[Entry]) -> list[Kind]:
    """The kinds that a new fence begins with, before it may act."""
    return [Kind.CLAIMED] if adopted else [Kind.DISPATCHED, Kind.CLAIMED]


def check_drafts(fence: Fence, head: Sequence[Kind], kinds: Sequence[Kind], *, end: bool) -> bool:
    """Check what an owner wants to append.

    Args:
        fence: under which.
        head: the opening that is still to come, empty once it stands.
        kinds: of the drafts.
        end: the journal holds its terminal.

    Returns:
        Whether the journal holds its terminal afterwards.

    Raises:
        InvariantViolation: the fence does not open with its ``claimed``, claims again, or goes on after the end.
    """
    if list(kinds[: len(head)]) != list(head):
        raise InvariantViolation(f"fence {fence.n} does not open with {list(head)}")
    for kind in kinds[len(head) :]:
        if kind is Kind.CLAIMED or (end and kind not in AFTER_END):
            raise InvariantViolation(f"fence {fence.n} appends {kind}{' after the end' if end else ' again'}")
        end = end or kind in TERMINAL
    return end


def continued(tip: Tip, fence: Fence, event: Opened) -> list[Entry]:
    """The entries that an owner's journal continues with: chained here, or as the owner has chained them.

    Args:
        tip: where its journal ends.
        fence: under which.
        event: what it wants to append.

    Raises:
        BrokenChain: an entry that was ready has another fence, or does not follow from what is before it. Its
            hash is its owner's to compute, and ``verify``'s to check.
    """
    if not event.ready:
        return chain(tip, fence, event.at, event.drafts)
    seq, prev = tip.seq, tip.hash
    for entry in event.ready:
        seq += 1
        if entry.seq != seq or entry.prev != prev or entry.fence != fence:
            raise BrokenChain(entry.seq, f"fence {fence.n} does not continue entry {seq - 1} with it")
        prev = entry.hash
    return list(event.ready)
