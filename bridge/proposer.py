"""The candidate and owner side of a handoff's quorum: events in, effects out, for any number of voters.

From the wish to own a handoff to committed entries: *pre-vote* (so a candidate that cannot win disturbs nobody),
*claim*, *adopt* the most advanced journal among the granted ones, bring a majority up to it, commit the own
``claimed``, and only then act. The failures this prevents: acting on a journal that lacks an acknowledged entry,
and counting copies of older owners' entries as commits of one's own.

- The journal is adopted once per fence, before the first append. A grant that arrives later changes nothing:
  entries acknowledged in between might be missing from it. Starting over takes a new fence.
- Exactly the prefix that ends at the granted (seq, hash) is adopted. If that prefix is gone, so is the fence.
- If it names voters that have not granted, theirs are collected and the choice is made again: only a journal whose
  own voter sets have all granted is adopted (``voterset``).
- Only acknowledgements of this fence count, each from its voter, and only from the own ``claimed`` on. That entry
  commits everything before it.

Messages may be lost, repeated and reordered; ``Elapsed`` makes it send again what is unanswered. With one voter
every answer is a majority. This file must not know who delivers the effects (``proposal`` has their shapes), how
journals travel (``catchup``, ``shipping``), or what entries mean (``seal`` knows what may follow an end).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from bridge.catchup import DEFAULT_BOUNDS, Bounds, Prefix
from bridge.errors import BrokenChain
from bridge.journal import NO_FENCE, Entry, Fence, genesis, tip_of
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
    SendClaim,
    SendPreVote,
)
from bridge.quorum import Claim, Granted, Refusal, Refused
from bridge.seal import check_drafts, continued, ended, opening
from bridge.shipping import Shipping
from bridge.voterset import Voters, VoterSets, everyone, has_majority


class Stage(StrEnum):
    """How far a candidate has come."""

    IDLE = "idle"  # wants nothing yet
    ASKING = "asking"  # asks every voter what it would answer to the claim
    CLAIMING = "claiming"  # claims, and once more where the journal that it read names more voters
    READING = "reading"  # reads the most advanced of the granted journals
    ADOPTED = "adopted"  # has the journal, waits for its own ``claimed``
    OPENING = "opening"  # has sent ``claimed``, may not act yet
    OWNING = "owning"  # its ``claimed`` is committed: it acts
    LOST = "lost"  # this fence is over


TRANSITIONS: Final[Mapping[Stage, Mapping[type[Event], tuple[Stage, ...]]]] = {
    Stage.IDLE: {Began: (Stage.ASKING,)},
    Stage.ASKING: {PreVoted: (Stage.CLAIMING, Stage.LOST), Elapsed: ()},
    Stage.CLAIMING: {ClaimAnswered: (Stage.READING, Stage.ADOPTED, Stage.LOST), Elapsed: ()},
    Stage.READING: {PrefixRead: (Stage.ADOPTED, Stage.CLAIMING, Stage.LOST), Elapsed: ()},
    Stage.ADOPTED: {Opened: (Stage.OPENING,)},
    Stage.OPENING: {AppendAnswered: (Stage.OWNING, Stage.LOST), Opened: (), Elapsed: ()},
    Stage.OWNING: {AppendAnswered: (Stage.LOST,), Opened: (), Elapsed: ()},
    Stage.LOST: {},
}
"""What is news in each stage, and where it may lead; anything else, in any stage, changes nothing."""


class Proposer:
    """One session's candidacy for one handoff under one fence, and its ownership if it wins.

    ``handle`` takes news and returns effects; nothing happens otherwise. After ``Lost`` it stays silent: another
    attempt is another proposer with a higher fence.

    Args:
        task: public task id.
        fence: ``n`` above every fence that was seen on this handoff.
        sets: voter sets to claim at, from any voter's copy of the journal, or as placed.
        bounds: of one message.

    Attributes:
        stage: how far it has come.
        fence: that it claims and writes under.
        log: the journal as adopted and continued.
        committed: position up to which the journal is known to be committed, 0 before the own ``claimed`` is.
        ended: the journal holds its terminal: once its seal is committed there is nothing left to do, least of
            all to run.
    """

    def __init__(self, task: str, fence: Fence, sets: Sequence[Voters], bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.task, self.fence = task, fence
        self.stage = Stage.IDLE
        self.log: list[Entry] = []
        self.committed = 0
        self.ended = False
        self._seen, self._given = NO_FENCE, tuple(sets)
        self._sets = VoterSets(self._given)
        self._needed = self._sets.needed(0)
        self._voters = everyone(self._needed)
        self._known = 0  # committed by the word of those that granted
        self._promised = fence
        self._yes: dict[str, Granted] = {}
        self._no: dict[str, Refused] = {}
        self._prefix = Prefix(task, genesis(task), ())
        self._own_from = 0
        self._shipping = Shipping(task, fence, self.log, bounds)

    @property
    def voters(self) -> Voters:
        """Everybody whose answers count now: during a change of voters those of both sets."""
        return self._voters

    @property
    def sets(self) -> tuple[Voters, ...]:
        """The voter sets of which a majority each is needed now, for claims, commits and the session's lease."""
        return self._needed

    @property
    def changing(self) -> bool:
        """Whether a change of voters is under way.

        It is over once it is committed and a majority of the new set is known to know that: then a candidate that
        asks only them needs nobody else, and the voters that left may be switched off.
        """
        if not self._sets.changed:
            return False
        knowing = [voter for voter in self._voters if self._shipping.heard(voter) >= self._sets.since]
        return not has_majority((self._sets.newest,), knowing)

    def handle(self, event: Event) -> list[Effect]:
        """Take one piece of news.

        News of another fence, of an earlier stage or for the second time changes nothing.

        Returns:
            What to do, in order.

        Raises:
            InvariantViolation: the shell or a voter did what these rules exclude.
            BrokenChain: a change of voters that names none, or entries that do not follow; nothing was appended.
        """
        if type(event) not in TRANSITIONS[self.stage] or self._foreign(event):
            return []
        match event:
            case Began():
                self._seen = event.seen
                return self._ask(Stage.ASKING)
            case PreVoted():
                return self._counted(event.voter, event.answer, lambda: self._ask(Stage.CLAIMING))
            case ClaimAnswered():
                return self._counted(event.voter, event.answer, self._choose)
            case PrefixRead():
                self._prefix.take(event)
                return self._read_on()
            case Opened():
                return self._append(event)
            case AppendAnswered():
                return self._answered(event)
            case _:
                return self._send_again(self._voters if event.voters is None else event.voters)

    def _foreign(self, event: Event) -> bool:
        match event:
            case PreVoted() | ClaimAnswered() | AppendAnswered():
                # An id that no set names has no vote, and its journal is nobody's to adopt.
                return event.fence != self.fence or event.voter not in self._voters
            case PrefixRead():
                return not self._prefix.awaits(event)
            case _:
                return False

    def _ask(self, stage: Stage) -> list[Effect]:
        self.stage, self._yes, self._no = stage, {}, {}
        return [*self._questions()]

    def _questions(self) -> list[SendPreVote | SendClaim]:
        claim = Claim(self.task, self.fence, self.fence.session, self._seen)
        send = SendPreVote if self.stage is Stage.ASKING else SendClaim
        return [send(voter, claim) for voter in self._voters if voter not in self._yes]

    def _counted(self, voter: str, answer: Granted | Refused, won: Callable[[], list[Effect]]) -> list[Effect]:
        if isinstance(answer, Refused):
            return self._refused(voter, answer)
        self._yes[voter] = answer
        self._no.pop(voter, None)
        return won() if has_majority(self._needed, tuple(self._yes)) else []

    def _refused(self, voter: str, answer: Refused) -> list[Effect]:
        self._promised = max(self._promised, answer.promised)
        if answer.reason is Refusal.PURGED:
            # One tombstone proves a committed end (``tombstone``); the others may only not have heard of it.
            return self._lose(answer.reason.value)
        # Any other single refusal is no defeat: a minority may have promised more to one that cannot win.
        self._no[voter] = answer
        self._yes.pop(voter, None)
        rest = tuple(each for each in self._voters if each not in self._no)
        return [] if has_majority(self._needed, rest) else self._lose(answer.reason.value)

    def _lose(self, reason: str) -> list[Effect]:
        self.stage = Stage.LOST
        return [Lost(reason, self._promised)]

    def _choose(self) -> list[Effect]:
        best = max((granted.tip for granted in self._yes.values()), key=lambda tip: (tip.fence, tip.seq))
        if best != self._prefix.tip or not self._prefix.complete:
            sources = [voter for voter, granted in self._yes.items() if granted.tip == best]
            self._prefix = Prefix(self.task, best, sources)
        self.stage = Stage.READING
        return self._read_on()

    def _read_on(self) -> list[Effect]:
        if self._prefix.complete:
            return self._adopt(self._prefix.entries)
        return self._lose("prefix_gone") if self._prefix.gone else [self._prefix.ask()]

    def _adopt(self, entries: Sequence[Entry]) -> list[Effect]:
        try:
            self._sets = VoterSets(self._given).follow(entries)
        except BrokenChain:
            return self._lose("prefix_gone")
        self._known = max(granted.committed for granted in self._yes.values())
        self._elect()
        if not has_majority(self._needed, tuple(self._yes)):
            self.stage = Stage.CLAIMING
            return [*self._questions()]
        self.log += entries
        self.ended = ended(entries)
        self._no = {}
        self.stage = Stage.ADOPTED
        return [OpenJournal(tuple(entries))]

    def _elect(self) -> None:
        self._needed = self._sets.needed(max(self._known, self.committed))
        self._voters = everyone(self._needed)

    def _append(self, event: Opened) -> list[Effect]:
        first = self.stage is Stage.ADOPTED
        head = opening(self.log) if first else ()
        entries = continued(tip_of(self.task, self.log), self.fence, event)
        self._sets.check_change(entries, max(self._known, self.committed), owning=self.stage is Stage.OWNING)
        self.ended = check_drafts(self.fence, head, [entry.kind for entry in entries], end=self.ended)
        before = len(self.log)
        if self._sets.follow(entries).since > before or first:
            self._elect()
            for voter in self._voters:
                self._shipping.begin(voter, self._yes.get(voter))
        self.log += entries
        if not first:
            return [*self._shipping.grown(self._voters, before, self.committed)]
        self._own_from = before + len(head)
        self.stage = Stage.OPENING
        return [*self._shipping.catch_up(self._voters, self.committed)]

    def _answered(self, event: AppendAnswered) -> list[Effect]:
        voter, answer = event.voter, event.answer
        if isinstance(answer, Refused):
            if answer.reason is not Refusal.GAP:
                return self._refused(voter, answer)
            return [self._shipping.gap(voter, answer, self.committed)]
        self._no.pop(voter, None)
        self._shipping.acknowledged(voter, answer)
        effects = self._commit()
        if (effects or self._sets.changed) and not self.changing:
            self._elect()
        return [*effects, *self._shipping.follow_up(self._voters, self.committed)]

    def _commit(self) -> list[Effect]:
        before = self.committed
        # A change of voters that is committed by both sets leaves what follows it to the new one.
        while (commit := self._majority_has()) > self.committed:
            self.committed, self.stage = commit, Stage.OWNING
            self._needed = self._sets.needed(commit)
        return [Committed(self.committed)] if self.committed > before else []

    def _majority_has(self) -> int:
        shipping = self._shipping
        reached = (
            seq for seq in shipping.positions(self.committed) if has_majority(self._needed, shipping.acked(seq))
        )
        commit = next(reached, 0)
        return commit if commit >= self._own_from else 0

    def _send_again(self, asked: Voters) -> list[Effect]:
        match self.stage:
            case Stage.ASKING | Stage.CLAIMING:
                return [each for each in self._questions() if each.voter in asked]
            case Stage.READING:
                return [each for each in (self._prefix.ask(),) if each.voter in asked]
            case _:
                return [*self._shipping.catch_up([each for each in self._voters if each in asked], self.committed)]
