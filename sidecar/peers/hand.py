"""One handoff that this sidecar wants or owns: a proposer, and what carries its wishes out.

Effects go out as requests to voters, answers come back as news, and what the runtime has chained becomes the
journal. The failures that a shell can add and that this one must not: an append that is answered before it is
committed, and a second journal under one fence.

This file must not contain a rule about journals (``bridge.proposer`` has them) and must not know what an entry
means, but for those that say whether its owner has given up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from bridge.errors import BridgeError, InvariantViolation
from bridge.journal import Entry, Fence, Kind, tip_of
from bridge.proposal import (
    Committed,
    Effect,
    Event,
    Lost,
    Opened,
    OpenJournal,
    PrefixRead,
)
from bridge.proposer import Proposer, Stage
from bridge.quorum import Append, Appended, Granted, Refusal, Refused
from bridge.voterset import Voters
from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.circle import Circle
from sidecar.peers.offered import acknowledged, new_part
from sidecar.peers.parting import Parting
from sidecar.peers.riders import Baggage
from sidecar.peers.sending import Sending
from sidecar.peers.standing import Standing
from sidecar.peers.waits import Answer, Waits
from sidecar.records import KeyRow, TaskView

log = logging.getLogger(__name__)

ADOPTED_S = 10.0
"""How long whoever claimed may take to fold what it adopted."""

PATIENCE_S = 0.1

_GIVEN_UP = (Kind.ORPHANED, Kind.RESOLVED)
_CANDIDATE = (Stage.IDLE, Stage.ASKING, Stage.CLAIMING, Stage.READING, Stage.ADOPTED)
_WRITING = (Stage.ADOPTED, Stage.OPENING, Stage.OWNING)


class Hand:
    """A candidacy, and the ownership that may come of it.

    Args:
        circle: who can be asked, in whose name.
        task: which handoff.
        fence: that is claimed.
        sets: whose majorities it needs, as far as is known without the journal.
        dropped: told once it is over.

    Attributes:
        proposer: the rules.
        standing: with its voters.
        baggage: what travels beside the entries.
        adopted: resolves once the journal is adopted, to the refusal if it never is.
        only_new: it is wanted only if nobody has begun it.
        parting: when it may be forgotten.
        lost: why this fence is over for this sidecar, once it is.
    """

    def __init__(
        self, circle: Circle, task: str, fence: Fence, sets: Sequence[Voters], dropped: Callable[[Hand], None]
    ) -> None:
        self.task, self.fence = task, fence
        self.proposer = Proposer(task, fence, sets)
        self.standing = Standing(task, circle.now_ms())
        self.baggage = Baggage(circle.own)
        self.lost: Refused | None = None
        self.only_new = False
        self._circle, self._dropped = circle, dropped
        self._loop = asyncio.get_running_loop()
        self.adopted: asyncio.Future[Granted | Refused] = self._loop.create_future()
        self._waits = Waits()
        self._sending = Sending(circle, self)
        self.parting = Parting(circle, self)
        self._timer: asyncio.TimerHandle | None = None
        self._moved_at = self._loop.time()
        self._known = self._adopted_to = 0

    # --- what it is -------------------------------------------------------------------------------------------

    @property
    def log(self) -> list[Entry]:
        """The journal as this sidecar holds it, committed or not."""
        return self.proposer.log

    @property
    def committed(self) -> int:
        """Up to where it may be shown."""
        return self.proposer.committed

    @property
    def owner(self) -> bool:
        """Its claim is committed: it may act."""
        return self.proposer.stage is Stage.OWNING

    @property
    def settled(self) -> bool:
        """All that it wrote is committed."""
        return self.owner and self.committed == len(self.log)

    @property
    def complete(self) -> bool:
        """Every voter has all of it and knows that it is committed."""
        settled = self.settled and not self._waits
        return settled and self.standing.complete(self.proposer.voters, len(self.log))

    @property
    def readable(self) -> int:
        """Up to where its own sidecar may read: as adopted, and once it owns what is committed."""
        return self.committed if self.owner else self._adopted_to

    def fresh(self) -> bool:
        """Whether effects may begin and reads are fresh."""
        if not self.owner or self.lost is not None or self.standing.given_up:
            return False
        return self._circle.life.may_act(self.proposer.sets, self.standing.proven_ms)

    def hopeless(self) -> bool:
        """Whether it should be claimed anew: see ``Standing.hopeless``."""
        proposer, life = self.proposer, self._circle.life
        fresh = life.may_act(proposer.sets, self.standing.proven_ms) or not life.may_write(proposer.sets)
        well = fresh and self.settled and not self.standing.behind(proposer.voters, len(proposer.log))
        return self.owner and self.standing.hopeless(self._circle.now_ms(), well=well)

    # --- what is wanted of it ---------------------------------------------------------------------------------

    def offer(
        self, append: Append, view: TaskView | None, keys: Sequence[KeyRow] = (), inbox: Sequence[int] = ()
    ) -> Answer:
        """Continue the journal; what is there already is not written twice.

        Returns:
            The answer, once a majority has it.
        """
        answer: Answer = self._loop.create_future()
        if self.lost is not None:
            answer.set_result(self.lost)
            return answer
        ready = new_part(self.task, self.log, append) if self.proposer.stage in _WRITING else None
        if ready is None:
            answer.set_result(Refused(Refusal.GAP, self.fence, tip_of(self.task, self.log), self.committed))
            return answer
        self._waits.add(acknowledged(append), answer, self._loop.time())
        self.parting.resting = False
        if ready:
            self._write(ready, answer, view, keys, inbox)
        elif self.committed < len(self.log):
            self._sending.again(hasten=True)  # whoever offers it again has waited
        self._waits.committed(self.committed)
        self.arm()
        return answer

    def _write(
        self,
        ready: Sequence[Entry],
        answer: Answer,
        view: TaskView | None,
        keys: Sequence[KeyRow],
        inbox: Sequence[int],
    ) -> None:
        first = self.proposer.stage is Stage.ADOPTED
        try:
            effects = self.proposer.handle(Opened(0, ready=ready))
        except (InvariantViolation, BridgeError) as error:
            answer.set_exception(error)  # nothing was appended
            return
        for entry in ready:
            if entry.kind is Kind.CLAIMED:
                self.standing.opened, self.standing.given_up = entry.seq, False
            elif entry.kind in _GIVEN_UP:
                self.standing.given_up = True
        self.baggage.take(ready[-1].seq, view, keys, inbox)
        self._carry_out(effects, pipelined=not first)

    def contact(self, voter: str) -> None:
        """A voter stands by the session again."""
        if self.lost is None and voter in self.proposer.voters:
            self._sending.contact(voter)
            self.arm()

    # --- news -------------------------------------------------------------------------------------------------

    def tell(self, news: Event) -> None:
        """News for the rules; what they want is carried out in order."""
        if self.lost is not None:
            return
        if isinstance(news, PrefixRead) and news.entries:
            self._moved_at = self._loop.time()
        try:
            effects = self.proposer.handle(news)
        except InvariantViolation as violation:
            log.critical(
                "task %s: what fence %d was answered is impossible: %s", self.task, self.fence.n, violation,
                extra={"task": self.task, "fence": self.fence.n},
            )  # fmt: skip
            self._waits.fail(violation)
            self.drop(self.standing.refusal("fenced", self.fence))
            raise
        self._carry_out(effects)

    def heard(self, voter: str, sent_ms: int, answer: Appended | Granted | Refused) -> None:
        """A voter has answered what was sent then."""
        self.standing.answered(voter, sent_ms, answer)
        if isinstance(answer, Granted):
            self._known = max(self._known, answer.committed)
            self._moved_at = self._loop.time()
        if self.baggage.keys_left:
            self.baggage.everybody_has(min(self.standing.acked(each) for each in self.proposer.voters))
        self.parting.look()

    def _carry_out(self, effects: Sequence[Effect], *, pipelined: bool = False) -> None:
        for effect in effects:
            if self.lost is not None:
                return
            match effect:
                case Committed():
                    self._moved(effect.seq)
                case OpenJournal():
                    self._adopted_to = len(effect.entries)
                    self._moved_at = self._loop.time()
                    known = min(self._known, self._adopted_to)
                    if not self.adopted.done():
                        self.adopted.set_result(Granted(tip_of(self.task, effect.entries), known))
                case Lost():
                    self.drop(self.standing.refusal(effect.reason, effect.promised))
                case _:
                    self._sending.send(effect, pipelined=pipelined)

    def _moved(self, seq: int) -> None:
        self._moved_at = self._loop.time()
        self.baggage.committed(seq)
        if self._circle.own not in self.proposer.voters and (taken := self.baggage.left()):
            self._circle.taken_in(taken)
        self._waits.committed(seq)

    # --- time -------------------------------------------------------------------------------------------------

    def arm(self) -> None:
        """See to it that what is unanswered is looked at again; whoever waits for nothing costs nothing."""
        if self._timer is None and self.lost is None:
            pause = self._due_in()
            if pause is not None:
                self._timer = self._loop.call_later(pause, self._tick)

    def _due_in(self) -> float | None:
        if self.proposer.stage in _CANDIDATE or self._waits:
            return PATIENCE_S
        return self._sending.due_in(self.settled)

    def _tick(self) -> None:
        self._timer = None
        now, stage = self._loop.time(), self.proposer.stage
        limit = ADOPTED_S if stage is Stage.ADOPTED else self._circle.candidacy_s
        if stage in _CANDIDATE and now - self._moved_at > limit:
            self.give_up(
                PeerUnavailable(f"task {self.task}: no majority of its voters answers", "try again later")
            )
            return
        if now - self._moved_at > self._circle.answer_s:
            unknown = PeerUnavailable(f"task {self.task}: no majority of its voters has taken an append yet")
            self._waits.expire(now - self._circle.answer_s, unknown)
        self._sending.again(everybody=stage in _CANDIDATE)
        self.arm()

    def give_up(self, error: StoreError) -> None:
        """Nothing is known, and nobody here waits for it any more."""
        self._waits.fail(error)
        if not self.adopted.done():
            self.adopted.set_exception(error)
        self.drop(self.standing.refusal("fenced", self.fence))

    def drop(self, refused: Refused) -> None:
        """It is over here: nothing more is written under this fence."""
        if self.lost is not None:
            return
        self.lost = refused
        if self._timer is not None:
            self._timer.cancel()
        self.parting.stop()
        self._sending.stop()
        if not self.adopted.done():
            self.adopted.set_result(refused)
        self._waits.refuse(refused)
        self._dropped(self)
