"""Rules of a candidate and an owner, broken: what is adopted, what counts, and when it may act."""

from __future__ import annotations

from tests.simulation.mutations.mutation import OWN, THREE, Edit, Mutation, Worlds

PROPOSER = "bridge.proposer"
SHIPPING = "bridge.shipping"
HAND = "tests.simulation.hand"
VOTER = "tests.simulation.voter"

OWNERS = (
    Mutation(
        "entries of older fences counted as committed",
        "committed prefixes agree",
        (Edit(PROPOSER, "return commit if commit >= self._own_from else 0", "return commit"),),
        Worlds(story="adopted_end"),
    ),
    Mutation(
        "no seal after an adopted terminal",
        "acknowledged entries survive",
        (
            Edit(
                PROPOSER,
                "return [OpenJournal(tuple(entries))]",
                "return [OpenJournal(tuple(entries)), *([Committed(len(entries))] if self.ended else [])]",
            ),
        ),
        Worlds(story="adopted_end"),
    ),
    Mutation(
        "adoption twice at one fence",
        "one session per fence",
        (
            Edit(
                PROPOSER,
                "Stage.OPENING: {AppendAnswered:",
                "Stage.OPENING: {ClaimAnswered: (), AppendAnswered:",
            ),
            Edit(PROPOSER, "self.log += entries\n        self.ended", "self.log[:] = entries\n        self.ended"),
        ),
        THREE,
    ),
    Mutation(
        "a read past the granted tip",
        OWN,
        (
            Edit(VOTER, "if not holds(stored.view, tip, stored.hash_at):", "if False:"),
            Edit(VOTER, "chunk(stored.entries[: tip.seq], after,", "chunk(stored.entries, after,"),
            Edit("bridge.catchup", "return self._at[1:] == self.tip[1:]", "return self._at.seq >= self.tip.seq"),
            Edit(
                "bridge.quorum",
                "if granted is not None and granted.session != claim.candidate and now_ms",
                "if False and now_ms",
            ),
        ),
        Worlds(on=("slow",), having={"voters": 3, "suspicion": 1.0, "bounds": (1, 1 << 20)}),
        "a grant that is held keeps others from writing meanwhile; a journal takes no claim below its fence",
    ),
    Mutation(
        "seq before fence when tips are compared",
        "every task finishes",
        (Edit(PROPOSER, "key=lambda tip: (tip.fence, tip.seq)", "key=lambda tip: (tip.seq, tip.fence)"),),
        Worlds(story="three_fences"),
    ),
    Mutation(
        "any granted journal is adopted",
        "committed prefixes agree",
        (Edit(PROPOSER, "best = max((", "best = min(("),),
        THREE,
    ),
    Mutation(
        "a tip taken as an acknowledgement",
        "acknowledged entries survive",
        (
            Edit(
                SHIPPING,
                "self._copies[voter].meets = self._meets(answer)\n",
                "self._copies[voter].meets = self._meets(answer)\n"
                "        self._copies[voter].acked = min(answer.tip.seq, len(self._log))\n",
            ),
        ),
        Worlds(story="three_fences"),
    ),
    Mutation(
        "an answer (grant, acknowledgement) not bound to its fence",
        "living owners stay",
        (
            Edit(PROPOSER, "return event.fence != self.fence or event.voter", "return event.voter"),
            Edit(
                SHIPPING,
                "known = answer.seq <= len(self._log) and self._tip_at(answer.seq).hash == answer.hash\n"
                "        if answer.fence != self._fence or not known:",
                "if answer.seq > len(self._log):",
            ),
            Edit(
                "tests.simulation.sidecar",
                "hand.heard(sent_ms, asked.voter, answer, stands)",
                "self.hands.get(hand.task, hand).heard(sent_ms, asked.voter, answer, stands)",
            ),
        ),
        Worlds(on=("slow",), having={"sidecars": 5, "suspicion": 1.0}),
        "an answer reaches only the candidacy that asked, and a hash that is not its own stops the owner",
    ),
    Mutation(
        "one acknowledgement of three is enough",
        "acknowledged entries survive",
        (
            Edit(
                "bridge.voterset",
                "2 * sum(voter in yes for voter in voters) > len(voters)",
                "any(voter in yes for voter in voters)",
            ),
        ),
        THREE,
    ),
    Mutation(
        "committed is never told",
        "every task finishes",
        (
            Edit(SHIPPING, "return copy.told < committed and copy.heard < committed", "return False"),
            Edit(SHIPPING, "after_hash, entries, committed))", "after_hash, entries, 0))"),
        ),
        THREE,
    ),
    Mutation(
        "what is unanswered is not sent again",
        "every task finishes",
        (Edit(PROPOSER, "return self._send_again(", "return []  # ("),),
        THREE,
    ),
    Mutation(
        "no pre-vote",
        "living owners stay",
        (Edit(PROPOSER, "return self._ask(Stage.ASKING)", "return self._ask(Stage.CLAIMING)"),),
        THREE,
    ),
)
