"""Several voters as one: a ``ports.Voter`` that answers once a majority has it.

A claim is a candidacy up to the adopted journal, the first append after it opens the fence, and each further one
is answered when it is committed. The runtime sees what it sees of a single file: granted, appended, refused, or
``StoreError`` where nobody knows; then the same append may be offered again, and is never written twice.

This file must not contain a rule about journals (``bridge.proposer``). The failures it prevents: one session with
two candidacies for one handoff, or one that claims under a fence which it has used before.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from bridge.journal import Entry, Fence, genesis
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from bridge.voterset import Voters
from sidecar.errors import StoreUnavailable
from sidecar.peers.candidacy import begin, begin_anew, met_first
from sidecar.peers.circle import Circle
from sidecar.peers.hand import Hand
from sidecar.records import KeyRow, TaskView

BACKOFF_S = (0.02, 0.27)
"""Whoever lost a contest waits for a random time in between: two that meet do not meet for ever."""

BEGUN_ELSEWHERE_S = (0.01, 0.06)
"""Whoever begins what another one begins at this moment leaves it so long."""

FENCES_KEPT = 50_000


class Places(Protocol):
    """Which voters a handoff has."""

    def placed(self, task: str) -> Sequence[Voters]:
        """The sets to claim at where no journal is known (``placement.placed``, ``paired``)."""
        ...

    async def known(self, task: str) -> Sequence[Voters]:
        """The sets to claim at, by the nearest copy of the journal; as placed where there is none."""
        ...


Read = Callable[[str, int, int], Awaitable[list[Entry]]]


class QuorumVoter:
    """A ``ports.Voter`` over the voters of each handoff. Belongs to one event loop.

    Args:
        circle: who can be asked, in whose name.
        places: which voters a handoff has.
        read: committed entries from this host's own file.

    Attributes:
        hands: what this session wants or owns, by task.
    """

    def __init__(self, circle: Circle, places: Places, read: Read) -> None:
        self.hands: dict[str, Hand] = {}
        self._circle, self._places, self._read = circle, places, read
        self._loop = asyncio.get_running_loop()
        self._fences: dict[str, int] = {}
        self._fences_floor = 0
        self._not_before: dict[str, float] = {}
        self._closed = False

    # --- ports.Voter ------------------------------------------------------------------------------------------

    async def claim(self, claim: Claim) -> Granted | Refused:
        """Stand for a handoff, up to the adopted journal; ``read`` shows it, and the first append opens the fence.

        Raises:
            StoreError: no majority answers; nothing is owned.
        """
        task = claim.task
        refused = self._stale(task, claim.fence)
        if refused is not None:
            return refused
        await asyncio.sleep(max(0.0, self._not_before.get(task, 0.0) - self._loop.time()))
        sets = await self._places.known(task)
        refused = self._stale(task, claim.fence)  # others have had their turn
        if refused is not None:
            return refused
        hand = self._hand(task, claim.fence, sets)
        begin(hand, claim.seen)
        return await self._decided(hand)

    async def dispatch(self, append: Append, view: TaskView, keys: Sequence[KeyRow] = ()) -> Appended | Refused:
        """Begin a journal, if nobody has.

        Raises:
            StoreError: no majority answers; it may come to be all the same.
        """
        task, fence = append.task, append.fence
        hand = self.hands.get(task)
        if hand is not None and hand.lost is None and hand.fence == fence:
            return await self._dispatched_again(hand, append, view, keys)
        refused = self._stale(task, fence)
        if refused is not None:
            return refused
        sets = self._places.placed(task)
        if len(sets) > 1:
            met = await met_first(self._circle, task, fence, sets)
            if met is not None:
                await asyncio.sleep(random.uniform(*BEGUN_ELSEWHERE_S))  # noqa: S311 - spreads, hides nothing
                return met
        hand = self._hand(task, fence, sets)
        begin_anew(hand)
        granted = await self._decided(hand)
        if isinstance(granted, Refused):
            return granted
        if granted.tip.seq:
            # Somebody began it, and whoever dispatches is no candidate for what is begun.
            hand.drop(Refused(Refusal.FENCED, fence, granted.tip, granted.committed))
            return Refused(Refusal.FENCED, fence, granted.tip, granted.committed)
        return await hand.offer(append, view, keys)

    def append_soon(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
        *,
        may_wait: bool = False,  # noqa: ARG002 - a voter's disk write is shared with many as it is
    ) -> asyncio.Future[Appended | Refused]:
        """See ``ports.Voter``; sent before it returns."""
        hand = self.hands.get(append.task)
        if hand is not None and hand.fence == append.fence:
            return hand.offer(append, view, keys, inbox)
        answer: asyncio.Future[Appended | Refused] = self._loop.create_future()
        promised = max(append.fence, Fence(self._highest(append.task), self._circle.session))
        answer.set_result(Refused(Refusal.FENCED, promised, genesis(append.task), 0))
        return answer

    async def append(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
    ) -> Appended | Refused:
        """See ``ports.Voter``."""
        return await self.append_soon(append, view, keys, inbox)

    async def read(self, task: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """What this session has adopted or, once it owns it, what is committed; else what this host's file has."""
        hand = self.hands.get(task)
        if hand is not None and hand.readable:
            return hand.log[after : min(hand.readable, after + limit)]
        return await self._read(task, after, limit)

    # --- what else the runtime may know -----------------------------------------------------------------------

    def owned(self, task: str) -> Hand | None:
        """What this session owns of a task, if it does; its ``baggage.view`` is newer than any file's row."""
        hand = self.hands.get(task)
        return hand if hand is not None and hand.owner and hand.lost is None else None

    def may_act(self, task: str) -> bool:
        """Whether effects of an owned handoff may begin and its reads are fresh."""
        hand = self.owned(task)
        return hand is not None and hand.fresh()

    def may_write(self, task: str) -> bool:
        """Whether the session lives for an owned handoff; if not its output is to be held back."""
        hand = self.owned(task)
        return hand is not None and self._circle.life.may_write(hand.proposer.sets)

    def let_go(self, task: str) -> None:
        """The runtime has nothing to do for a task: what is owned of it costs nothing until it is claimed anew."""
        hand = self.owned(task)
        if hand is not None:
            hand.parting.rest()

    def step_back(self) -> Sequence[str]:
        """Give up what should be claimed anew (``Standing.hopeless``), and say what that was. Ask often."""
        hopeless = [hand for hand in self.hands.values() if hand.hopeless()]
        for hand in hopeless:
            hand.drop(hand.standing.refusal("fenced", hand.fence))
        return [hand.task for hand in hopeless]

    def contact(self, voter: str) -> None:
        """A voter stands by the session again: everything that is owned is proven to it."""
        for hand in list(self.hands.values()):
            hand.contact(voter)

    def close(self) -> None:
        """Nothing more is sent; what was not answered is unknown."""
        self._closed = True
        for hand in list(self.hands.values()):
            hand.give_up(StoreUnavailable("this sidecar is closing", "what was asked may have been done"))

    # --- candidacies ------------------------------------------------------------------------------------------

    def _hand(self, task: str, fence: Fence, sets: Sequence[Voters]) -> Hand:
        if self._closed:
            raise StoreUnavailable("this sidecar is closing", "ask another one")
        old = self.hands.get(task)
        if old is not None:
            old.drop(Refused(Refusal.FENCED, fence, genesis(task), 0))
        self._used(task, fence.n)
        hand = self.hands[task] = Hand(self._circle, task, fence, sets, self._dropped)
        return hand

    async def _decided(self, hand: Hand) -> Granted | Refused:
        try:
            return await asyncio.shield(hand.adopted)
        except asyncio.CancelledError:
            hand.give_up(StoreUnavailable("nobody waits for this claim any more"))
            hand.adopted.exception()
            raise

    async def _dispatched_again(
        self, hand: Hand, append: Append, view: TaskView, keys: Sequence[KeyRow]
    ) -> Appended | Refused:
        answer = await hand.offer(append, view, keys)
        if isinstance(answer, Refused) and answer.reason is Refusal.GAP:
            if hand.committed:
                return Refused(Refusal.FENCED, hand.fence, answer.tip, answer.committed)
            text = f"task {append.task}: its dispatch is under way and its outcome is not known yet"
            raise StoreUnavailable(text, "ask the same again later")
        return answer

    def _stale(self, task: str, fence: Fence) -> Refused | None:
        highest = self._highest(task)
        if fence.n > highest:
            return None
        return Refused(Refusal.FENCED, Fence(highest, self._circle.session), genesis(task), 0)

    def _highest(self, task: str) -> int:
        return self._fences.get(task, self._fences_floor)

    def _used(self, task: str, n: int) -> None:
        """Never claim this again, nor anything below it."""
        self._fences[task] = max(n, self._highest(task))
        if len(self._fences) > FENCES_KEPT:
            kept = {each: self._fences[each] for each in self.hands if each in self._fences}
            self._fences_floor = max(n for each, n in self._fences.items() if each not in kept)
            self._fences = kept

    def _dropped(self, hand: Hand) -> None:
        task, refused = hand.task, hand.lost
        if self.hands.get(task) is hand:
            del self.hands[task]
        if refused is not None:
            self._used(task, refused.promised.n)
            if hand.committed and refused.promised == hand.fence:
                return  # nobody else wanted it
        now = self._loop.time()
        if len(self._not_before) > len(self.hands) + 100:
            self._not_before = {each: at for each, at in self._not_before.items() if at > now}
        self._not_before[task] = now + random.uniform(*BACKOFF_S)  # noqa: S311 - spreads, hides nothing
