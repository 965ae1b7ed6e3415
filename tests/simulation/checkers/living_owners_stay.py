"""A living owner is not disturbed by a candidate that cannot win; nobody wins while the owner counts on its lease.

No voter is sent a claim before a majority has said that it would grant it. And as long as an owner believes that
it may act, no other session has a majority of grants above its fence. An owner that let go of the handoff or of
its session, or that is dead, believes nothing; and where clocks stop no lease protects anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.proposal import ClaimAnswered, Event, PreVoted
from bridge.quorum import Granted
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.journal import Fence
    from tests.simulation.voter import Asked, Voter
    from tests.simulation.world import World

Books = dict[tuple[str, "Fence"], dict[str, bool]]


class LivingOwnersStay(Checker):
    """Books of the voters that would grant each fence, and of those that did."""

    name = "living owners stay"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.would: Books = {}
        self.did: Books = {}

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if not isinstance(answer, PreVoted | ClaimAnswered):
            return
        key = (task, answer.fence)
        if isinstance(answer, ClaimAnswered) and not self._majority(self.would.get(key, {})):
            raise self.broken(
                f"{task}: {answer.fence} is claimed at {voter.process.name}, no majority would grant it"
            )
        if isinstance(answer.answer, Granted):
            books = self.would if isinstance(answer, PreVoted) else self.did
            yes = books.setdefault(key, {})
            yes[answer.voter] = True
            if books is self.did and self._majority(yes):
                self._won(task, answer.fence)

    def _majority(self, yes: dict[str, bool]) -> bool:
        ids = self.world.voter_ids
        return 2 * sum(each in yes for each in ids) > len(ids)

    def _won(self, task: str, fence: Fence) -> None:
        if self.world.wild_clocks:
            return
        for car in self.world.sidecars:
            owner = car.hands.get(task)
            if owner is None or not car.alive or owner.fence.session == fence.session or owner.fence > fence:
                continue  # below an owner's fence grants of long ago and of now may be a majority, and win nothing
            if owner.fresh():
                raise self.broken(f"{task}: {fence} is granted by a majority, {owner.fence} counts on its lease")
