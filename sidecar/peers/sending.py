"""How one handoff's requests go out to its voters and their answers come back.

Appends are pipelined (``ways`` says how far), the word of a new ``committed`` waits a moment for an entry that it
can ride on, and whoever does not answer is asked again later, from where it stands. This file must not decide what
an answer means. The failure it prevents: a request that is believed to be under way and is not.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from bridge.journal import tip_of
from bridge.proposal import (
    AppendAnswered,
    ClaimAnswered,
    Elapsed,
    Event,
    PrefixRead,
    PreVoted,
    ReadPrefix,
    SendAppend,
    SendClaim,
    SendPreVote,
)
from bridge.quorum import Append, Appended, Refusal, Refused
from bridge.tombstone import tombstone_in
from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.candidacy import in_vain
from sidecar.peers.circle import Circle
from sidecar.peers.ways import Way
from sidecar.ports import RemoteVoter
from sidecar.records import Riders

if TYPE_CHECKING:
    from sidecar.peers.hand import Hand

log = logging.getLogger(__name__)

WORD_S = 0.005
"""How long the word of a new ``committed`` may wait for an entry: its own sidecar shows nothing later for it."""

ENTRY_BYTES = 256

Question = SendPreVote | SendClaim | ReadPrefix


class Sending:
    """One hand's ways to its voters.

    Args:
        circle: who can be asked.
        hand: hears what they answer.
    """

    def __init__(self, circle: Circle, hand: Hand) -> None:
        self._circle, self._hand = circle, hand
        self._loop = asyncio.get_running_loop()
        self._ways: dict[str, Way] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._words: asyncio.TimerHandle | None = None

    def send(self, effect: Question | SendAppend, *, pipelined: bool) -> None:
        """Carry out an effect that is a request.

        Args:
            effect: the request.
            pipelined: it follows something that the rules believe to be under way.
        """
        way = self._way(effect.voter)
        if isinstance(effect, SendClaim) and in_vain(self._hand):
            pass  # a pre-vote has changed nothing
        elif not isinstance(effect, SendAppend):
            self._ask(way, effect)
        elif not effect.append.entries:
            way.word = effect.append
            if self._words is None:
                self._words = self._loop.call_later(WORD_S, self._speak)
        elif pipelined and way.full:
            way.stale = True
        else:
            way.stale = False  # from here on the rules know again what is under way
            self._append(effect.voter, way, effect.append)

    def contact(self, voter: str) -> None:
        """A voter stands by the session again: what it missed, or at least a proof of the ownership."""
        way = self._way(voter)
        way.hasten()
        way.proving = self._hand.owner
        self._look(voter, way)

    def again(self, *, everybody: bool = False, hasten: bool = False) -> None:
        """Time has passed: ask again whoever may lack something and has nothing under way.

        Args:
            everybody: nothing is owned yet, so that whoever refused may have changed its mind.
            hasten: those too who did not answer a moment ago.
        """
        now = self._loop.time()
        for voter in self._hand.proposer.voters:
            way = self._way(voter)
            if (hasten or now >= way.again_at) and (way.wants or (everybody and way.idle)):
                self._renew(voter, way)

    def due_in(self, settled: bool) -> float | None:
        """When ``again`` has something to do although nobody waits, if ever; see ``contact`` for those away."""
        now, life = self._loop.time(), self._circle.life
        due = [
            max(way.again_at - now, WORD_S)
            for voter, way in self._ways.items()
            if way.wants and (not settled or life.may_write(((voter,),)))
        ]
        return min(due, default=None)

    def stop(self) -> None:
        """Nothing more is sent."""
        if self._words is not None:
            self._words.cancel()
        for task in self._asking:
            task.cancel()

    def _way(self, voter: str) -> Way:
        way = self._ways.get(voter)
        if way is None:
            way = self._ways[voter] = Way()
        return way

    def _remote(self, voter: str) -> RemoteVoter:
        remote = self._circle.voters.get(voter)
        if remote is None:
            raise PeerUnavailable(f"voter {voter} is not known here yet")
        return remote

    # --- appends ----------------------------------------------------------------------------------------------

    def _append(self, voter: str, way: Way, append: Append) -> None:
        way.word = None
        try:
            remote = self._remote(voter)
        except PeerUnavailable:
            self._failed(way)
            return
        riders = self._hand.baggage.to(voter, append)
        size = ENTRY_BYTES + sum([ENTRY_BYTES + len(entry.body or b"") for entry in append.entries])
        way.appends += 1
        way.size += size
        sent_ms = self._circle.now_ms()
        future = remote.append_soon(append, riders)
        future.add_done_callback(partial(self._appended, voter, way, size, sent_ms, riders))

    def _appended(
        self,
        voter: str,
        way: Way,
        size: int,
        sent_ms: int,
        riders: Riders,
        future: asyncio.Future[Appended | Refused],
    ) -> None:
        way.appends -= 1
        way.size -= size
        hand = self._hand
        error = PeerUnavailable("canceled") if future.cancelled() else future.exception()
        if hand.lost is not None:
            return
        if error is not None:
            hand.baggage.lost(voter)
            self._failed(way, error)
        else:
            way.answered()
            self._heard(voter, way, sent_ms, riders, future.result())
        if way.idle and hand.lost is None:
            self._look(voter, way)

    def _heard(self, voter: str, way: Way, sent_ms: int, riders: Riders, answer: Appended | Refused) -> None:
        hand = self._hand
        hand.heard(voter, sent_ms, answer)
        if isinstance(answer, Appended):
            way.proving = False
            hand.baggage.arrived(riders)
        elif answer.reason is Refusal.GAP:
            way.gap = answer
            return
        else:
            self._bury(answer)
        hand.tell(AppendAnswered(voter, hand.fence, answer))

    def _look(self, voter: str, way: Way) -> None:
        """Nothing is under way to a voter, or it is back: what it lacks is sent from where it stands."""
        if not way.idle:
            return
        if way.gap is not None:
            gap, way.gap, way.stale = way.gap, None, False
            self._hand.tell(AppendAnswered(voter, self._hand.fence, gap))
        elif way.wants and self._loop.time() >= way.again_at:
            self._renew(voter, way)
        elif way.wants:
            self._hand.arm()

    def _renew(self, voter: str, way: Way) -> None:
        way.stale = way.failing = False
        self._hand.tell(Elapsed((voter,)))
        if way.proving and way.idle:
            self._prove(voter, way)

    def _prove(self, voter: str, way: Way) -> None:
        """Have a voter take an empty append, which only the owner can make it do."""
        hand = self._hand
        if hand.lost is None and hand.owner:
            at = tip_of(hand.task, hand.log[hand.committed - 1 : hand.committed])
            self._append(voter, way, Append(hand.task, hand.fence, at.seq, at.hash, (), hand.committed))

    def _speak(self) -> None:
        self._words = None
        for voter, way in self._ways.items():
            if way.word is not None:
                self._append(voter, way, way.word)

    def _failed(self, way: Way, error: BaseException | None = None) -> None:
        if error is not None and not isinstance(error, StoreError):
            hand = self._hand
            told = "task %s: a voter's answer could not be used"
            log.error(told, hand.task, exc_info=error, extra={"task": hand.task, "fence": hand.fence.n})
        way.failed(self._loop.time(), needed=not self._hand.settled)
        self._hand.arm()

    # --- questions --------------------------------------------------------------------------------------------

    def _ask(self, way: Way, question: Question) -> None:
        way.asked += 1
        asking = self._loop.create_task(self._asked(way, question))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _asked(self, way: Way, question: Question) -> None:
        hand, sent_ms = self._hand, self._circle.now_ms()
        news: Event | None = None
        try:
            news = await self._answer(question, sent_ms)
            way.answered()
        except StoreError as error:
            self._failed(way, error)
            if isinstance(question, ReadPrefix):
                # Others may have granted the same journal; if not, the fence is given up.
                news = PrefixRead(question.voter, question.tip, None, question.after)
        finally:
            way.asked -= 1
        if news is not None:
            hand.tell(news)

    async def _answer(self, question: Question, sent_ms: int) -> Event:
        hand, voter = self._hand, question.voter
        remote = self._remote(voter)
        if isinstance(question, ReadPrefix):
            entries = await remote.read_prefix(hand.task, question.tip, question.after)
            return PrefixRead(voter, question.tip, entries, question.after)
        if isinstance(question, SendPreVote):
            answer = await remote.pre_vote(question.claim)
            news: Event = PreVoted(voter, hand.fence, answer)
        else:
            answer = await remote.claim(question.claim)
            news = ClaimAnswered(voter, hand.fence, answer)
        hand.heard(voter, sent_ms, answer)
        if isinstance(answer, Refused):
            self._bury(answer)
        return news

    def _bury(self, answer: Refused) -> None:
        stone = tombstone_in(self._hand.task, answer)
        if stone is not None:
            self._circle.buried(stone)
