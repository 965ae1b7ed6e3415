"""How a hand's requests go out to voters: as the rules want them, but for two that need no claim.

A message that began nothing yet is dispatched at an only voter in one round trip, as a shared database is written
in production: the voter claims with the first append, or refuses it (``decide_dispatch``). And whoever only asks
whether there is a tombstone stops before it claims. This file must not decide what an answer means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import genesis
from bridge.proposal import ClaimAnswered, PreVoted, ReadPrefix, SendAppend, SendClaim, SendPreVote
from bridge.quorum import Granted
from tests.simulation.voter import SendDispatch

if TYPE_CHECKING:
    from tests.simulation.hand import Hand

ACCEPTED, TOMBSTONE = "accepted", "tombstone"


def dispatches(hand: Hand) -> bool:
    """A message that began nothing yet, as far as is known here, and one voter: no claim goes before it."""
    first = hand.reason == ACCEPTED and hand.fence.n == 1
    return first and not hand.owner and len(hand.proposer.voters) == 1


def dispatch(hand: Hand) -> None:
    """Begin a journal. Nobody is known to be there; if somebody is, the only voter refuses the first append."""
    nobody = Granted(genesis(hand.task), 0)
    (voter,) = hand.proposer.voters
    hand.tell(PreVoted(voter, hand.fence, nobody))
    hand.tell(ClaimAnswered(voter, hand.fence, nobody))


def send(hand: Hand, asked: SendPreVote | SendClaim | ReadPrefix | SendAppend) -> None:
    """Carry out an effect that is a request."""
    fired = hand.car.kernel.fired
    match asked:
        case SendClaim() if hand.reason == TOMBSTONE:
            hand.drop()  # nobody has one, and a pre-vote has changed nothing
        case SendPreVote() | SendClaim() if dispatches(hand):
            pass
        case SendAppend(voter=voter, append=append) if dispatches(hand):
            fired["dispatched without a claim"] += 1
            hand.car.ask(hand, SendDispatch(voter, append))
        case SendAppend(append=append) if append.entries and append.entries[-1].seq < len(hand.log):
            fired["append in chunks"] += 1
            hand.car.ask(hand, asked)
        case _:
            hand.car.ask(hand, asked)
