"""Acknowledged appends survive any minority of lost disks.

When an owner's rules call a position committed, a majority of the voters' *disks* has it: so whatever minority is
lost afterwards, every later owner has it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.world import World


class AcknowledgedEntriesSurvive(Checker):
    """The last committed entry of each task, which has all others before it in its chain."""

    name = "acknowledged entries survive"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, tuple[int, str]] = {}

    def committed(self, hand: Hand, seq: int) -> None:
        digest = hand.log[seq - 1].hash
        have, ids = 0, self.world.voter_ids
        for identity in ids:
            voter = self.world.voter_hosts[identity].voter
            if voter is None:
                continue
            if voter.disk.identity != identity:
                # It had the entry, or it would not count among those that said so; now its disk is lost.
                have += 1
            elif voter.durable(hand.task).hash_at(seq) == digest:
                have += 1
        if 2 * have <= len(ids):
            raise self.broken(f"{hand.task}: entry {seq} is called committed, {have} of {len(ids)} disks have it")
        self.books[hand.task] = max(self.books.get(hand.task, (0, "")), (seq, digest))

    def owns(self, hand: Hand) -> None:
        seq, digest = self.books.get(hand.task, (0, ""))
        if seq and (seq > len(hand.log) or hand.log[seq - 1].hash != digest):
            raise self.broken(f"{hand.task}: entry {seq} was acknowledged, {hand.fence} does not have it")
