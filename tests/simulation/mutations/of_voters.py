"""Rules of a voter, broken: what it answers to a claim and to an append, and when."""

from __future__ import annotations

from tests.simulation.mutations.mutation import IN_CHUNKS, RIVALS, THREE, Edit, Mutation, Worlds

QUORUM = "bridge.quorum"
VOTER = "tests.simulation.voter"
LOST = Worlds(on=("disk_lost",), having={"voters": 3})

SHORTER = "cut_from, tip = end + 1, Tip(append.entries[-1].fence, end, append.entries[-1].hash)"
COUNTED = "end = after_seq + len(append.entries)\n"
NOT_SKIPPED = Edit(
    QUORUM,
    "if entry.seq > tip.seq or _hash_at(view, append.task, entry.seq, stored_hash) != entry.hash:",
    "if True:",
)
CLAIMS_GROW = Edit("bridge.handoff", "if not first and entry.fence.n <= self.fence.n:", "if False:")
BELOW_COMMITTED = Edit(QUORUM, "if cut_from is not None and cut_from <= view.committed:", "if False:")

VOTERS = (
    Mutation(
        "append does not raise promised",
        "fences grow along a journal",
        (Edit(QUORUM, "max(view.promised, append.fence), tip", "view.promised, tip"),),
        THREE,
    ),
    Mutation(
        "a grant does not raise promised",
        "committed prefixes agree",
        (Edit(QUORUM, "view._replace(promised=claim.fence, granted", "view._replace(granted"),),
        RIVALS,
    ),
    Mutation(
        "a refusal raises promised",
        "living owners stay",
        (
            Edit(
                VOTER,
                "return ClaimAnswered(voter, claim.fence, vote)\n",
                "view = self.stored(task).view\n"
                "                    view = view._replace(promised=max(view.promised, claim.fence))\n"
                "                    self._write(task, self.stored(task)._replace(view=view))\n"
                "                    return ClaimAnswered(voter, claim.fence, vote)\n",
            ),
        ),
        THREE,
    ),
    Mutation(
        "one fence for two claimants",
        "one session per fence",
        (
            Edit(
                QUORUM,
                "if claim.fence.n <= view.promised.n and claim.fence != view.promised:",
                "if claim.fence.n < view.promised.n:",
            ),
            CLAIMS_GROW,
        ),
        RIVALS,
        "the fold of a journal takes no claim whose n does not grow",
    ),
    Mutation(
        "one exposed n for two sessions",
        "one session per fence",
        (
            Edit(
                QUORUM,
                "if claim.fence.n <= view.promised.n and claim.fence != view.promised:",
                "if claim.fence < view.promised:",
            ),
            CLAIMS_GROW,
        ),
        RIVALS,
        "the fold of a journal takes no claim whose n does not grow",
    ),
    Mutation(
        "an append of an older fence is taken",
        "acknowledged entries survive",
        (Edit(QUORUM, "if append.fence < view.promised:", "if False:"),),
        RIVALS,
    ),
    Mutation(
        "the hash before an append is not compared",
        "fences grow along a journal",
        (
            Edit(
                QUORUM,
                " or _hash_at(view, append.task, after_seq, stored_hash) != append.after_hash:",
                ":",
            ),
        ),
        Worlds(story="three_fences"),
    ),
    Mutation(
        "the tip's fence is taken from promised",
        "committed prefixes agree",
        (
            Edit(
                QUORUM,
                "return after, Granted(view.tip, view.committed)",
                "return after, Granted(view.tip._replace(fence=view.promised), view.committed)",
            ),
            BELOW_COMMITTED,
        ),
        IN_CHUNKS,
        "a voter stops before it changes what is committed",
    ),
    Mutation(
        "an unknown voter id votes",
        "acknowledged entries survive",
        (Edit("bridge.voterid", "if asked == me:", "if True:"),),
        LOST,
    ),
    Mutation(
        "committed beyond what was verified",
        "committed prefixes agree",
        (Edit(QUORUM, "min(append.committed, end)", "min(append.committed, tip.seq)"),),
        Worlds(story="adopted_end"),
    ),
    Mutation(
        "committed going backwards",
        "committed prefixes agree",
        (Edit(QUORUM, "max(view.committed, min(append.committed, end))", "min(append.committed, end)"),),
        THREE,
    ),
    Mutation(
        "a cut without a difference",
        "acknowledged entries survive",
        (
            Edit(
                QUORUM,
                COUNTED,
                f"{COUNTED}    if not add and append.entries and view.committed <= end < tip.seq:\n"
                f"        {SHORTER}\n",
            ),
        ),
        THREE,
    ),
    Mutation(
        "a cut below committed",
        "fences grow along a journal",
        (
            BELOW_COMMITTED,
            Edit(
                QUORUM,
                COUNTED,
                f"{COUNTED}    if not add and append.entries and end < tip.seq:\n        {SHORTER}\n",
            ),
        ),
        THREE,
        "nothing asks for such a cut while a longer suffix is left alone",
    ),
    Mutation(
        "identical entries are not skipped",
        "fences grow along a journal",
        (BELOW_COMMITTED, NOT_SKIPPED),
        THREE,
        "most of them are committed, and the voter stops",
    ),
    Mutation(
        "skipped entries are not counted",
        "every task finishes",
        (
            Edit(QUORUM, "end = after_seq + len(append.entries)", "end = after_seq + len(add)"),
            Edit(
                QUORUM,
                "end_hash = append.entries[-1].hash if append.entries else append.after_hash",
                "end_hash = append.entries[len(add) - 1].hash if add else append.after_hash",
            ),
        ),
        THREE,
    ),
    Mutation(
        "purge without tombstone",
        "fences grow along a journal",
        (
            Edit(
                "bridge.tombstone",
                "return view._replace(granted=None, purged=True), ",
                "return VoterView.empty(task), ",
            ),
        ),
        Worlds(on=("purge",)),
    ),
    Mutation(
        "a tombstone that answers as empty",
        "committed prefixes agree",
        (
            Edit(
                QUORUM,
                "return _refused(Refusal.PURGED, view)\n    if claim.fence.n",
                "view = VoterView.empty(claim.task)\n    if claim.fence.n",
            ),
            Edit(
                QUORUM,
                "return _refused(Refusal.PURGED, view)\n    if append.fence <",
                "view = VoterView.empty(append.task)\n    if append.fence <",
            ),
        ),
        Worlds(on=("purge", "late")),
    ),
    Mutation(
        "an end is purged before it is committed",
        "purged stays purged",
        (Edit("bridge.tombstone", "0 < terminal_seq <= view.committed", "0 < terminal_seq"),),
        Worlds(on=("purge",)),
    ),
    Mutation(
        "a voter answers before its disk write",
        "acknowledged entries survive",
        (Edit(VOTER, "self.disk.when_durable(lambda: reply(answer, stands))", "reply(answer, stands)"),),
        THREE,
    ),
)
