"""What a voter says to a claim or an append: Raft per handoff, with the election trigger moved outside.

A voter keeps one journal per handoff, what it has *promised* (the highest fence it said yes to), and what it knows
to be *committed*. These rules make an entry that a majority has acknowledged part of every later owner's journal.
Each closes a hole; a simpler reading of any of them has lost or overwritten acknowledged entries:

- A refusal never raises ``promised``: a candidate that cannot win must not fence a living owner.
- A grant is compared by ``n`` alone, so two sessions never share one ``n``. Only the same fence is a retry.
- An append raises ``promised`` too: a voter that missed the claim must not answer an older owner afterwards.
- Identical entries are skipped and a longer suffix is left alone: a late or repeated append must not shorten a
  journal. Only from the first *different* entry on is the suffix cut.
- ``committed`` moves at most to where this very append proved the journal equal to the sender's.
- A difference at or below ``committed`` is impossible under these rules, so it stops the process.
- An acknowledgement names its fence, position and hash; the tip in a refusal never is one.

The functions are pure: ``store`` carries a decision out in one transaction and answers after its disk write. This
file must not know about clocks, leases (``holder_blocks`` says what they say) or how a journal is stored. The
candidate's side is ``proposer``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from bridge.errors import InvariantViolation
from bridge.journal import NO_FENCE, Entry, Fence, Tip, genesis

GRANT_MS = 500


class Refusal(StrEnum):
    """Why a voter said no."""

    FENCED = "fenced"  # it has promised a higher fence
    HELD = "held"  # a live lease of another session stands in the way
    GRANTED_ELSEWHERE = "granted_elsewhere"  # a short grant for another candidate is running
    GAP = "gap"  # the append does not continue what the voter has
    PURGED = "purged"  # only a tombstone is left
    UNKNOWN_VOTER = "unknown_voter"  # it is not the voter that was asked (``voterid``)
    MISPLACED = "misplaced"  # the dispatch was placed by another version of the member list (``placement``)


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask for a handoff under a new fence.

    Attributes:
        task: public task id.
        fence: ``n`` above every fence that the candidate has seen on this handoff.
        candidate: session of the candidate, the same as in the fence.
        seen: the newest fence of an entry that the candidate has seen. A majority was promised it, so no older
            owner can act any more, wherever its lease still lives.
    """

    task: str
    fence: Fence
    candidate: str
    seen: Fence = NO_FENCE


