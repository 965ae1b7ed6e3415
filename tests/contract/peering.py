"""A store as one voter among several, for tests: what it has heard of sessions is said by the test."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.quorum import Append, Appended
from bridge.session import Renewal
from sidecar.records import SessionCard
from sidecar.store import LocalVoter
from tests.contract.journals import events

BEGIN = [Draft(Kind.DISPATCHED, b'{"task":"t"}'), Draft(Kind.CLAIMED, b'{"owner":"a"}')]
FIRST = Fence(1, "aa")


class Said:
    """Implements ``Heard``.

    Attributes:
        living: sessions that stand in others' way.
        renewals, releases: as they came.
    """

    def __init__(self) -> None:
        self.living: set[str] = set()
        self.renewals: list[tuple[Renewal, SessionCard]] = []
        self.releases: list[Renewal] = []

    def renewed(self, renewal: Renewal, card: SessionCard) -> bool:
        self.renewals.append((renewal, card))
        return True

    def released(self, renewal: Renewal) -> None:
        self.releases.append(renewal)

    def blocks(self, holder: str, candidate: str) -> bool:
        return holder in self.living and holder != candidate


def part(
    task: str, log: Sequence[Entry], after: int, by: Fence, committed: int, until: int | None = None
) -> Append:
    """An append of a part of a journal."""
    before = log[:after]
    return Append(task, by, after, tip_of(task, before).hash, tuple(log[after:until]), committed)


def grown(task: str, log: Sequence[Entry], by: Fence, drafts: Sequence[Draft]) -> list[Entry]:
    """A journal that goes on."""
    return [*log, *chain(tip_of(task, log) if log else genesis(task), by, 1, drafts)]


def journal(count: int, by: Fence = FIRST) -> list[Entry]:
    """A journal of task t: its beginning and so many events."""
    return grown("t", [], by, [*BEGIN, *events(count)])


async def begun(voter: LocalVoter, log: Sequence[Entry], committed: int) -> None:
    """Have a voter store a journal of task t, by its own first owner."""
    assert isinstance(await voter.append_soon(part("t", log, 0, log[0].fence, committed)), Appended)
