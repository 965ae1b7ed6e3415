"""How an owner stands with its voters: what each has taken under its fence, and whether they stand by it now.

``bridge.session`` says what makes reads fresh and lets effects begin; this shell tells it when each voter took an
append of a journal that had the fence's own ``claimed``, and asks for another where that is not enough any more.
The failure it must not add: a proof that was given to an earlier fence, or before the journal was this owner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.proposal import SendAppend
from bridge.quorum import Append, Appended, Refusal, Refused
from tests.simulation.kernel import MS

if TYPE_CHECKING:
    from tests.simulation.hand import Hand

FENCED_MS = 700


class Standing:
    """One hand's.

    Attributes:
        opened: position of the fence's own ``claimed``.
        fenced: some voter has promised more, and takes nothing under this fence any more.
        lapsed: its lease does not live, as was seen last.
        heard_us: when it last heard of a voter.
        wanted: the operator's command to change its voters.
    """

    def __init__(self, hand: Hand) -> None:
        self.opened = 0
        self.wanted: dict[str, list[str]] | None = None
        self.fenced = self.lapsed = False
        self.heard_us = self._well_us = hand.car.kernel.now
        self._hand = hand
        self._proven_ms: dict[str, int] = {}
        self._acked: dict[str, int] = {}

    def answered(self, sent_ms: int, voter: str, answer: object) -> None:
        """A voter has answered what was sent at ``sent_ms``."""
        self.heard_us = self._hand.car.kernel.now
        if isinstance(answer, Appended):
            self._acked[voter] = max(self._acked.get(voter, 0), answer.seq)
            if answer.seq >= self.opened:
                self._proven_ms[voter] = max(self._proven_ms.get(voter, 0), sent_ms)
        elif isinstance(answer, Refused) and answer.reason is Refusal.FENCED:
            self.fenced = True
            self._hand.car.promised(self._hand.task, answer.promised.n)

    def silent(self) -> bool:
        """Whether something was not answered for longer than it takes."""
        hand, car = self._hand, self._hand.car
        patience = car.patience_us if not hand.settled else 8 * car.patience_us
        if car.kernel.now - self.heard_us <= patience:
            return False
        silent = not hand.settled or self._behind() or hand.proposer.changing
        if silent:
            self.heard_us = car.kernel.now
        return silent

    def _behind(self) -> bool:
        end = len(self._hand.log)
        return any(self._acked.get(each, 0) < end for each in self._hand.proposer.voters)

    def hopeless(self) -> bool:
        """Whether an owner should claim anew, above the fence that some voter has promised.

        That voter never takes this fence again, and its host shows nothing new for as long as this owner lives; if
        the others are silent, nothing is committed either, and nothing is fresh: such an owner neither acts nor
        gives up a run that hangs. A new claim needs only those that answer.
        """
        now = self._hand.car.kernel.now
        well = self._hand.settled and not self._behind() and (self.lapsed or self.fresh())
        if well or not self.fenced:
            self._well_us = now
        return now - self._well_us > FENCED_MS * MS

    def change_due(self) -> bool:
        """Whether the operator's command can be carried out now."""
        hand = self._hand
        return self.wanted is not None and hand.settled and not hand.proposer.changing and hand.fresh()

    def taken_over(self) -> dict[str, list[str]]:
        """What names the voters that were wanted; from now on nothing is."""
        assert self.wanted is not None
        wanted, self.wanted = self.wanted, None
        self._hand.car.kernel.fired["voters changed"] += 1
        return wanted

    def look(self) -> None:
        """See whether the lease lives, and ask for what is missing where it does."""
        hand, car = self._hand, self._hand.car
        lapsed = not car.session.may_write(hand.sets)
        car.kernel.fired["lease lapsed"] += lapsed and not self.lapsed
        self.lapsed = lapsed
        if not lapsed and not self.fresh():
            self.prove(hand.proposer.voters)

    def fresh(self) -> bool:
        """Whether effects may begin and reads are fresh."""
        return self._hand.car.session.may_act(self._hand.sets, self._proven_ms)

    def prove(self, voters: Sequence[str]) -> None:
        """Ask voters to take an empty append, which only the owner can make them do."""
        hand = self._hand
        at = hand.log[hand.committed - 1]
        for voter in voters:
            append = Append(hand.task, hand.fence, at.seq, at.hash, (), hand.committed)
            hand.car.ask(hand, SendAppend(voter, append))
