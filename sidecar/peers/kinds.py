"""Everything that one sidecar may ask another, by name: what is asked, what is answered, and in which lane.

One table for both ends, so that they cannot differ. A name that the other side does not know is answered with
*unsupported* and changes nothing, so a later version may ask for more and find out. Kinds may be added; what one
means may not be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, NamedTuple, TypeVar

from msgspec import Meta

from bridge.journal import Entry, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.peers.codec import (
    APPEND_ANSWER,
    CLAIM_ANSWER,
    ENTRIES,
    NOTHING,
    OPAQUE,
    PREFIX,
    YES,
    AppendPacked,
    ClaimPacked,
    RenewalPacked,
    TipPacked,
    append_of,
    append_packed,
    claim_of,
    claim_packed,
    renewal_of,
    renewal_packed,
    tip_packed,
)
from sidecar.peers.packing import NAME, Codec, Packed, Plain, Text, Whole, as_it_is
from sidecar.peers.shapes import (
    KEYS,
    PAGE,
    QUERY,
    ROW,
    ROWS,
    VIEW,
    CardPacked,
    Page,
    RidersPacked,
    TaskQuery,
    card_of,
    card_packed,
    riders_of,
    riders_packed,
)
from sidecar.peers.stands import BEGUN_ANSWER, BEHIND_ANSWER, STANDS, Begun, Stand
from sidecar.peers.told import TOLD, Told
from sidecar.records import KeyRow, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow

CARD_BYTES_MAX = 4 << 20
"""Four times what is taken from an agent: numbers may be longer as they are kept."""

ShortDigest = Annotated[bytes, Meta(max_length=32)]
AgentCard = Annotated[bytes, Meta(max_length=CARD_BYTES_MAX)]

A = TypeVar("A")
B = TypeVar("B")


class ClaimAsk(NamedTuple):
    """A claim, or what would be answered to it; of the voter whose id is ``to``."""

    to: str
    claim: Claim


class AppendAsk(NamedTuple):
    """An append and what travels with it."""

    to: str
    append: Append
    riders: Riders


class PrefixAsk(NamedTuple):
    """The next chunk of a journal's prefix that ends in exactly this tip."""

    to: str
    task: str
    tip: Tip
    after: int


class RenewAsk(NamedTuple):
    """A sidecar lives, and how it is."""

    to: str
    renewal: Renewal
    card: SessionCard


class ReleaseAsk(NamedTuple):
    """A sidecar lets go of everything."""

    to: str
    renewal: Renewal


class EntriesAsk(NamedTuple):
    """Committed entries after a position."""

    task: str
    after: int
    limit: int
    bytes_max: int


class TailAsk(NamedTuple):
    """Committed entries after a position, and all that follow."""

    task: str
    after: int


class Delivery(NamedTuple):
    """Something for a handoff's owner: an input, a cancel, the word that a response was written out."""

    task: str
    kind: str
    body: bytes


class CardAsk(NamedTuple):
    """The card of a group's agents, unless it is the one whose digest this is (b"" for none)."""

    group: str
    digest: bytes


class WorkAsk(NamedTuple):
    """Handoffs at work, but those of these sessions; see ``Reads.handoffs_at_work``."""

    but_of: Sequence[str]
    promised: str
    after: str = ""


class Other(NamedTuple):
    """Anything else between two sidecars that know it."""

    kind: str
    payload: bytes


class _Claim(Packed):
    to: Plain
    claim: ClaimPacked


class _Append(Packed):
    to: Plain
    append: AppendPacked
    riders: RidersPacked


class _Prefix(Packed):
    to: Plain
    task: Plain
    tip: TipPacked
    after: Whole


class _Renew(Packed):
    to: Plain
    renewal: RenewalPacked
    card: CardPacked


class _Release(Packed):
    to: Plain
    renewal: RenewalPacked


class _Entries(Packed):
    task: Plain
    after: Whole
    limit: Whole
    bytes_max: Whole


class _Tail(Packed):
    task: Plain
    after: Whole


class _Delivery(Packed):
    task: Plain
    kind: Plain
    body: bytes


class _Card(Packed):
    group: Text
    digest: ShortDigest


class _Work(Packed):
    but_of: list[Plain]
    promised: Plain
    after: Plain


class _Other(Packed):
    kind: Plain
    payload: bytes


class Kind(NamedTuple, Generic[A, B]):
    """One thing that may be asked.

    Attributes:
        name: as it travels.
        asked: what is asked.
        answered: what is answered, or pushed.
        urgent: it may overtake others; if not, asks arrive in their order.
        bulky: its answer may be long.
    """

    name: str
    asked: Codec[A]
    answered: Codec[B]
    urgent: bool = True
    bulky: bool = False


