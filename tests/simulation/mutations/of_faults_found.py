"""What simulated worlds once found, broken anew: each fix is taken back, and the worlds must find the fault again.

A seed is a world only as long as the order in which a world asks for chance stays as it is; so what is kept of a
seed that failed is its story, which is the name, and what was wrong, which is the edit.
"""

from __future__ import annotations

from tests.simulation.mutations.mutation import OWN, Edit, Mutation, Worlds

FAULTS_FOUND = (
    Mutation(
        "a change of voters is flushed as if it were output",
        OWN,
        (
            Edit(
                "bridge.lapse",
                "[draft for draft in proposed if draft.kind is not Kind.VOTERS]",
                "list(proposed)",
            ),
        ),
        Worlds(story="voters_change"),
        seeds_max=20,
    ),
    Mutation(
        "members that are lost keep a new list from being used",
        "every task finishes",
        (
            Edit(
                "bridge.placement",
                "sum(member not in holders and member not in lost for member in old.members)",
                "sum(member not in holders for member in old.members)",
            ),
        ),
        Worlds(on=("disk_lost",), having={"voters": 3, "sidecars": 5}),
    ),
    Mutation(
        "a replayed answer that was sent is forgotten",
        "every task finishes",
        (Edit("bridge.a2a.reconcile", "self._told.stands_at", "self._told.pending"),),
        Worlds(on=("request_lost", "agent_kill")),
    ),
)
