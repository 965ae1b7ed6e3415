"""What members send each other: plain JSON values with a version, checked whole before anything of them counts.

Each message says who sends it, to whom, and may carry news of any kind besides its own business. Fields that are
unknown here are ignored and records may be longer than they are known here, so that the next version can talk to
this one; ``v`` is the least version that a reader must understand.

A message is for one member: where a host's address now belongs to another member, that one must not answer for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from bridge.errors import ForeignGossip, MalformedGossip
from bridge.gossip import checked
from bridge.gossip.member import MEMBER_BUCKETS, Accusation, Told, accused_row, read_accused, read_told, told_row
from bridge.gossip.owners import OWNER_BUCKETS, Owned, owned_row, read_owned

VERSION = 1
RECORDS_IN_MESSAGE_MAX = 4_096
WAIT_MS_MAX = 60_000


class Kind(StrEnum):
    """What a message is for."""

    PING = "ping"  # answer that you live
    ACK = "ack"  # the one that was pinged lives
    ASK = "ask"  # ping that member for me
    NACK = "nack"  # I live, and it did not answer me either
    TELL = "tell"  # news, and nothing else
    SYNC = "sync"  # are our tables equal?
    DIGESTS = "digests"  # they are not: these are mine, bucket by bucket
    OFFER = "offer"  # all that I have in the buckets that differ
    ANSWER = "answer"  # what you lack of them


class News(NamedTuple):
    """What a message passes on.

    Attributes:
        told: words of members.
        accused: who is accused.
        owned: who owns what.
    """

    told: tuple[Told, ...] = ()
    accused: tuple[tuple[str, Accusation], ...] = ()
    owned: tuple[Owned, ...] = ()


NO_NEWS = News()


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        kind: what it is for; the fields from ``seq`` on are used as ``HAS`` says.
        sender: name of the member that sends.
        to: name of the member that is meant; "" where only an address is known.
        news: what it passes on.
        seq: which ping an ack, nack belongs to; of the one that asked.
        target: who shall be pinged.
        wait_ms: how long the one that asks waits.
        members: digests, roots (one number) or numbers of buckets of the members' table.
        owners: the same of the owners' table.
        more: not everything fitted.
    """

    kind: Kind
    sender: str
    to: str = ""
    news: News = NO_NEWS
    seq: int = 0
    target: str = ""
    wait_ms: int = 0
    members: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    more: bool = False


HAS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.PING: ("seq",),
    Kind.ACK: ("seq",),
    Kind.ASK: ("seq", "target", "wait_ms"),
    Kind.NACK: ("seq",),
    Kind.TELL: (),
    Kind.SYNC: ("members", "owners"),
    Kind.DIGESTS: ("members", "owners"),
    Kind.OFFER: ("members", "owners"),
    Kind.ANSWER: ("more",),
}
"""Which fields a message of each kind has."""


def build(message: Message, cluster: str = "") -> dict[str, Any]:
    """A message as a JSON value."""
    value: dict[str, Any] = {"v": VERSION, "cluster": cluster, "kind": message.kind.value, "from": message.sender}
    value["to"] = message.to
    for field in HAS[message.kind]:
        given = getattr(message, field)
        value[field] = list(given) if isinstance(given, tuple) else given
    news = message.news
    if news.told:
        value["told"] = [told_row(each) for each in news.told]
    if news.accused:
        value["accused"] = [accused_row(*each) for each in news.accused]
    if news.owned:
        value["owned"] = [owned_row(each) for each in news.owned]
    return value


def parse(value: object, me: str, cluster: str = "") -> Message:
    """A message from outside, whole and within bounds.

    Args:
        value: as ``jsontext.parse`` returns it.
        me: name of the member that received it.
        cluster: its cluster.

    Raises:
        MalformedGossip: not a message, or any part of it out of shape or bounds.
        ForeignGossip: of a version that this one cannot read, of another cluster, or for another member.
    """
    if type(value) is not dict:
        raise MalformedGossip("a message is no object")
    version = checked.whole(value.get("v"), "v")
    if not 1 <= version <= VERSION:
        raise ForeignGossip(f"a message of version {version}; this release reads version {VERSION}")
    if checked.text(value.get("cluster"), "cluster") != cluster:
        raise ForeignGossip("a message of another cluster")
    to = checked.text(value.get("to"), "to")
    if to not in ("", me):
        raise ForeignGossip(f"a message for {to}, and this is {me}")
    kind = checked.one_of(Kind, value.get("kind"), "kind")
    fields = {field: _FIELDS[field](value.get(field), kind) for field in HAS[kind]}
    return Message(kind, checked.name(value.get("from"), "from"), to, _news(value), **fields)


def _news(value: Mapping[str, object]) -> News:
    return News(
        tuple(map(read_told, _records(value, "told"))),
        tuple(map(read_accused, _records(value, "accused"))),
        tuple(map(read_owned, _records(value, "owned"))),
    )


def _records(value: Mapping[str, object], what: str) -> Any:
    return checked.listed(value.get(what, []), what, RECORDS_IN_MESSAGE_MAX)


def _numbers(count: int, what: str) -> Callable[[object, Kind], tuple[int, ...]]:
    # How long such a list is depends on the kind: one root, no or all digests, or some buckets' numbers.
    def read(value: object, kind: Kind) -> tuple[int, ...]:
        numbers = checked.listed(value, what, 1 if kind is Kind.SYNC else count)
        if (kind is Kind.SYNC and not numbers) or (kind is Kind.DIGESTS and len(numbers) not in (0, count)):
            raise MalformedGossip(f"{what} has {len(numbers)} numbers")
        most = count - 1 if kind is Kind.OFFER else checked.WHOLE_MAX
        return tuple(checked.whole(each, what, most) for each in numbers)

    return read


_FIELDS: Final[Mapping[str, Callable[[object, Kind], Any]]] = {
    "seq": lambda value, _: checked.whole(value, "seq"),
    "target": lambda value, _: checked.name(value, "target"),
    "wait_ms": lambda value, _: checked.whole(value, "wait_ms", WAIT_MS_MAX),
    "members": _numbers(MEMBER_BUCKETS, "members"),
    "owners": _numbers(OWNER_BUCKETS, "owners"),
    "more": lambda value, _: checked.flag(value, "more"),
}
