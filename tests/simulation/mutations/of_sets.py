"""Rules of voter sets, broken: whose majority counts during a change, and where a handoff is placed."""

from __future__ import annotations

from tests.simulation.mutations.mutation import Edit, Mutation, Worlds

VOTERSET = "bridge.voterset"
MOVED = Worlds(on=("move",), having={"voters": 3})
BOTH = "return tuple(dict.fromkeys((*self._before, self.newest)))"

SETS = (
    Mutation(
        "voters under the old majority only",
        "acknowledged entries survive",
        (Edit(VOTERSET, BOTH, "return tuple(self._before)"),),
        MOVED,
    ),
    Mutation(
        "voters under the new majority only",
        "acknowledged entries survive",
        (Edit(VOTERSET, BOTH, "return (self.newest,)"),),
        MOVED,
    ),
    Mutation(
        "entries after a change of voters counted early",
        "acknowledged entries survive",
        (
            Edit(
                "bridge.proposer",
                "if has_majority(self._needed, shipping.acked(seq))\n",
                "if has_majority(\n"
                "                (self._sets.newest,) if seq > self._sets.since > 0 else self._needed,\n"
                "                shipping.acked(seq),\n"
                "            )\n",
            ),
        ),
        MOVED,
    ),
    Mutation(
        "of a pair the owner's own host need not agree",
        "one session per fence",
        (
            Edit(
                "bridge.placement",
                "return (owner,), (second if owner == first else first,)",
                "return ((second if owner == first else first,),)",
            ),
        ),
        Worlds(having={"pair": True}),
    ),
)
