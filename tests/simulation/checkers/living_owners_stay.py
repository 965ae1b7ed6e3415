"""A living owner is not disturbed by a candidate that cannot win; nobody wins while the owner counts on its lease.

No voter is sent a claim before a majority has said that it would grant it, and a claim that is refused changes
nothing. And as long as an owner believes that
it may act, no other session has a majority of grants above its fence. An owner that let go of the handoff or of
its session, or that is dead, believes nothing; and where clocks stop no lease protects anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.proposal import ClaimAnswered, Event, PreVoted
from bridge.quorum import Granted, Refused
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.journal import Fence
    from bridge.voterset import Voters
    from tests.simulation.voter import Asked, Voter
    from tests.simulation.world import World

Key = tuple[str, "Fence"]


def majority(sets: tuple[Voters, ...], yes: dict[str, bool]) -> bool:
    """Whether more than half of every voter set said yes."""
    return all(2 * sum(each in yes for each in voters) > len(voters) for voters in sets)


class LivingOwnersStay(Checker):
    """Books of each candidate's voter sets, of the voters that would grant its fence, and of those that did."""

    name = "living owners stay"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.given: dict[Key, tuple[Voters, ...]] = {}
        self.willing: dict[Key, dict[str, bool]] = {}
        self.grants: dict[Key, dict[str, bool]] = {}

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if not isinstance(answer, PreVoted | ClaimAnswered):
            return
        key = (task, answer.fence)
        if key not in self.given:
            # What it begins with: an adopted journal may name voters beyond those.
            candidate = self.world.sidecar_of(answer.fence.session)
            hand = candidate.hands.get(task) if candidate is not None else None
            if hand is None or hand.fence != answer.fence:
                return  # it has gone before it was heard
            self.given[key] = hand.sets
        if isinstance(answer, ClaimAnswered) and not majority(self.given[key], self.willing.get(key, {})):
            raise self.broken(
                f"{task}: {answer.fence} is claimed at {voter.process.name}, no majority would grant it"
            )
        if isinstance(answer.answer, Refused) and answer.voter == voter.disk.identity:
            promised = voter.stored(task).view.promised
            if promised != answer.answer.promised:
                raise self.broken(f"{task}: {voter.process.name} refuses {answer.fence}, and promises {promised}")
        if isinstance(answer.answer, Granted):
            books = self.willing if isinstance(answer, PreVoted) else self.grants
            books.setdefault(key, {})[answer.voter] = True
            if books is self.grants:
                self._won(task, answer.fence, self.grants[key])

    def _won(self, task: str, fence: Fence, yes: dict[str, bool]) -> None:
        if self.world.wild_clocks:
            return
        for car in self.world.sidecars:
            owner = car.hands.get(task)
            if owner is None or not car.alive or owner.fence.session == fence.session or owner.fence > fence:
                continue  # below an owner's fence grants of long ago and of now may be a majority, and win nothing
            if majority(owner.sets, yes) and owner.fresh():
                raise self.broken(f"{task}: {fence} is granted by a majority, {owner.fence} counts on its lease")
