"""What a sweep has to know of a journal, folded from the kinds of its entries alone.

A voter keeps it in the handoff's row and moves it on with every append; so whoever looks for work goes through
rows and reads no journal. It says *that* something is due, never what: who claims the handoff folds the journal.
The failures it prevents: a waiting handoff that costs something at every look, and one that has work and is passed
by, because the row that an owner writes for reads never came to this voter.

This file must not know bodies: they may be large, and a superseded one may be gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from bridge.handoff import TRANSITIONS, State
from bridge.journal import TERMINAL, Kind

WORKING: Final[frozenset[State]] = frozenset(
    {State.DISPATCHED, State.CLAIMED, State.RUNNING, State.ORPHANED},
)
"""Somebody has to act, or does."""

_DUE: Final = {Kind.INPUT: True, Kind.BOUND: False, Kind.SUSPENDED: False}
_RELEASED: Final = {Kind.ORPHANED: True, Kind.CLAIMED: False, **dict.fromkeys(TERMINAL, False)}

TELLING: Final[frozenset[Kind]] = frozenset(
    {kind for state, moves in TRANSITIONS.items() for kind, to in moves.items() if to is not state}
    | {Kind.CANCEL, *_DUE, *_RELEASED}
)
"""Kinds that can change a gist. A stream's events are not among them and cost nothing."""


def at_work(state: State, *, due: bool, cancel: bool) -> State:
    """The word that a sweep looks for: a handoff that waits counts as claimed once it has been given work.

    Args:
        state: where it is.
        due: a client's message came after the question. With it a run can go on; an operator's word it is not.
        cancel: a wish to cancel, which needs neither the client's answer nor the operator's.
    """
    if (state is State.SUSPENDED and (due or cancel)) or (state is State.REVIEW and cancel):
        return State.CLAIMED
    return state


class Gist(NamedTuple):
    """What the kinds of a journal's entries say.

    Attributes:
        state: where the handoff is in ``TRANSITIONS``.
        due: a client's message stands after the last binding and the last question (``Handoff.due``).
        cancel: a client has wished to cancel.
        released: its owner gave it up (``orphaned``) and nobody has claimed it since.
    """

    state: State = State.ABSENT
    due: bool = False
    cancel: bool = False
    released: bool = False

    @property
    def word(self) -> State:
        """See ``at_work``."""
        return at_work(self.state, due=self.due, cancel=self.cancel)


def folded(gist: Gist, kinds: Iterable[Kind]) -> Gist:
    """The gist after more entries; those that are not ``TELLING`` may be left out.

    A kind that may not stand where it does moves nothing: a voter stores what its owner sends, and whoever folds
    the journal finds out.
    """
    state, due, cancel, released = gist
    for kind in kinds:
        state = TRANSITIONS[state].get(kind, state)
        due = _DUE.get(kind, due)
        cancel = cancel or kind is Kind.CANCEL
        released = _RELEASED.get(kind, released)
    return Gist(state, due, cancel, released)
