"""What all of a sidecar's candidacies have in common: who can be asked, in whose name, and by which clock.

A record without behaviour, so that a handoff's shell needs no global and no reference to its siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bridge.tombstone import Tombstone
from bridge.voterset import Voters
from sidecar.ports import RemoteVoter


class Life(Protocol):
    """The own session, as its voters stand by it (``bridge.session.OwnSession``)."""

    def may_write(self, sets: Sequence[Voters]) -> bool:
        """Whether it lives for handoffs with these voters."""
        ...

    def may_act(self, sets: Sequence[Voters], proven_ms: Mapping[str, int]) -> bool:
        """Whether effects of a handoff with these voters and proofs may begin, and its reads are fresh."""
        ...


def _nothing(*_: object) -> None:
    return None


@dataclass(slots=True)
class Circle:
    """One sidecar's.

    Attributes:
        session: boot nonce, part of every fence.
        own: id of the voter of this host, "" where it has none.
        voters: whoever can be asked, by voter id; it changes as peers become known. Who is missing is unreachable.
        life: the own session.
        now_ms: the sidecar's monotonic clock.
        candidacy_s: a candidate that comes no further for so long gives up: no majority answers.
        answer_s: after so long an append that no majority has taken is unknown to who waits; it stays under way.
        linger_s: how long what has ended is kept for what may follow an end.
        taken_in: told which inbox rows of this host are committed in a handoff that this host is no voter of.
        buried: told of every tombstone that a voter shows.
    """

    session: str
    own: str
    voters: Mapping[str, RemoteVoter]
    life: Life
    now_ms: Callable[[], int]
    candidacy_s: float = 2.0
    answer_s: float = 2.0
    linger_s: float = 120.0
    taken_in: Callable[[Sequence[int]], None] = _nothing
    buried: Callable[[Tombstone], None] = _nothing
