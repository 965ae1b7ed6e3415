"""Once a review is committed nothing runs and nothing resets it until an operator has resolved it.

A client's cancel may end it. An owner that has not yet heard of the review is fenced before it can record that it
asks an agent for anything, unless its clock stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import Entry, Kind
from bridge.jsontext import parse_stored
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.world import World

WAITING = (Kind.CLAIMED, Kind.INPUT, Kind.CANCEL, Kind.ANSWERED, Kind.PUSH, Kind.VOTERS)


class ReviewWaitsForAnOperator(Checker):
    """The review that each task waits for, and whether its client has wished to cancel it."""

    name = "a review waits for an operator"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, Entry] = {}
        self.canceled: dict[str, bool] = {}
        self.looked: dict[str, int] = {}

    def committed(self, hand: Hand, seq: int) -> None:
        since = self.looked.get(hand.task, 0)
        for entry in hand.log[since:seq]:
            self._follow(hand.task, entry)
        self.looked[hand.task] = max(since, seq)

    def _follow(self, task: str, entry: Entry) -> None:
        review = self.books.get(task)
        if entry.kind is Kind.CANCEL:
            self.canceled[task] = True
        if review is not None and entry.kind not in WAITING:
            resolved = entry.kind is Kind.RESOLVED and parse_stored(entry.body or b"{}")["by"] == "operator"
            if not resolved and not (entry.kind is Kind.CANCELED and self.canceled.get(task)):
                raise self.broken(f"{task}: {entry.kind} at {entry.seq} ends the review at {review.seq}")
            del self.books[task]
        elif entry.kind is Kind.REVIEW:
            self.books[task] = entry

    def requests(self, hand: Hand, what: str) -> None:
        review = self.books.get(hand.task)
        if review is None or what == "cancel":
            return
        heard = review.seq <= len(hand.log) and hand.log[review.seq - 1].hash == review.hash
        if heard or not self.world.wild_clocks:
            raise self.broken(f"{hand.task}: {hand.fence} asks its agent to {what}, review {review.seq} waits")
