"""How a candidacy begins, and when it ends before it has claimed.

Whoever dispatches wants a journal that nobody has begun. The failure this prevents: a claim for that which fences
the living owner of a journal that turns out to be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.journal import NO_FENCE, Fence, genesis
from bridge.proposal import Began, PreVoted
from bridge.quorum import Claim, Granted, Refusal, Refused
from bridge.voterset import Voters, everyone
from sidecar.errors import PeerUnavailable
from sidecar.peers.circle import Circle

if TYPE_CHECKING:
    from sidecar.peers.hand import Hand


def begin(hand: Hand, seen: Fence) -> None:
    """Stand for a handoff: ask first, which disturbs nobody.

    Args:
        hand: that stands.
        seen: the newest fence of an entry that this sidecar has seen (``quorum.Claim``).
    """
    hand.tell(Began(seen))
    hand.arm()


def begin_anew(hand: Hand) -> None:
    """Stand for what nobody has begun. Under the first fence nobody can be disturbed, so nobody is asked."""
    hand.only_new = True
    if hand.fence.n > 1:
        begin(hand, NO_FENCE)
        return
    hand.proposer.handle(Began())
    for voter in hand.proposer.voters:
        hand.tell(PreVoted(voter, hand.fence, Granted(genesis(hand.task), 0)))
    hand.arm()


async def met_first(circle: Circle, task: str, fence: Fence, sets: Sequence[Voters]) -> Refused | None:
    """Where several sets count, ask one voter before all others: the same one, whoever begins.

    Of a pair each host has the grant of its own voter at once; two that begin the same message would keep each
    other from the second one, again and again.

    Returns:
        Why nothing is to be begun; None where it is.

    Raises:
        StoreError: that voter does not answer.
    """
    first = circle.voters.get(min(everyone(sets)))
    if first is None:
        raise PeerUnavailable(f"task {task}: one of its voters was not met yet", "try again later")
    claim = Claim(task, fence, fence.session)
    for ask in (first.claim,) if fence.n == 1 else (first.pre_vote, first.claim):
        answer = await ask(claim)
        if isinstance(answer, Refused):
            return answer
        if answer.tip.seq:
            return Refused(Refusal.FENCED, fence, answer.tip, answer.committed)
    return None


def in_vain(hand: Hand) -> bool:
    """Whether no claim is to be made: only a new journal was wanted and there is one. Then it is over."""
    heard = hand.standing.tip
    if hand.only_new and heard is not None and heard.tip.seq:
        hand.drop(hand.standing.refusal("fenced", hand.fence))
    return hand.lost is not None
