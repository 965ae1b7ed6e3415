"""How an owner stands with its voters: what each has taken under its fence, and whether they stand by it now.

``bridge.session`` says what makes reads fresh and lets effects begin; this file notes when each voter took an
append of a journal that had the fence's own ``claimed``. The failure it must not add: a proof that was given to an
earlier fence, or before the journal was this owner's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bridge.journal import Fence, genesis
from bridge.quorum import Appended, Granted, Refusal, Refused

_REASONS = {each.value: each for each in Refusal}

FENCED_MS = 700
"""How long a fenced owner goes on without a claim anew: a candidate that can win has done so by then."""


class Standing:
    """One fence's.

    Args:
        task: which handoff's.
        now_ms: by the sidecar's own monotonic clock.

    Attributes:
        opened: position of the fence's own ``claimed``; 0 before it is written.
        fenced: some voter has promised more, and takes nothing under this fence any more.
        given_up: the owner has written ``orphaned`` or ``resolved``: others may have it before it hears that this
            is committed.
        tip: the most advanced journal that a voter has named, for orientation.
    """

    def __init__(self, task: str, now_ms: int) -> None:
        self.opened = 0
        self.fenced = self.given_up = False
        self.tip: Granted | Refused | None = None
        self._task = task
        self._proven_ms: dict[str, int] = {}
        self._acked: dict[str, int] = {}
        self._knows: dict[str, int] = {}
        self._well_ms = now_ms

    @property
    def proven_ms(self) -> Mapping[str, int]:
        """When each voter was sent the last append that proves the ownership to it."""
        return self._proven_ms

    def answered(self, voter: str, sent_ms: int, answer: Appended | Granted | Refused) -> None:
        """A voter has answered what was sent to it then."""
        if isinstance(answer, Appended):
            self._acked[voter] = max(self._acked.get(voter, 0), answer.seq)
            self._knows[voter] = max(self._knows.get(voter, 0), answer.committed)
            if 0 < self.opened <= answer.seq:
                self._proven_ms[voter] = max(self._proven_ms.get(voter, 0), sent_ms)
            return
        if self.tip is None or (answer.tip.fence, answer.tip.seq) > (self.tip.tip.fence, self.tip.tip.seq):
            self.tip = answer
        if isinstance(answer, Refused) and answer.reason is Refusal.FENCED:
            self.fenced = True

    def acked(self, voter: str) -> int:
        """Up to where a voter is known to have the journal under this fence."""
        return self._acked.get(voter, 0)

    def behind(self, voters: Sequence[str], end: int) -> bool:
        """Whether some voter is not known to have everything."""
        return any(self._acked.get(voter, 0) < end for voter in voters)

    def complete(self, voters: Sequence[str], end: int) -> bool:
        """Whether every voter has everything and knows that it is committed."""
        return all(self._acked.get(voter, 0) >= end <= self._knows.get(voter, 0) for voter in voters)

    def refusal(self, reason: str, promised: Fence) -> Refused:
        """Why the fence is over, as a voter would say it."""
        heard = self.tip
        tip, committed = (heard.tip, heard.committed) if heard is not None else (genesis(self._task), 0)
        # A prefix that is gone was cut for somebody else: a new fence is to be tried.
        return Refused(_REASONS.get(reason, Refusal.FENCED), promised, tip, committed)

    def hopeless(self, now_ms: int, *, well: bool) -> bool:
        """Whether an owner should claim anew, above the fence that some voter has promised.

        That voter never takes this fence again, and its host shows nothing new for as long as this owner lives; if
        the others are silent, nothing is committed either, and nothing is fresh: such an owner neither acts nor
        gives up a run that hangs. A new claim needs only those that answer.

        Args:
            now_ms: the sidecar's clock.
            well: all that was written is committed, every voter has it, and reads are fresh if the lease lives.
        """
        if not self.fenced or well:
            self._well_ms = now_ms
        return now_ms - self._well_ms > FENCED_MS
