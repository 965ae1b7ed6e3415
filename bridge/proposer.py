"""The candidate and owner side of a handoff's quorum: events in, effects out, for any number of voters.

From the wish to own a handoff to committed entries: *pre-vote* (so a candidate that cannot win disturbs nobody),
*claim*, *adopt* the most advanced journal among the granted ones, bring a majority up to it, commit the own
``claimed``, and only then act. The failures this prevents: acting on a journal that lacks an acknowledged entry,
and counting copies of older owners' entries as commits of one's own.

- The journal is adopted once per fence, before the first append. A grant that arrives later changes nothing:
  entries acknowledged in between might be missing from it. Starting over takes a new fence.
- Exactly the prefix that ends at the granted (seq, hash) is adopted. If that prefix is gone, so is the fence.
- Only acknowledgements of this fence count, each from its voter, and only from the own ``claimed`` on. That entry
  commits everything before it.

Messages may be lost, repeated and reordered; ``Elapsed`` makes it send again what is unanswered. With one voter
every answer is a majority. This file must not know who delivers the effects (``proposal`` has their shapes), or
what entries mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Entry, Fence, Tip, chain, genesis, tip_of, verify
from bridge.proposal import (
    AppendAnswered,
    Began,
    ClaimAnswered,
    Committed,
    Effect,
    Elapsed,
    Event,
    Lost,
    Opened,
    OpenJournal,
    PrefixRead,
    PreVoted,
    ReadPrefix,
    SendAppend,
    SendClaim,
    SendPreVote,
)
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from bridge.seal import check_drafts, ended, opening


class Stage(StrEnum):
    """How far a candidate has come."""

    IDLE = "idle"
    ASKING = "asking"
    CLAIMING = "claiming"
    READING = "reading"
    ADOPTED = "adopted"  # has the journal, waits for its own ``claimed``
    OPENING = "opening"  # has sent ``claimed``, may not act yet
    OWNING = "owning"
    LOST = "lost"


def has_majority(sets: Sequence[tuple[str, ...]], yes: Sequence[str]) -> bool:
    """Whether ``yes`` holds a majority of every voter set.

    One set today. While a change of voters is under way a journal names two, and every claim and commit needs
    both: that joint rule is this ``all``.
    """
    return all(2 * sum(voter in yes for voter in voters) > len(voters) for voters in sets)


class Proposer:
    """One session's candidacy for one handoff under one fence, and its ownership if it wins.

    ``handle`` takes news and returns effects; nothing happens otherwise. After ``Lost`` it stays silent: another
    attempt is another proposer with a higher fence.

    Attributes:
        stage: how far it has come.
        fence: that it claims and writes under.
        log: the journal as adopted and continued.
        committed: position up to which the journal is known to be committed, 0 before the own ``claimed`` is.
        ended: the journal holds its terminal: once its seal is committed there is nothing left to do, least of
            all to run.
    """

    def __init__(self, task: str, fence: Fence, sets: Sequence[tuple[str, ...]]) -> None:
        self.task = task
        self.fence = fence
        self.stage = Stage.IDLE
        self.log: list[Entry] = []
        self.committed = 0
        self.ended = False
        self._sets = tuple(sets)
        self._voters = tuple(dict.fromkeys(voter for voters in sets for voter in voters))
        self._promised = fence
        self._yes: dict[str, Granted] = {}
        self._no: dict[str, Refused] = {}
        self._reading = genesis(task)
        self._sources: list[str] = []
        self._adopted = 0
        self._own_from = 0
        self._sent: dict[str, int] = {}
        self._acked: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def handle(self, event: Event) -> list[Effect]:
        """Take one piece of news.

        News of another fence, of an earlier stage or for the second time changes nothing.

        Returns:
            What to do, in order.

        Raises:
            InvariantViolation: the shell or a voter did what these rules exclude.
        """
        match event:
            case PreVoted() | ClaimAnswered() | AppendAnswered() if event.voter not in self._voters:
                return []  # an id that no set names has no vote, and its journal is nobody's to adopt
            case Began() if self.stage is Stage.IDLE:
                return self._ask(Stage.ASKING)
            case PreVoted() if self.stage is Stage.ASKING and event.fence == self.fence:
                return self._counted(event.voter, event.answer, lambda: self._ask(Stage.CLAIMING))
            case ClaimAnswered() if self.stage is Stage.CLAIMING and event.fence == self.fence:
                return self._counted(event.voter, event.answer, self._choose)
            case PrefixRead() if self.stage is Stage.READING and event.tip == self._reading:
                return self._adopt(event)
            case Opened() if self.stage in (Stage.ADOPTED, Stage.OPENING, Stage.OWNING):
                return self._append(event)
            case AppendAnswered() if self.stage in (Stage.OPENING, Stage.OWNING) and event.fence == self.fence:
                return self._answered(event)
            case Elapsed():
                return self._send_again()
            case _:
                return []

    def _ask(self, stage: Stage) -> list[Effect]:
        self.stage, self._yes, self._no = stage, {}, {}
        return self._questions()

    def _questions(self) -> list[Effect]:
        claim = Claim(self.task, self.fence, self.fence.session)
        send = SendPreVote if self.stage is Stage.ASKING else SendClaim
        return [send(voter, claim) for voter in self._voters if voter not in self._yes]

    def _counted(self, voter: str, answer: Granted | Refused, won: Callable[[], list[Effect]]) -> list[Effect]:
        if isinstance(answer, Refused):
            return self._refused(voter, answer)
        self._yes[voter] = answer
        self._no.pop(voter, None)
        return won() if has_majority(self._sets, tuple(self._yes)) else []

    def _refused(self, voter: str, answer: Refused) -> list[Effect]:
        self._promised = max(self._promised, answer.promised)
        if answer.reason is Refusal.PURGED:
            # One tombstone proves a committed end (``tombstone``); the others may only not have heard of it.
            return self._lose(answer.reason.value)
        # Any other single refusal is no defeat: a minority may have promised more to one that cannot win.
        self._no[voter] = answer
        self._yes.pop(voter, None)
        rest = tuple(each for each in self._voters if each not in self._no)
        return [] if has_majority(self._sets, rest) else self._lose(answer.reason.value)

    def _lose(self, reason: str) -> list[Effect]:
        self.stage = Stage.LOST
        return [Lost(reason, self._promised)]

    def _choose(self) -> list[Effect]:
        best = max((granted.tip for granted in self._yes.values()), key=lambda tip: (tip.fence, tip.seq))
        self._reading = best
        self._sources = [voter for voter, granted in self._yes.items() if granted.tip == best]
        self.stage = Stage.READING
        if best.seq == 0:
            return self._adopt(PrefixRead(self._sources[0], best, ()))
        return [ReadPrefix(self._sources[0], best)]

    def _adopt(self, event: PrefixRead) -> list[Effect]:
        if event.entries is None or not self._ends_at(event.entries, event.tip):
            self._sources = [voter for voter in self._sources if voter != event.voter]
            if not self._sources:
                return self._lose("prefix_gone")
            return [ReadPrefix(self._sources[0], event.tip)]
        self.log, self._adopted = list(event.entries), len(event.entries)
        self.ended = ended(self.log)
        self.stage = Stage.ADOPTED
        return [OpenJournal(event.entries)]

    def _ends_at(self, entries: Iterable[Entry], tip: Tip) -> bool:
        try:
            return verify(self.task, entries) == tip
        except BrokenChain:
            return False

    def _append(self, event: Opened) -> list[Effect]:
        head = opening(self.log) if self.stage is Stage.ADOPTED else ()
        kinds = [draft.kind for draft in event.drafts]
        self.ended = check_drafts(self.fence, head, kinds, end=self.ended)
        if self.stage is Stage.ADOPTED:
            self._sent = {voter: self._meets_at(self._yes.get(voter)) for voter in self._voters}
            self._own_from = self._adopted + len(head)
            self._no = {}
            self.stage = Stage.OPENING
        self.log += chain(tip_of(self.task, self.log), self.fence, event.at, event.drafts)
        return [self._send(voter, self._sent[voter]) for voter in self._voters]

    def _meets_at(self, granted: Granted | None) -> int:
        # Where a voter's journal surely equals this one. A wrong guess costs one refusal.
        if granted is None:
            return self._adopted
        if granted.tip.seq <= len(self.log) and self._tip_at(granted.tip.seq).hash == granted.tip.hash:
            return granted.tip.seq
        return granted.committed

    def _tip_at(self, seq: int) -> Tip:
        return tip_of(self.task, self.log[seq - 1 : seq]) if seq else genesis(self.task)

    def _send(self, voter: str, after: int) -> Effect:
        self._sent[voter] = len(self.log)
        self._told[voter] = self.committed
        entries = tuple(self.log[after:])
        return SendAppend(
            voter, Append(self.task, self.fence, after, self._tip_at(after).hash, entries, self.committed)
        )

    def _answered(self, event: AppendAnswered) -> list[Effect]:
        voter, answer = event.voter, event.answer
        if isinstance(answer, Refused):
            if answer.reason is not Refusal.GAP:
                return self._refused(voter, answer)
            # Committed prefixes agree, so there its journal meets this one.
            return [self._send(voter, min(answer.committed, len(self.log)))]
        return self._acknowledged(voter, answer)

    def _acknowledged(self, voter: str, answer: Appended) -> list[Effect]:
        if answer.fence != self.fence or self._tip_at(answer.seq)[1:] != (answer.seq, answer.hash):
            raise InvariantViolation(f"{self.task}: {voter} acknowledged entry {answer.seq}, which is not ours")
        self._no.pop(voter, None)
        self._acked[voter] = max(self._acked.get(voter, 0), answer.seq)
        effects: list[Effect] = []
        commit = self._majority_has()
        if commit > self.committed and commit >= self._own_from:
            self.committed, self.stage = commit, Stage.OWNING
            effects.append(Committed(commit))
        return effects + [self._send(each, self._acked[each]) for each in self._voters if self._needs_word(each)]

    def _majority_has(self) -> int:
        for seq in sorted(self._acked.values(), reverse=True):
            if has_majority(self._sets, tuple(each for each, acked in self._acked.items() if acked >= seq)):
                return seq
        return 0

    def _needs_word(self, voter: str) -> bool:
        # One voter alone knows by itself; others hear of a commit even when nothing follows it.
        caught_up = self._acked.get(voter) == len(self.log)
        return caught_up and len(self._voters) > 1 and self._told[voter] < self.committed

    def _send_again(self) -> list[Effect]:
        match self.stage:
            case Stage.ASKING | Stage.CLAIMING:
                return self._questions()
            case Stage.READING:
                return [ReadPrefix(self._sources[0], self._reading)]
            case Stage.OPENING | Stage.OWNING:
                # To those that have everything too: the word of the last commit may be what was lost.
                return [
                    self._send(voter, self._acked.get(voter, self._meets_at(self._yes.get(voter))))
                    for voter in self._voters
                    if len(self._voters) > 1 or self._acked.get(voter, -1) < len(self.log)
                ]
            case _:
                return []
