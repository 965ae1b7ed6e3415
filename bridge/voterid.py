"""Which voter a stored file is: its vote belongs to what it remembers, not to the host that it stands on.

A majority is worth something because each of its voters still has what it said yes to. A file that came back
empty, from an old copy, or twice has forgotten some of that, so it is another voter: it mints a new random id, and
under that id it has no vote until a ``voters`` entry admits it. The failure this prevents: an acknowledged entry
that a majority "has" while one of them has lost it, and a second dispatch of a task that was finished.

The id stands in the file. ``place`` is the shell's word for where that file physically is (host, device, inode):
it tells a copy from the original. What no file can tell by itself is an old copy put back *in place*, or a whole
machine put back: the one who restores has to say so.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.quorum import Refusal, Refused, VoterView


class VoterFile(NamedTuple):
    """Who a voter's file says that it is.

    Attributes:
        id: random; what voter sets name.
        place: where the file was when it took that id.
    """

    id: str
    place: str


def recognised(stored: VoterFile | None, place: str, fresh_id: str, *, restored: bool = False) -> VoterFile:
    """Who the voter with this file is from now on; stored in the file before its first answer.

    Args:
        stored: what the file says; None where it is empty.
        place: where the file is now.
        fresh_id: a random id, used if the file cannot keep its own.
        restored: whoever put the file there says that it is an old copy.
    """
    if stored is None or restored or stored.place != place:
        return VoterFile(fresh_id, place)
    return stored


def misdirected(view: VoterView, asked: str, me: str) -> Refused | None:
    """A voter's answer to a request that names another id than its own; None where it is meant.

    Asked before any other rule: what it has promised or stored is another voter's word.
    """
    if asked == me:
        return None
    return Refused(Refusal.UNKNOWN_VOTER, view.promised, view.tip, view.committed)
