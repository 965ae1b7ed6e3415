"""One lease per sidecar and life, as its voters hear of it and as it counts itself.

A *session* covers all handoffs of a sidecar, so liveness costs one renewal per voter however many tasks run. A
voter keeps what it heard in memory; after its own boot it has forgotten what it granted, and waits. The owner
counts each voter from the *send* of the renewal that it answered, and may act on a handoff while a majority of
that handoff's voters stands by it: so whoever wins a majority for a takeover had to get past one of them.

The failures this prevents: a takeover while the owner still calls its reads fresh, and a late message of an
earlier life that brings a dead session back. This file must not know how a renewal travels; whose writes count is
``quorum``'s.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    Args:
        booted_ms: when this voter began to listen.
        ttl_ms: how long a renewal lasts.
        margin_ms: what is added to it.
    """

    def __init__(self, booted_ms: int, ttl_ms: int = LEASE_TTL_MS, margin_ms: int = LEASE_MARGIN_MS) -> None:
        self._booted_ms, self._ttl_ms, self._margin_ms = booted_ms, ttl_ms, margin_ms
        self._leases: dict[str, Lease] = {}
        self._newest: dict[str, Renewal] = {}
        self._gone: dict[str, Evidence] = {}

    def renewed(self, renewal: Renewal, now_ms: int) -> None:
        """A renewal was received; those of an earlier life or of a released session change nothing."""
        newest = self._newest.get(renewal.member, renewal)
        if renewal.incarnation < newest.incarnation or renewal.session in self._gone:
            return
        if newest.session != renewal.session:
            self._gone[newest.session] = Evidence.NEWER_BOOT
        self._newest[renewal.member] = renewal
        lease = Lease(renewal.session, now_ms, self._ttl_ms, self._margin_ms)
        self._leases[renewal.session] = renewed(self._leases.get(renewal.session, lease), now_ms)
        self._leases = {name: each for name, each in self._leases.items() if live(each, now_ms)}

    def released(self, session: str) -> None:
        """The session let go of everything: it drains and begins nothing any more."""
        self._gone[session] = Evidence.RELEASED

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
        if lease is None and forgetful(self._booted_ms, now_ms, self._ttl_ms, self._margin_ms):
            # It may have been renewed here in the life before: until that has run out, as if at this boot.
            lease = Lease(holder, self._booted_ms, self._ttl_ms, self._margin_ms)
        return not may_claim(lease, self._gone.get(holder, evidence), now_ms)


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

    def answered(self, voter: str, sent_ms: int) -> None:
        """A voter answered what was sent to it then: a renewal, or an append, which is one.

        A renewal that failed is unknown, not lost: nothing is to be told here.
        """
        lease = Lease(self.session, sent_ms, self._ttl_ms, self._margin_ms)
        self._leases[voter] = renewed(self._leases.get(voter, lease), sent_ms)

    def due(self, voter: str, now_ms: int) -> bool:
        """Whether it is time to renew at this voter."""
        return voter not in self._leases or renewal_due(self._leases[voter], now_ms)

    def may_write(self, sets: Sequence[Voters], now_ms: int) -> bool:
        """Whether effects of a handoff with these voters may begin and its reads are fresh; else it has lapsed."""
        living = [voter for voter, lease in self._leases.items() if may_write(lease, now_ms)]
        return has_majority(sets, living)