@dataclass(frozen=True, slots=True)
class Append:
    """Ask a voter to continue a journal.

    Attributes:
        task: public task id.
        fence: of the owner that sends; entries adopted from older owners keep their own.
        after_seq: position that ``entries`` follow, 0 for the beginning.
        after_hash: hash at that position (``genesis`` at 0).
        entries: what follows, linked; empty only to tell ``committed``.
        committed: what the owner knows to be committed.
    """

    task: str
    fence: Fence
    after_seq: int
    after_hash: str
    entries: Sequence[Entry]
    committed: int


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim's yes: the voter's tip (of its last entry) and what it knows to be committed."""

    tip: Tip
    committed: int


@dataclass(frozen=True, slots=True)
class Appended:
    """An append's yes: an acknowledgement is bound to its fence, position and hash.

    Attributes:
        fence: of the append.
        seq: up to where the voter's journal equals the sender's.
        hash: at that position.
        committed: what the voter knows to be committed after it. Not part of what is acknowledged.
    """

    fence: Fence
    seq: int
    hash: str
    committed: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """A no. Its tip is for orientation: it never is an acknowledgement."""

    reason: Refusal
    promised: Fence
    tip: Tip
    committed: int


class VoterView(NamedTuple):
    """What a voter knows about one handoff apart from the entries themselves.

    Attributes:
        promised: the highest fence it said yes to.
        tip: of its last entry.
        committed: position up to which it knows the journal to be committed.
        granted: a claim's fence whose candidate still has time to append, if any.
        granted_until_ms: until when, on the voter's own monotonic clock.
        purged: only the tombstone is left.
    """

    promised: Fence
    tip: Tip
    committed: int = 0
    granted: Fence | None = None
    granted_until_ms: int = 0
    purged: bool = False

    @classmethod
    def empty(cls, task_id: str) -> VoterView:
        """The view of a handoff that the voter has never heard of."""
        return cls(NO_FENCE, genesis(task_id))


class AppendPlan(NamedTuple):
    """What an accepted append does to the stored journal, all of it or nothing.

    Attributes:
        cut_from: position from which stored entries are deleted first; None to delete none.
        add: entries to store afterwards, in order.
    """

    cut_from: int | None
    add: tuple[Entry, ...]


def decide_claim(
    view: VoterView, claim: Claim, *, holder_blocks: bool, now_ms: int, grant_ms: int = GRANT_MS
) -> tuple[VoterView, Granted] | Refused:
    """A voter's answer to a claim; asked without storing the view it is the answer to a pre-vote.

    Args:
        view: what the voter knows.
        claim: what is asked.
        holder_blocks: a live lease of another session stands in the way and no evidence removes it (``lease``).
        now_ms: the voter's monotonic clock.
        grant_ms: how long a grant keeps other candidates away.

    Returns:
        The view to store and the grant to send after storing it; or a refusal, which changes nothing.
    """
    if view.purged:
        return _refused(Refusal.PURGED, view)
    if claim.fence.n <= view.promised.n and claim.fence != view.promised:
        return _refused(Refusal.FENCED, view)
    # A holder whose fence is over only keeps off. Were it heeded, sessions that live, each the last to write at
    # some of the voters and owner of nothing, would keep each other from every majority for as long as they live.
    if holder_blocks and claim.seen <= view.tip.fence:
        return _refused(Refusal.HELD, view)
    granted = view.granted
    if granted is not None and granted.session != claim.candidate and now_ms < view.granted_until_ms:
        return _refused(Refusal.GRANTED_ELSEWHERE, view)
    after = view._replace(promised=claim.fence, granted=claim.fence, granted_until_ms=now_ms + grant_ms)
    return after, Granted(view.tip, view.committed)


def decide_append(
    view: VoterView, append: Append, stored_hash: Callable[[int], str | None], *, voters: int
) -> tuple[VoterView, AppendPlan, Appended] | Refused:
    """A voter's answer to an append.

    Args:
        view: what the voter knows.
        append: what is asked.
        stored_hash: hash of the stored entry at a position from 1 to the tip; None where there is none. Asked only
            below the tip, so an append that continues the journal reads nothing.
        voters: how many voters the handoff has. With one, what it has written is committed.

    Returns:
        The view and the changes to store in one transaction, and the acknowledgement to send after it; or a
        refusal, which changes nothing.

    Raises:
        InvariantViolation: the append differs from what is committed here. The voter must stop.
    """
    if view.purged:
        return _refused(Refusal.PURGED, view)
    if append.fence < view.promised:
        return _refused(Refusal.FENCED, view)
    tip, after_seq = view.tip, append.after_seq
    if after_seq > tip.seq or _hash_at(view, append.task, after_seq, stored_hash) != append.after_hash:
        return _refused(Refusal.GAP, view)
    if not _linked(append):
        return _refused(Refusal.GAP, view)
    known = 0
    for entry in append.entries:
        if entry.seq > tip.seq or _hash_at(view, append.task, entry.seq, stored_hash) != entry.hash:
            break
        known += 1
    add = tuple(append.entries[known:])
    cut_from = add[0].seq if add and add[0].seq <= tip.seq else None
    if cut_from is not None and cut_from <= view.committed:
        raise InvariantViolation(
            f"{append.task}: fence {append.fence.n} differs at entry {cut_from}, committed to {view.committed}"
        )
    end = after_seq + len(append.entries)
    if add:
        tip = Tip(add[-1].fence, add[-1].seq, add[-1].hash)
    committed = tip.seq if voters == 1 else max(view.committed, min(append.committed, end))
    # The grant has done its work once an entry of its fence stands: from there the lease protects the owner.
    granted = None if view.granted == tip.fence else view.granted
    after = VoterView(
        max(view.promised, append.fence), tip, committed, granted, view.granted_until_ms, view.purged
    )
    end_hash = append.entries[-1].hash if append.entries else append.after_hash
    return after, AppendPlan(cut_from, add), Appended(append.fence, end, end_hash, committed)


def decide_dispatch(
    view: VoterView, append: Append, stored_hash: Callable[[int], str | None], *, voters: int
) -> tuple[VoterView, AppendPlan, Appended] | Refused:
    """A voter's answer to the first append of a journal, which claims it in the same transaction.

    Two sidecars that dispatch one message meet here: the second is refused, whatever its fence, because a journal
    that somebody has promised or begun is never a new one. The same append offered again is answered again.

    Args, returns and raises as ``decide_append``.
    """
    if view.purged:
        return _refused(Refusal.PURGED, view)
    begun = view.tip.seq > 0 and (not append.entries or stored_hash(1) != append.entries[0].hash)
    if begun or view.promised not in (NO_FENCE, append.fence):
        return _refused(Refusal.FENCED, view)
    return decide_append(view, append, stored_hash, voters=voters)


def _refused(reason: Refusal, view: VoterView) -> Refused:
    return Refused(reason, view.promised, view.tip, view.committed)


def _hash_at(view: VoterView, task: str, seq: int, stored_hash: Callable[[int], str | None]) -> str | None:
    if seq == view.tip.seq:
        return view.tip.hash
    return genesis(task).hash if seq == 0 else stored_hash(seq)


def _linked(append: Append) -> bool:
    # Hashes are the owner's and ``verify``'s to compute; but entries that do not even name each other, or that
    # claim a newer fence than their sender, are never stored.
    seq, prev = append.after_seq, append.after_hash
    for entry in append.entries:
        seq += 1
        if entry.seq != seq or entry.prev != prev or entry.fence > append.fence:
            return False
        prev = entry.hash
    return True
