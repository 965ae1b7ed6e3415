"""Which sidecar owns which handoff, as far as has been heard: for routing and for people, never for a fence.

Owners announce two things of a handoff: that they own it now, and that they do no more (it ended, or they let go).
Records merge by the highest fence; at one fence the later word wins; and *ended stays ended*: a higher fence on
top of an end only seals it. The view may lag and may forget. Who needs to be right asks the handoff's voters.

*Memory is bounded.* Beyond ``records_max`` what is over is forgotten, oldest first. A forgotten record must not
come back as news, or it would travel for ever between members that forget at different times. So each owner
numbers its announcements (``Stamp``), and of each owner a *watermark* is kept, the newest stamp that was
forgotten: an unknown record at or below it is no news. Two things are exempt and still come to rest. A handoff
that its owner itself says it has is always news; and an owner that hears of a handoff "of its own" which it does
not have denies it, as news: that is what ends a record whose end went unheard.

Only handoffs that somebody owns are in ``buckets``: members may differ in what is over. This file must not know
about members, time or messages.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

from bridge.gossip import checked
from bridge.gossip.buckets import Buckets
from bridge.journal import Fence

RECORDS_MAX = 50_000  # about 25 MB; more than this many living handoffs in one cluster cannot all be known
WATERMARKS_MAX = 5_000
OWNER_BUCKETS = 256


class Tenure(StrEnum):
    """What has become of an ownership."""

    OWNS = "owns"  # the owner runs it, or waits with it for its client
    LET_GO = "let_go"  # the owner gave it up, or does not have it; who is next is not known yet
    ENDED = "ended"  # a terminal entry is committed


_LATER: Final = {tenure: place for place, tenure in enumerate(Tenure)}


class Stamp(NamedTuple):
    """Which announcement of its owner a record is.

    Attributes:
        life: of the owner, as in its incarnation.
        number: grows with each announcement of that life.
    """

    life: int
    number: int


class Owned(NamedTuple):
    """One handoff's owner.

    Attributes:
        task: public task id.
        fence: of the ownership.
        owner: name of the member.
        stamp: of the announcement.
        tenure: what has become of it.
    """

    task: str
    fence: Fence
    owner: str
    stamp: Stamp
    tenure: Tenure = Tenure.OWNS


def merged(one: Owned, other: Owned) -> Owned:
    """What two records of one handoff say together: commutative, associative, idempotent; nothing goes back."""
    low, high = sorted((one, other), key=lambda record: (record.fence, record.owner))
    same = (low.fence, low.owner) == (high.fence, high.owner)
    later = high.tenure
    if low.tenure is Tenure.ENDED or (same and _LATER[low.tenure] > _LATER[later]):
        later = low.tenure
    return high._replace(stamp=max(low.stamp, high.stamp) if same else high.stamp, tenure=later)


class OwnerView:
    """What one member has heard.

    Args:
        me: its name.
        records_max: how many records it keeps.

    Attributes:
        buckets: digests of what somebody owns.
    """

    def __init__(self, me: str, records_max: int = RECORDS_MAX) -> None:
        self.buckets = Buckets(OWNER_BUCKETS)
        self._me, self._records_max = me, records_max
        self._living: dict[str, Owned] = {}  # oldest change first, as is ``_over``
        self._over: dict[str, Owned] = {}
        self._watermark: dict[str, Stamp] = {}
        self._number = 0

    def of(self, task: str) -> Owned | None:
        """What is known of a handoff; None may mean that it was forgotten."""
        return self._living.get(task) or self._over.get(task)

    def living(self) -> list[Owned]:
        """Every handoff that somebody owns, oldest change first."""
        return list(self._living.values())

    def announce(self, task: str, fence: Fence, tenure: Tenure, life: int) -> Owned:
        """This member owns a handoff, or does no more.

        Args:
            task: public task id.
            fence: of its ownership, whose ``claimed`` is committed.
            tenure: ``ENDED`` only if a terminal entry is known to be committed; also by whoever seals one.
            life: this member's.

        Returns:
            What to tell the others.
        """
        self._number += 1
        record = Owned(task, fence, self._me, Stamp(life, self._number), tenure)
        known = self.of(task)
        return self._put(record if known is None else merged(known, record))

    def hear(self, record: Owned, life: int, *, first_hand: bool = False) -> Owned | None:
        """Another member says so.

        Args:
            record: what it says.
            life: this member's.
            first_hand: the record's owner said so itself.

        Returns:
            What to pass on; None if it is no news.
        """
        known = self.of(record.task)
        if known is not None:
            both = merged(known, record)
            return None if both == known else self._put(both)
        if record.owner == self._me:
            # Not in the table, and what is one's own is not forgotten while it lives: somebody missed its end.
            if record.tenure is not Tenure.OWNS:
                return None
            return self.announce(record.task, record.fence, Tenure.LET_GO, life)
        forgotten = self._watermark.get(record.owner)
        if (
            forgotten is not None
            and record.stamp <= forgotten
            and not (first_hand and record.tenure is Tenure.OWNS)
        ):
            return None
        return self._put(record)

    def forget(self, owner: str) -> None:
        """A member is forgotten, and with it what it owned: its records are not to be taken again before it is."""
        self._watermark.pop(owner, None)
        for task in [
            task for task, record in (*self._living.items(), *self._over.items()) if record.owner == owner
        ]:
            self._remove(task)

    def __len__(self) -> int:
        return len(self._living) + len(self._over)

    def _put(self, record: Owned) -> Owned:
        self._remove(record.task)
        if record.tenure is Tenure.OWNS:
            self._living[record.task] = record
            self.buckets.put(record.task, *record.fence, record.owner, *record.stamp)
        else:
            self._over[record.task] = record
        if len(self) > self._records_max:
            self._evict()
        return record

    def _evict(self) -> None:
        # What is over first; then what others own. What this member owns itself is bounded by what it can run.
        others = (task for task, record in self._living.items() if record.owner != self._me)
        oldest = next(iter(self._over), None) or next(others, None)
        if oldest is not None:
            gone = self._remove(oldest)
            assert gone is not None
            self._watermark[gone.owner] = max(gone.stamp, self._watermark.pop(gone.owner, gone.stamp))
            if len(self._watermark) > WATERMARKS_MAX:
                del self._watermark[next(iter(self._watermark))]  # of whom nothing was forgotten for longest

    def _remove(self, task: str) -> Owned | None:
        self.buckets.drop(task)
        living = self._living.pop(task, None)
        return living or self._over.pop(task, None)


def owned_row(record: Owned) -> list[Any]:
    """A record as it travels."""
    return [record.task, *record.fence, record.owner, *record.stamp, record.tenure.value]


def read_owned(value: object) -> Owned:
    """A record from outside.

    Raises:
        MalformedGossip: not such a list, or a field beyond its bounds.
    """
    task, number, session, owner, life, stamped, tenure, *_ = checked.row(value, "owned", least=7)
    return Owned(
        checked.name(task, "task"),
        Fence(checked.whole(number, "fence"), checked.name(session, "session")),
        checked.name(owner, "owner"),
        Stamp(checked.whole(life, "life"), checked.whole(stamped, "stamp")),
        checked.one_of(Tenure, tenure, "tenure"),
    )
