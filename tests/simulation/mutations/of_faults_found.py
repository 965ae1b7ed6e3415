"""What simulated worlds once found, broken anew: each fix is taken back, and the worlds must find the fault again.

A seed is a world only as long as the order in which a world asks for chance stays as it is; so what is kept of a
seed that failed is its story, which is the name, and what was wrong, which is the edit.
"""

from __future__ import annotations

from tests.simulation.mutations.mutation import IN_CHUNKS, OWN, Edit, Mutation, Worlds

SIDECAR, STANDING = "tests.simulation.sidecar", "tests.simulation.standing"

FAULTS_FOUND = (
    Mutation(
        "a record of a replacement travels without it",
        "replacements have their record",
        (
            Edit(
                "bridge.catchup",
                "while after < end < len(log) and log[end - 1].kind is Kind.REWOUND:",
                "while False:",
            ),
        ),
        IN_CHUNKS,
    ),
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
        Worlds(on=("move",), having={"voters": 3}),
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
        "an owner that some voter has fenced does not claim anew",
        "every task finishes",
        (Edit(STANDING, "return now - self._well_us > FENCED_MS * MS", "return False"),),
        Worlds(having={"voters": 3}),
    ),
    Mutation(
        "who is behind the member list dispatches by it",
        "every task finishes",
        (Edit(SIDECAR, "if self._behind_list() and task", "if False and task"),),
        Worlds(on=("disk_lost",), having={"voters": 3}),
    ),
    Mutation(
        "an only voter does not call its own journal all that was shown",
        "every task finishes",
        (
            Edit(
                "tests.simulation.front",
                "if voter is None or voter.knows_all",
                "if voter is None or False and voter.knows_all",
            ),
        ),
        Worlds(having={"pair": True}),
    ),
)
