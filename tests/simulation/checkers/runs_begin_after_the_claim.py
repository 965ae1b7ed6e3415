"""No agent is asked for anything by an owner whose claim is not committed, nor for what is not recorded.

Recorded is a run by its ``bound`` entry, an effect by its intent. Whoever acts before its claim is committed acts
beside another that may be owner; what is begun before its record is committed is known to no later owner. Claims
and records are looked for on the voters' disks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import Entry, Kind
from tests.simulation.checkers.disks import missing
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.world import World


class RunsBeginAfterTheClaim(Checker):
    """Claims that were found committed: what is committed once is so for ever."""

    name = "runs begin after the claim"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, bool] = {}

    def requests(self, hand: Hand, what: str) -> None:
        claims = [each for each in hand.log if each.kind is Kind.CLAIMED and each.fence == hand.fence]
        if not claims or not self._is_committed(hand, claims[0]):
            raise self.broken(f"{hand.task}: {hand.fence} asks its agent to {what}, its claim is not committed")
        if what == "begin":
            bound = next(each for each in reversed(hand.log) if each.kind is Kind.BOUND)
            if bound.fence != hand.fence or not self._is_committed(hand, bound):
                raise self.broken(f"{hand.task}: {hand.fence} begins a run that nobody has recorded")
        elif what.startswith("do "):
            key = what.removeprefix("do ").encode()
            intents = [each for each in hand.log if each.kind is Kind.STEP and each.body and key in each.body]
            if not intents or not self._is_committed(hand, intents[0]):
                raise self.broken(f"{hand.task}: {hand.fence} lets its agent {what}, which nobody has recorded")

    def _is_committed(self, hand: Hand, entry: Entry) -> bool:
        if entry.hash in self.books:
            return True
        # It may have been committed before the voters were to change.
        if not all(missing(self.world, hand.task, log, 0, entry.seq) for log in (hand.log[: entry.seq], hand.log)):
            self.books[entry.hash] = True
        return entry.hash in self.books
