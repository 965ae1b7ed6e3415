"""One lease per sidecar and life, as its voters hear of it and as it counts itself.

A *session* covers all handoffs of a sidecar, so liveness costs one renewal per voter however many tasks run. A
voter keeps what it heard in memory; after its own boot it has forgotten what it granted, and waits. The owner
counts each voter from the *send* of the renewal that it answered, and may act on a handoff while a majority of
that handoff's voters stands by it: so whoever wins a majority for a takeover had to get past one of them.

A lease that was lost and came back says nothing about single handoffs: in between a voter may have granted one of
them to somebody else. So each is *proven* anew, by an append that the voter takes, and a voter stands by a handoff
only while its lease has not been lost since.

The failures this prevents: a takeover while the owner still calls its reads fresh, a late message of an
earlier life that brings a dead session back, and a memory that grows with every restart of a member. This file
must not know how a renewal travels; whose writes count is ``quorum``'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridge.lease import (
    LEASE_MARGIN_MS,
    LEASE_TTL_MS,
    Evidence,
    Lease,
    forgetful,
    live,
    may_claim,
    may_write,
    renewal_due,
    renewed,
)
from bridge.voterset import Voters, has_majority


class Renewal(NamedTuple):
    """A sidecar's word that it lives.

    Attributes:
        member: the sidecar, in every life.
        incarnation: which life; grows with each, and is stored by the member.
        session: boot nonce of that life.
    """

    member: str
    incarnation: int
    session: str


class SessionsHeard:
    """A voter's memory of sessions, all times by its own monotonic clock.

    It remembers the newest life of each member and the leases that live. That a session is over has to be
    remembered only as long as the voter is forgetful: afterwards a session without a lease blocks nobody.

    Args:
        booted_ms: when this voter began to listen.
        ttl_ms: how long a renewal lasts.
        margin_ms: what is added to it.
        refused_is_dead: see ``may_claim``.
    """

    def __init__(
        self,
        booted_ms: int,
        ttl_ms: int = LEASE_TTL_MS,
        margin_ms: int = LEASE_MARGIN_MS,
        *,
        refused_is_dead: bool = False,
    ) -> None:
        self._booted_ms, self._ttl_ms, self._margin_ms = booted_ms, ttl_ms, margin_ms
        self._refused_is_dead = refused_is_dead
        self._leases: dict[str, Lease] = {}
        self._newest: dict[str, Renewal] = {}
        self._released: dict[str, str] = {}
        self._over: dict[str, Evidence] = {}

    def renewed(self, renewal: Renewal, now_ms: int) -> bool:
        """A renewal was received.

        Returns:
            Whether this voter stands by the session now, which it may answer. Not by an earlier life, by one that
            has released, nor by a second life under one incarnation: that member is a copy of another.
        """
        member, _, session = renewal
        if not self._newest_life(renewal, now_ms) or self._released.get(member) == session:
            return False
        lease = Lease(session, now_ms, self._ttl_ms, self._margin_ms)
        self._leases[session] = renewed(self._leases.get(session, lease), now_ms)
        self._leases = {name: each for name, each in self._leases.items() if live(each, now_ms)}
        return True

    def released(self, renewal: Renewal, now_ms: int) -> None:
        """The session let go of everything: it drains and begins nothing any more."""
        if self._newest_life(renewal, now_ms):
            # Kept until a newer life is heard of: a late renewal must not bring it back.
            self._released[renewal.member] = renewal.session
            self._ends(renewal.session, Evidence.RELEASED, now_ms)

    def blocks(self, holder: str, candidate: str, now_ms: int, evidence: Evidence | None = None) -> bool:
        """Whether a holder's session stands in the way of a candidate's claim (``decide_claim``).

        Args:
            holder: session of the last owner, "" where there is none.
            candidate: session that claims.
            now_ms: the voter's clock.
            evidence: what else is known of the holder here.
        """
        if holder in ("", candidate):
            return False
        lease = self._leases.get(holder)
        if lease is None and self._forgetful(now_ms):
            # It may have been renewed here in the life before: until that has run out, as if at this boot.
            lease = Lease(holder, self._booted_ms, self._ttl_ms, self._margin_ms)
        evidence = self._over.get(holder, evidence)
        return not may_claim(lease, evidence, now_ms, refused_is_dead=self._refused_is_dead)

    def _newest_life(self, renewal: Renewal, now_ms: int) -> bool:
        newest = self._newest.get(renewal.member)
        if newest is None or renewal.incarnation > newest.incarnation:
            self._newest[renewal.member] = renewal
            if newest is not None:
                self._ends(newest.session, Evidence.NEWER_BOOT, now_ms)
        elif renewal.incarnation < newest.incarnation:
            self._ends(renewal.session, Evidence.NEWER_BOOT, now_ms)
        return renewal == self._newest[renewal.member]

    def _ends(self, session: str, evidence: Evidence, now_ms: int) -> None:
        self._leases.pop(session, None)
        if self._forgetful(now_ms):
            self._over[session] = evidence
        else:
            self._over = {}

    def _forgetful(self, now_ms: int) -> bool:
        return forgetful(self._booted_ms, now_ms, self._ttl_ms, self._margin_ms)


class OwnSession:
    """The owner's side: what its voters have answered, counted from when it asked.

    Args:
        session: its boot nonce.
        ttl_ms: how long a renewal lasts.
        margin_ms: what is subtracted from it.
    """

    def __init__(self, session: str, ttl_ms: int = LEASE_TTL_MS, margin_ms: int = LEASE_MARGIN_MS) -> None:
        self.session = session
        self._ttl_ms, self._margin_ms = ttl_ms, margin_ms
        self._leases: dict[str, Lease] = {}
        self._unbroken_ms: dict[str, int] = {}  # send of the first answer since which the lease never was lost

    def answered(self, voter: str, sent_ms: int, now_ms: int) -> bool:
        """A voter answered, now, what was sent to it then: a renewal, or an append, which is one.

        A renewal that failed is unknown, not lost: nothing is to be told here.

        Returns:
            Whether it stands by the session again, or for the first time: handoffs are to be proven to it.
        """
        lease = self._leases.get(voter)
        lost = lease is None or not may_write(lease, now_ms)
        after = renewed(lease or Lease(self.session, sent_ms, self._ttl_ms, self._margin_ms), sent_ms)
        self._leases[voter] = after
        if lost:
            self._unbroken_ms[voter] = sent_ms
        return lost and may_write(after, now_ms)

    def due(self, voter: str, now_ms: int) -> bool:
        """Whether it is time to renew at this voter."""
        return voter not in self._leases or renewal_due(self._leases[voter], now_ms)

    def may_write(self, sets: Sequence[Voters], now_ms: int) -> bool:
        """Whether the session lives for handoffs with these voters; if not it has lapsed: output is held back."""
        return has_majority(sets, [voter for voter, lease in self._leases.items() if may_write(lease, now_ms)])

    def may_act(self, sets: Sequence[Voters], proven_ms: Mapping[str, int], now_ms: int) -> bool:
        """Whether effects of one handoff may begin and its reads are fresh.

        Args:
            sets: whose majorities count for it.
            proven_ms: when each voter was sent the last append that it took under the owner's fence, of a journal
                that had the fence's ``claimed``. While its lease was not lost since, it grants to nobody else.
            now_ms: the owner's clock.
        """
        unbroken = [voter for voter, ms in proven_ms.items() if ms >= self._unbroken_ms.get(voter, ms + 1)]
        return has_majority(sets, [voter for voter in unbroken if may_write(self._leases[voter], now_ms)])
