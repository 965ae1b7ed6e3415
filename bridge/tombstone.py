"""What stays of a purged handoff: enough to refuse everything, so that no old copy can bring it back.

Only a handoff whose terminal is committed may be purged. Then every later owner's journal holds that end, nothing
but seals can follow it, and one voter's *purged* is the truth about the handoff whatever the other voters say. The
failure this prevents: a voter that has deleted a finished journal answering like one that never heard of it, and
the task being run a second time for a late repeat of its message.

Voters purge each by their own retention; a voter that missed the end may bury its copy on another's tombstone.
This file must not know how long anything is kept.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.journal import Tip
from bridge.quorum import Refusal, Refused, VoterView


class Tombstone(NamedTuple):
    """All that is left of a handoff.

    Attributes:
        task: public task id.
        tip: fence, position and hash of the last entry that was there.
    """

    task: str
    tip: Tip


def decide_purge(view: VoterView, task: str, terminal_seq: int) -> tuple[VoterView, Tombstone] | None:
    """Whether a voter may delete a handoff's entries.

    Args:
        view: what the voter knows.
        task: public task id.
        terminal_seq: position of the terminal entry in its journal, 0 without one.

    Returns:
        The view to store in the transaction that deletes the entries, and the tombstone; None, and nothing may be
        deleted, where no terminal is known to be committed. Of a purged handoff: what is there already.
    """
    if view.purged or 0 < terminal_seq <= view.committed:
        return view._replace(granted=None, purged=True), Tombstone(task, view.tip)
    return None


def bury(view: VoterView, tombstone: Tombstone) -> VoterView:
    """The view of a voter that learns of another's tombstone; it deletes its entries in the same transaction."""
    if view.purged:
        return view
    tip, promised = tombstone.tip, max(view.promised, tombstone.tip.fence)
    return VoterView(promised, tip, tip.seq, purged=True)


def tombstone_in(task: str, answer: Refused) -> Tombstone | None:
    """The tombstone that a refusal shows, if it does."""
    return Tombstone(task, answer.tip) if answer.reason is Refusal.PURGED else None
