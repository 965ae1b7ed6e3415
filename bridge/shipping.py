"""An owner's journal on its way to the voters: what each is known to have, and what it is sent next.

Appends to a voter that keeps up are pipelined: each new entry is sent at once. A voter that is behind gets one
bounded chunk after the other, each after the one before is acknowledged. Voters hear every new ``committed``
even when nothing follows it, and it counts as heard only when their answer says so. The failures this prevents:
a message that grows with the journal, and voters that never learn that a finished task's last entry is committed.

What an acknowledgement is worth (whose count together, and from which entry on) is ``proposer``'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bridge.catchup import Bounds, chunk
from bridge.errors import InvariantViolation
from bridge.journal import Entry, Fence, Tip, genesis, tip_of
from bridge.proposal import SendAppend
from bridge.quorum import Append, Appended, Granted, Refused


@dataclass(slots=True)
class _Copy:
    meets: int  # where its journal is believed to equal the owner's
    sent: int  # up to where it was sent, since then or since the last loss
    acked: int = 0  # up to where it acknowledged under this fence
    told: int = 0  # the committed position that it was sent last
    heard: int = 0  # the committed position that it is known to have


class Shipping:
    """The voters' copies of one owner's journal.

    Args:
        task: public task id.
        fence: of the owner.
        log: the owner's journal; it grows while this object looks at it.
        bounds: of one message.
    """

    def __init__(self, task: str, fence: Fence, log: list[Entry], bounds: Bounds) -> None:
        self._task, self._fence, self._log, self._bounds = task, fence, log, bounds
        self._copies: dict[str, _Copy] = {}

    def begin(self, voter: str, granted: Granted | None) -> None:
        """Take a voter in; without its grant its journal is believed to be all that was adopted."""
        # A wrong belief costs one refusal.
        meets = len(self._log) if granted is None else self._meets(granted)
        self._copies.setdefault(voter, _Copy(meets, meets))

    def grown(self, voters: Iterable[str], before: int, committed: int) -> list[SendAppend]:
        """Send what was added after a position to those that had been sent everything before it."""
        return [self._send(voter, before, committed) for voter in voters if self._copies[voter].sent == before]

    def catch_up(self, voters: Iterable[str], committed: int) -> list[SendAppend]:
        """What the first sending of an adopted journal, or a loss, leaves to send."""
        end = len(self._log)
        late = [each for each in voters if self._copies[each].acked < end or self.heard(each) < committed]
        return [self._send(voter, self._from(voter), committed) for voter in late]

    def acknowledged(self, voter: str, answer: Appended) -> None:
        """Note an acknowledgement.

        Raises:
            InvariantViolation: it acknowledges something that this owner did not send.
        """
        known = answer.seq <= len(self._log) and self._tip_at(answer.seq).hash == answer.hash
        if answer.fence != self._fence or not known:
            raise InvariantViolation(f"{self._task}: {voter} acknowledged entry {answer.seq}, which is not ours")
        copy = self._copies[voter]
        copy.acked, copy.heard = max(copy.acked, answer.seq), max(copy.heard, answer.committed)
        copy.sent = max(copy.sent, copy.acked)

    def follow_up(self, voters: Iterable[str], committed: int) -> list[SendAppend]:
        """The next chunks of those that are behind, and the word of ``committed`` for those that are not."""
        return [
            self._send(voter, self._copies[voter].acked, committed)
            for voter in voters
            if self._due(voter, committed)
        ]

    def gap(self, voter: str, answer: Refused, committed: int) -> SendAppend:
        """Start over where a voter that refused with a gap surely meets this journal."""
        self._copies[voter].meets = self._meets(answer)
        return self._send(voter, self._from(voter), committed)

    def acked(self, seq: int) -> tuple[str, ...]:
        """Voters that have acknowledged this position under this fence."""
        return tuple(voter for voter, copy in self._copies.items() if copy.acked >= seq)

    def positions(self, above: int) -> list[int]:
        """All positions above one that are acknowledged by somebody, highest first."""
        return sorted({copy.acked for copy in self._copies.values() if copy.acked > above}, reverse=True)

    def heard(self, voter: str) -> int:
        """The committed position that this voter is known to know."""
        copy = self._copies.get(voter)
        return copy.heard if copy else 0

    def _due(self, voter: str, committed: int) -> bool:
        copy = self._copies[voter]
        if copy.acked < copy.sent:
            return False  # something is under way, and its answer will bring us back here
        if copy.acked < len(self._log):
            return True
        return copy.told < committed and copy.heard < committed

    def _from(self, voter: str) -> int:
        copy = self._copies[voter]
        return max(copy.acked, copy.meets)

    def _meets(self, answer: Granted | Refused) -> int:
        # Its tip where that is an entry of ours; else what it knows to be committed, on which all journals agree.
        tip, end = answer.tip, len(self._log)
        same = tip.seq <= end and self._tip_at(tip.seq).hash == tip.hash
        return max(tip.seq if same else 0, min(answer.committed, end))

    def _tip_at(self, seq: int) -> Tip:
        return tip_of(self._task, self._log[seq - 1 : seq]) if seq else genesis(self._task)

    def _send(self, voter: str, after: int, committed: int) -> SendAppend:
        entries: Sequence[Entry] = chunk(self._log, after, self._bounds)
        copy = self._copies[voter]
        copy.sent, copy.told = after + len(entries), committed
        after_hash = self._tip_at(after).hash
        return SendAppend(voter, Append(self._task, self._fence, after, after_hash, entries, committed))
