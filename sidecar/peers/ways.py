"""What is on its way from one owner to one voter, and whether more should be sent.

Appends are pipelined up to a window. What goes beyond it, and whatever fails, counts as lost; nothing is kept for
a voter but the journal itself, and once nothing is under way any more the rules send again from where it stands. A
refusal for a gap waits for that moment too, because everything behind a gap is refused for the same one. Who does
not answer is asked ever more rarely.

This file must not know what an answer means. The failures it prevents: a slow or dead voter for which memory
grows, and a storm of catch-ups after one lost append.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from bridge.quorum import Append, Refused

WINDOW_BYTES = 1 << 20
WINDOW_APPENDS = 512
PAUSE_FIRST_S, PAUSE_NEEDED_S, PAUSE_MOST_S = 0.04, 0.4, 2.0


@dataclass(slots=True)
class Way:
    """One owner's way to one voter.

    Attributes:
        appends, size: how many appends are unanswered, and their bytes.
        asked: how many other requests are unanswered.
        stale: something that the rules believe to be sent was lost.
        failing: the last answer was none.
        again_at: not to be asked before then, while it fails (the loop's clock).
        gap: the last refusal for a gap, not yet told to the rules.
        word: a position to be told as committed, soon, unless an entry goes before that.
        proving: an append is to prove the ownership to it, though it lacks nothing.
    """

    appends: int = 0
    size: int = 0
    asked: int = 0
    stale: bool = False
    failing: bool = False
    again_at: float = 0.0
    gap: Refused | None = None
    word: Append | None = None
    proving: bool = False
    _pause: float = 0.0

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not self.appends and not self.asked

    @property
    def full(self) -> bool:
        """Nothing more should be sent before something is answered."""
        return self.stale or self.appends >= WINDOW_APPENDS or self.size >= WINDOW_BYTES

    @property
    def wants(self) -> bool:
        """The voter may lack something, and nothing under way will show it."""
        return (self.stale or self.failing or self.proving) and self.idle

    def failed(self, now: float, *, needed: bool) -> None:
        """What was sent was not answered.

        Args:
            now: by the loop's clock.
            needed: something is not committed yet, perhaps for want of this voter.
        """
        self.stale = self.failing = True
        self._pause = min(max(PAUSE_FIRST_S, 2 * self._pause), PAUSE_NEEDED_S if needed else PAUSE_MOST_S)
        self.again_at = now + self._pause * random.uniform(0.75, 1.25)  # noqa: S311 - spreads, hides nothing

    def answered(self) -> None:
        """The voter is there."""
        if self._pause:
            self.failing, self._pause, self.again_at = False, 0.0, 0.0

    def hasten(self) -> None:
        """The voter is said to be there again."""
        self._pause = self.again_at = 0.0
