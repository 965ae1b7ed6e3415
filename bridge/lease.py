"""When a session counts as living, and when another may try to take over from it.

A sidecar holds one session that covers all of its handoffs. The two sides count differently on purpose: a voter
counts from *receipt* of a renewal and adds a margin, the owner counts from its *send* and subtracts one. Whatever
the network delays, the owner stops before anybody else may start. Only durations travel between hosts; every
``now_ms`` is the reader's own monotonic clock (CLOCK_BOOTTIME), passed in by the caller.

Leases decide when to *try*. Whose writes count is decided by fences (``quorum``): a wrong clock may waste work, it
never forks a journal. This file must not know how a renewal is sent or where it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

LEASE_TTL_MS = 3_000
LEASE_MARGIN_MS = 300


@dataclass(frozen=True, slots=True)
class Lease:
    """One side's knowledge of a session's lease.

    Attributes:
        session: boot nonce of the sidecar that holds it.
        since_ms: of the last renewal: its receipt on a voter's side, its send on the owner's.
        ttl_ms: how long a renewal lasts.
        margin_ms: what a voter adds and an owner subtracts.
        boot: the host's boot id where ``since_ms`` was stored beyond a process's life; "" where it was not.
    """

    session: str
    since_ms: int
    ttl_ms: int = LEASE_TTL_MS
    margin_ms: int = LEASE_MARGIN_MS
    boot: str = ""


class Evidence(StrEnum):
    """What suggests that a holder is gone. All but the last two prove it and skip the wait."""

    RELEASED = "released"  # the owner let go: it drains, or its agent died
    NEWER_BOOT = "newer_boot"  # the same member is back under another session
    LOCK_FREED = "lock_freed"  # the kernel freed the holder's file lock on this host
    EXPIRED = "expired"  # no renewal for long enough; the clock must agree
    REFUSED = "refused"  # its address refuses connections


_PROOF = (Evidence.RELEASED, Evidence.NEWER_BOOT, Evidence.LOCK_FREED)


def renewed(lease: Lease, at_ms: int) -> Lease:
    """The lease after a renewal sent (owner) or received (voter) at ``at_ms``; an older one changes nothing."""
    return lease if at_ms <= lease.since_ms else replace(lease, since_ms=at_ms)


def live(lease: Lease, now_ms: int, *, boot: str = "") -> bool:
    """A voter's side: whether the session must still be taken for living.

    Args:
        lease: as received.
        now_ms: the voter's clock.
        boot: the host's boot id now. A lease stored under another boot belongs to a process that is gone, and its
            ``since_ms`` means nothing on today's clock.
    """
    if lease.boot != boot:
        return False
    return now_ms < lease.since_ms + lease.ttl_ms + lease.margin_ms


def may_write(lease: Lease, now_ms: int) -> bool:
    """An owner's side: whether it may begin effects and call its reads fresh.

    False means *lapsed*: the run goes on, its output is buffered and unshown until a voter answers again.
    """
    return now_ms < lease.since_ms + lease.ttl_ms - lease.margin_ms


def renewal_due(lease: Lease, now_ms: int) -> bool:
    """An owner's side: whether it is time to renew (every quarter of the TTL, mostly for free on appends)."""
    return now_ms >= lease.since_ms + lease.ttl_ms // 4


def forgetful(booted_ms: int, now_ms: int, ttl_ms: int = LEASE_TTL_MS, margin_ms: int = LEASE_MARGIN_MS) -> bool:
    """Whether a voter that keeps leases in memory booted so recently that it must refuse unproven claims.

    It has forgotten which renewals it answered; after one TTL plus margin all of those have run out.
    """
    return now_ms < booted_ms + ttl_ms + margin_ms


def may_claim(
    holder: Lease | None,
    evidence: Evidence | None,
    now_ms: int,
    *,
    boot: str = "",
    refused_is_dead: bool = False,
) -> bool:
    """Whether a claim against this holder is worth sending, and whether a voter lets it pass.

    Args:
        holder: the last owner's lease as known here; None where it never had one.
        evidence: what was seen of the holder, if anything.
        now_ms: the reader's clock.
        boot: the host's boot id, as in ``live``.
        refused_is_dead: the operator says that addresses are never reused, so a refused connection is proof.
    """
    if holder is None or evidence in _PROOF:
        return True
    if evidence is Evidence.REFUSED and refused_is_dead:
        return True
    # Expiry is judged by this reader's own clock: another's word that a lease ran out is a reason to look only.
    return not live(holder, now_ms, boot=boot)
