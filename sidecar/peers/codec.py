"""What sidecars say to each other about journals, as bytes and back.

Shapes travel as arrays: a later version may add fields at the end with a default, and both read each other. Hashes
travel as the 32 bytes that they are. The failure this prevents: an entry that cannot be one, met deep inside
instead of at the door.

This file must not know who asks, or what any of it means.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field

from bridge.journal import NO_FENCE, Entry, Fence, Kind, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from bridge.session import Renewal
from sidecar.peers.packing import Codec, Digest, Packed, Plain, Text, Whole, as_it_is


class FencePacked(Packed):
    """A fence."""

    n: Whole
    session: Plain

    def record(self) -> Fence:
        """As the rules know it."""
        return Fence(self.n, self.session)


class TipPacked(Packed):
    """A tip."""

    fence: FencePacked
    seq: Whole
    hash: Digest

    def record(self) -> Tip:
        """As the rules know it."""
        return Tip(self.fence.record(), self.seq, self.hash.hex())


class EntryPacked(Packed):
    """An entry: header and body."""

    seq: Whole
    n: Whole
    session: Plain
    kind: Kind
    at: Whole
    body_hash: Digest
    prev: Digest
    hash: Digest
    body: bytes | None

    def record(self) -> Entry:
        """As the rules know it."""
        return Entry(
            self.seq,
            Fence(self.n, self.session),
            self.kind,
            self.at,
            self.body_hash.hex(),
            self.prev.hex(),
            self.hash.hex(),
            self.body,
        )


class ClaimPacked(Packed):
    """A claim."""

    task: Plain
    fence: FencePacked
    candidate: Plain
    seen: FencePacked = field(default_factory=lambda: FencePacked(*NO_FENCE))


class AppendPacked(Packed):
    """An append."""

    task: Plain
    fence: FencePacked
    after_seq: Whole
    after_hash: Digest
    entries: list[EntryPacked]
    committed: Whole


class RenewalPacked(Packed):
    """A sidecar's word that it lives."""

    member: Text
    incarnation: Whole
    session: Plain


class GrantedPacked(Packed, tag=1):
    """A claim's yes."""

    tip: TipPacked
    committed: Whole


class AppendedPacked(Packed, tag=2):
    """An append's yes."""

    fence: FencePacked
    seq: Whole
    hash: Digest
    committed: Whole


class RefusedPacked(Packed, tag=3):
    """A no."""

    reason: Refusal
    promised: FencePacked
    tip: TipPacked
    committed: Whole


def entry_packed(entry: Entry) -> object:
    """An entry, to be encoded."""
    seq, (n, session), kind, at, body_hash, prev, digest, body = entry
    return (seq, n, session, kind, at, _raw(body_hash), _raw(prev), _raw(digest), body)


def tip_packed(tip: Tip) -> object:
    """A tip, to be encoded."""
    return (tip.fence, tip.seq, _raw(tip.hash))


def entries_packed(entries: Sequence[Entry]) -> object:
    """Entries, to be encoded."""
    return [entry_packed(entry) for entry in entries]


def claim_packed(claim: Claim) -> object:
    """A claim, to be encoded."""
    return (claim.task, claim.fence, claim.candidate, claim.seen)


def claim_of(packed: ClaimPacked) -> Claim:
    """As the rules know it."""
    return Claim(packed.task, packed.fence.record(), packed.candidate, packed.seen.record())


def append_packed(append: Append) -> object:
    """An append, to be encoded."""
    after_hash, entries = _raw(append.after_hash), entries_packed(append.entries)
    return (append.task, append.fence, append.after_seq, after_hash, entries, append.committed)


def append_of(packed: AppendPacked) -> Append:
    """As the rules know it. That its entries are a chain is for the voter to see, before it stores them."""
    entries, after_hash = [each.record() for each in packed.entries], packed.after_hash.hex()
    return Append(packed.task, packed.fence.record(), packed.after_seq, after_hash, entries, packed.committed)


def renewal_packed(renewal: Renewal) -> object:
    """A renewal, to be encoded."""
    return tuple(renewal)


def renewal_of(packed: RenewalPacked) -> Renewal:
    """As the rules know it."""
    return Renewal(packed.member, packed.incarnation, packed.session)


def _answer_packed(answer: Granted | Appended | Refused) -> object:
    match answer:
        case Granted():
            return (1, tip_packed(answer.tip), answer.committed)
        case Appended():
            return (2, answer.fence, answer.seq, _raw(answer.hash), answer.committed)
        case Refused():
            return (3, answer.reason, answer.promised, tip_packed(answer.tip), answer.committed)


def _refused(packed: RefusedPacked) -> Refused:
    return Refused(packed.reason, packed.promised.record(), packed.tip.record(), packed.committed)


def _claim_answer(packed: GrantedPacked | RefusedPacked) -> Granted | Refused:
    if isinstance(packed, RefusedPacked):
        return _refused(packed)
    return Granted(packed.tip.record(), packed.committed)


def _append_answer(packed: AppendedPacked | RefusedPacked) -> Appended | Refused:
    if isinstance(packed, RefusedPacked):
        return _refused(packed)
    return Appended(packed.fence.record(), packed.seq, packed.hash.hex(), packed.committed)


def _prefix(packed: list[EntryPacked] | None) -> tuple[Entry, ...] | None:
    return None if packed is None else tuple([each.record() for each in packed])


def _raw(digest: str) -> bytes:
    return bytes.fromhex(digest)


CLAIM_ANSWER: Codec[Granted | Refused] = Codec(GrantedPacked | RefusedPacked, _answer_packed, _claim_answer)
APPEND_ANSWER: Codec[Appended | Refused] = Codec(AppendedPacked | RefusedPacked, _answer_packed, _append_answer)
PREFIX: Codec[tuple[Entry, ...] | None] = Codec(
    list[EntryPacked] | None, lambda entries: None if entries is None else entries_packed(entries), _prefix
)
ENTRIES: Codec[list[Entry]] = Codec(
    list[EntryPacked], entries_packed, lambda packed: [each.record() for each in packed]
)
YES: Codec[bool] = Codec(bool, as_it_is, as_it_is)
NOTHING: Codec[None] = Codec(None, as_it_is, as_it_is)
OPAQUE: Codec[bytes] = Codec(bytes, as_it_is, as_it_is)
