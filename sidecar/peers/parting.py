"""When something that is owned may be forgotten here: a handoff that has ended, was given up, or only waits.

It stays owned by its journal; whoever has something to do for it claims it anew, which costs a few messages. Until
then it costs nothing: no memory, no timer. What a voter still lacks keeps it, because nobody else would send that.

The failure this prevents: memory that grows with every task that this sidecar ever ran, or that waits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sidecar.peers.circle import Circle

if TYPE_CHECKING:
    from sidecar.peers.hand import Hand


class Parting:
    """One hand's.

    Args:
        circle: says how long an end is kept for what may follow it.
        hand: that will be dropped.

    Attributes:
        resting: nobody here has anything to do for it.
    """

    def __init__(self, circle: Circle, hand: Hand) -> None:
        self.resting = False
        self._circle, self._hand = circle, hand
        self._timer: asyncio.TimerHandle | None = None

    def rest(self) -> None:
        """Nobody here has anything to do for it from now on."""
        self.resting = True
        self.look()

    def look(self) -> None:
        """A voter has answered, or something else may have made it superfluous."""
        hand = self._hand
        over = self.resting or hand.proposer.ended or hand.standing.given_up
        if over and self._timer is None and hand.lost is None and hand.complete:
            pause = 0.0 if self.resting else self._circle.linger_s
            self._timer = asyncio.get_running_loop().call_later(pause, self._part, len(hand.log))

    def stop(self) -> None:
        """It is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _part(self, end: int) -> None:
        self._timer = None
        hand = self._hand
        if hand.lost is None and hand.complete and end == len(hand.log):
            hand.drop(hand.standing.refusal("fenced", hand.fence))
        else:
            self.look()
