"""What an owner holds back while it cannot reach its voters, and what of that it may still say afterwards.

While its lease has lapsed the run goes on, its output is buffered and unshown. When contact returns the session
claims anew and compares: only if what it adopted is its own journal, continued by nobody else, does the buffered
output still follow from it. What had reached a voter before the lapse, or under an earlier attempt to come back,
may stand in there already, and is not said twice. The failure this prevents: output of a run that another owner
has meanwhile replaced, appended to the other run's as if they were one.

This file must not know about leases or where output comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from bridge.journal import Draft, Entry, Kind, Tip
from bridge.jsontext import parse_stored

BUFFERED_BYTES_MAX = 16 << 20

FROM_OUTSIDE: Final = (Kind.INPUT, Kind.CANCEL, Kind.ANSWERED, Kind.PUSH, Kind.VOTERS)
"""Entries that anybody may bring at any time and that no run wrote: output before and behind them still fits."""


class HeldOutput:
    """An owner's output since it lapsed.

    Args:
        base: the end of what its voters had acknowledged.
        bytes_max: bound of all held bodies together.
        proposed: what the owner had appended behind that: it may have reached a voter, or not. A change of voters
            among it is not said again: it was a command, which is given again, and no fence opens with one.

    Attributes:
        drafts: held back, in order.
    """

    def __init__(self, base: Tip, bytes_max: int = BUFFERED_BYTES_MAX, proposed: Sequence[Draft] = ()) -> None:
        self.drafts = [draft for draft in proposed if draft.kind is not Kind.VOTERS]
        self._base, self._bytes_max, self._bytes = base, bytes_max, 0

    def hold(self, *drafts: Draft) -> bool:
        """Take more; False, and none of it was taken, where there is no room: the run has to be held up.

        Args:
            drafts: what belongs together, in order.
        """
        size = self._bytes + sum(len(draft.body) for draft in drafts)
        if size > self._bytes_max:
            return False
        self.drafts.extend(drafts)
        self._bytes = size
        return True

    def flushable(self, session: str, adopted: Sequence[Entry]) -> list[Draft] | None:
        """What still has to be appended behind the journal that the session adopted under its new fence.

        Returns:
            The drafts that are not in it yet; None where somebody else has gone on: then nothing of it may be
            shown, and the run is to be stopped.
        """
        at = self._base.seq
        if [entry.hash for entry in adopted[at - 1 : at]] != [self._base.hash]:
            return None
        rest, before = list(self.drafts), Kind.BOUND
        for entry in adopted[at:]:
            own = entry.fence.session == session
            if own and rest and (entry.kind, entry.body_hash) == (rest[0].kind, _hash(rest[0])):
                rest.pop(0)
            elif entry.kind not in FROM_OUTSIDE and not (own and _reopens(entry, before)):
                return None
            before = entry.kind
        return rest


def _reopens(entry: Entry, before: Kind) -> bool:
    # What an earlier attempt to come back wrote besides: its claim, and that the run is bound as before.
    if entry.kind is Kind.BOUND and before is Kind.CLAIMED:
        return parse_stored(entry.body or b"{}").get("fresh") is not True
    return entry.kind is Kind.CLAIMED


def _hash(draft: Draft) -> str:
    return sha256(draft.body).hexdigest()
