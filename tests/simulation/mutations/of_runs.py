"""Rules of what is done with a handoff and of what a second run means for clients, broken."""

from __future__ import annotations

from tests.simulation.mutations.mutation import THREE, Edit, Mutation, Worlds

OUTCOMES = "bridge.a2a.outcomes"
HAND = "tests.simulation.hand"
ASKING = "tests.simulation.asking"
PURSUIT = "tests.simulation.pursuit"

AT_ONCE = Edit(ASKING, "write(body))], ask)", "write(body))])\n        ask()")

RUNS = (
    Mutation("an agent is asked before that is recorded", "runs begin after the claim", (AT_ONCE,)),
    Mutation(
        "a recoverer acts before its claim commits",
        "runs begin after the claim",
        (
            Edit(
                HAND,
                "        self._append(drafts)\n        if self.lapse",
                "        self._append(drafts)\n"
                "        if entries and self.lapse is None:\n"
                "            self.owner, self.pursuit = True, Pursuit(self)\n"
                "            self.pursuit.decide()\n"
                "        if self.lapse",
            ),
            Edit(HAND, "return self.standing.fresh()", "return self.car.session.may_write(self.sets)"),
            AT_ONCE,
        ),
        THREE,
        "a proof of ownership needs an append with the claim in it, and requests wait for their record",
    ),
    Mutation(
        "a second end is written after an adopted one",
        "one terminal, and it is final",
        (
            Edit(
                PURSUIT,
                "if hand.lost or hand.handoff.terminal is not None:\n            return\n        if self._busy",
                "if hand.lost:\n            return\n        if self._busy",
            ),
            Edit(
                "bridge.recovery",
                "handoff.state is State.ABSENT or handoff.state in FINAL:",
                "handoff.state is State.ABSENT:",
            ),
            Edit("bridge.handoff", "self.cancel is not None and self.terminal is None", "self.cancel is not None"),
            Edit(
                "bridge.handoff",
                "return dict.fromkeys((Kind.CLAIMED, Kind.VOTERS, Kind.ANSWERED), state)",
                "return {**_ENDS, **dict.fromkeys((Kind.CLAIMED, Kind.VOTERS, Kind.ANSWERED), state)}",
            ),
            Edit("bridge.seal", "(end and kind not in AFTER_END)", "False"),
        ),
        covered="the sweep, the table of states and what may follow an end each exclude it alone",
    ),
    Mutation(
        "the cut covers an event too many",
        "the cut is exact",
        (
            Edit(
                "bridge.a2a.cut",
                "return Cut(state, receipts, len(shown.statuses), used",
                "return Cut(state, receipts, len(shown.statuses) + 1, used",
            ),
        ),
    ),
    Mutation(
        "a rewind without its record",
        "replacements have their record",
        (
            Edit(
                OUTCOMES, "elif not isinstance(outcome, Replay):", "elif not isinstance(outcome, Replay | Rewind):"
            ),
        ),
    ),
    Mutation(
        "a step split from its receipts",
        "an effect has one receipt",
        (
            Edit(
                OUTCOMES,
                "elif not isinstance(outcome, Replay):",
                "elif isinstance(outcome, Step) and outcome.receipts:\n"
                "            written.append(_draft(Receipts(outcome.receipts)))\n"
                "            written.append(_draft(Step(outcome.state, (), outcome.position)))\n"
                "        elif not isinstance(outcome, Replay):",
            ),
        ),
        Worlds(having={"errands": True}),
    ),
    Mutation(
        "an effect of which nothing is known is run again",
        "an effect has one receipt",
        (Edit("bridge.recovery", "if seen.unknown_effects:", "if False:"),),
        Worlds(on=("receipt_lost",), having={"errands": True}),
    ),
    Mutation(
        "an effect begins before its intent is recorded",
        "runs begin after the claim",
        (Edit(ASKING, "self.hand.when_committed(at, go)", "go()"),),
        Worlds(having={"errands": True}),
    ),
    Mutation(
        "an answer that was sent stays owed",
        "the cut is exact",
        (
            Edit(
                "bridge.a2a.reconcile",
                'says anything more shows no sign of that itself.\n        """\n        self._told.pending = None',
                'says anything more shows no sign of that itself.\n        """',
            ),
        ),
        Worlds(having={"errands": True}),
    ),
    Mutation(
        "a claim resets a review",
        "a review waits for an operator",
        (Edit("bridge.handoff", "Kind.CLAIMED: State.REVIEW,", "Kind.CLAIMED: State.CLAIMED,"),),
        Worlds(on=("kill",), having={"errands": True}),
    ),
    Mutation(
        "what the last run did not make stays",
        "a task is what its last run made",
        (Edit("bridge.a2a.remaking", "outcomes += self._supersede(public, known)", "pass"),),
    ),
    Mutation(
        "buffered output flushed without comparing",
        "replacements have their record",
        (Edit("bridge.lapse", "at = self._base.seq\n", "return list(self.drafts)\n        at = 0\n"),),
        Worlds(on=("cut_off",), off=("freeze",)),
    ),
)
