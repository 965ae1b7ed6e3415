"""Rules of what clients are shown, broken."""

from __future__ import annotations

from tests.simulation.mutations.mutation import THREE, Edit, Mutation, Worlds

FRONT = "tests.simulation.front"

FRONTS = (
    Mutation(
        "shown before it is committed",
        "shown entries are kept",
        (Edit(FRONT, "return hand.log, hand.committed, True", "return hand.log, len(hand.log), True"),),
        THREE,
    ),
    Mutation(
        "a restarted front believes its own disk",
        "reads never go back",
        (Edit(FRONT, "known = self.knows_all(task) or self.car.sweep.ended(task, committed)", "known = True"),),
        THREE,
    ),
    Mutation(
        "every owner calls its reads fresh",
        "nothing without a majority",
        (Edit(FRONT, "fresh = hand is not None and hand.tells()", "fresh = hand is not None and hand.owner"),),
        Worlds(off=("freeze",), having={"outage": True}),
    ),
    Mutation(
        "a stream begins anew behind what was seen",
        "stream equals task",
        (Edit(FRONT, "follower.cursor = max(follower.cursor, upto)", "follower.cursor = upto + 1"),),
    ),
)