_CLAIM: Codec[ClaimAsk] = Codec(
    _Claim,
    lambda ask: (ask.to, claim_packed(ask.claim)),
    lambda packed: ClaimAsk(packed.to, claim_of(packed.claim)),
)
_APPEND: Codec[AppendAsk] = Codec(
    _Append,
    lambda ask: (ask.to, append_packed(ask.append), riders_packed(ask.riders)),
    lambda packed: AppendAsk(packed.to, append_of(packed.append), riders_of(packed.riders)),
)
_PREFIX: Codec[PrefixAsk] = Codec(
    _Prefix,
    lambda ask: (ask.to, ask.task, tip_packed(ask.tip), ask.after),
    lambda packed: PrefixAsk(packed.to, packed.task, packed.tip.record(), packed.after),
)
_RENEW: Codec[RenewAsk] = Codec(
    _Renew,
    lambda ask: (ask.to, renewal_packed(ask.renewal), card_packed(ask.card)),
    lambda packed: RenewAsk(packed.to, renewal_of(packed.renewal), card_of(packed.card)),
)
_RELEASE: Codec[ReleaseAsk] = Codec(
    _Release,
    lambda ask: (ask.to, renewal_packed(ask.renewal)),
    lambda packed: ReleaseAsk(packed.to, renewal_of(packed.renewal)),
)
_ENTRIES: Codec[EntriesAsk] = Codec(
    _Entries, tuple, lambda packed: EntriesAsk(packed.task, packed.after, packed.limit, packed.bytes_max)
)
_TAIL: Codec[TailAsk] = Codec(_Tail, tuple, lambda packed: TailAsk(packed.task, packed.after))
_DELIVERY: Codec[Delivery] = Codec(
    _Delivery, tuple, lambda packed: Delivery(packed.task, packed.kind, packed.body)
)
_CARD: Codec[CardAsk] = Codec(_Card, tuple, lambda packed: CardAsk(packed.group, packed.digest))
_CARD_ANSWER: Codec[bytes | None] = Codec(AgentCard | None, as_it_is, as_it_is)
_WORK: Codec[WorkAsk] = Codec(_Work, tuple, lambda packed: WorkAsk(packed.but_of, packed.promised, packed.after))
_OTHER: Codec[Other] = Codec(_Other, tuple, lambda packed: Other(packed.kind, packed.payload))


PRE_VOTE: Kind[ClaimAsk, Granted | Refused] = Kind("pre_vote", _CLAIM, CLAIM_ANSWER)
CLAIM: Kind[ClaimAsk, Granted | Refused] = Kind("claim", _CLAIM, CLAIM_ANSWER, urgent=False)
APPEND: Kind[AppendAsk, Appended | Refused] = Kind("append", _APPEND, APPEND_ANSWER, urgent=False)
READ_PREFIX: Kind[PrefixAsk, tuple[Entry, ...] | None] = Kind("read_prefix", _PREFIX, PREFIX, bulky=True)
RENEW: Kind[RenewAsk, bool] = Kind("renew", _RENEW, YES)
RELEASE: Kind[ReleaseAsk, None] = Kind("release", _RELEASE, NOTHING, urgent=False)
ROW_OF: Kind[str, HandoffRow | None] = Kind("row", NAME, ROW)
VIEW_OF: Kind[str, TaskView | None] = Kind("view", NAME, VIEW, bulky=True)
KEYS_OF: Kind[str, list[KeyRow]] = Kind("keys", NAME, KEYS)
ENTRIES_OF: Kind[EntriesAsk, list[Entry]] = Kind("entries", _ENTRIES, ENTRIES, bulky=True)
LIST: Kind[TaskQuery, Page] = Kind("list", QUERY, PAGE, bulky=True)
TAIL: Kind[TailAsk, list[Entry]] = Kind("tail", _TAIL, ENTRIES)
DELIVER: Kind[Delivery, bytes] = Kind("deliver", _DELIVERY, OPAQUE, urgent=False)
CARD: Kind[CardAsk, bytes | None] = Kind("card", _CARD, _CARD_ANSWER, bulky=True)
BEHIND: Kind[Sequence[Stand], list[str]] = Kind("behind", STANDS, BEHIND_ANSWER)
BEGUN: Kind[int, Sequence[Begun]] = Kind("begun", Codec(Whole, as_it_is, as_it_is), BEGUN_ANSWER)
SESSIONS: Kind[None, list[Told]] = Kind("sessions", NOTHING, TOLD)
AT_WORK: Kind[WorkAsk, list[HandoffRow]] = Kind("at_work", _WORK, ROWS, bulky=True)
GOSSIP: Kind[bytes, bytes] = Kind("gossip", OPAQUE, OPAQUE)
OTHER: Kind[Other, bytes] = Kind("other", _OTHER, OPAQUE)
