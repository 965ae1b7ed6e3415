"""A message is taken whole or not at all, and only by whom it is for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import BridgeError, ForeignGossip, MalformedGossip
from bridge.gossip.member import MEMBER_BUCKETS
from bridge.gossip.message import HAS, RECORDS_IN_MESSAGE_MAX, VERSION, Kind, Message, News, build, parse
from bridge.gossip.owners import OWNER_BUCKETS
from bridge.jsontext import parse as parse_json
from bridge.jsontext import write
from tests.unit.gossip.records import accused, owned, told

NEWS = News((told("m", 1, 2),), (("m", accused(1, 1, "a", "b")),), (owned("t", 1, "m", 3),))
EACH = [
    Message(Kind.PING, "a", "b", NEWS, seq=7),
    Message(Kind.ACK, "a", "b", seq=7),
    Message(Kind.ASK, "a", "b", seq=7, target="c", wait_ms=500),
    Message(Kind.NACK, "a", "b", seq=7),
    Message(Kind.TELL, "a", "b", NEWS),
    Message(Kind.SYNC, "a", "", members=(1,), owners=(2,)),
    Message(Kind.DIGESTS, "a", "b", members=tuple(range(MEMBER_BUCKETS)), owners=()),
    Message(Kind.OFFER, "a", "b", NEWS, members=(0, 63), owners=(255,)),
    Message(Kind.ANSWER, "a", "b", NEWS, more=True),
]


def value_of(kind: Kind) -> dict[str, Any]:
    return build(next(each for each in EACH if each.kind is kind))


@pytest.mark.parametrize("message", EACH, ids=lambda message: message.kind.value)
def test_messages_arrive_as_they_were_sent(message: Message) -> None:
    assert parse(parse_json(write(build(message, "c"))), "b", "c") == message


def test_every_kind_is_tested() -> None:
    assert [message.kind for message in EACH] == [*Kind] == [*HAS]


def test_what_a_newer_release_says_besides_is_ignored() -> None:
    value = value_of(Kind.TELL)
    value["colour"] = "blue"
    value["told"][0].append({"more": 1})
    assert parse(value, "b") == EACH[4]


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("v", VERSION + 1, "version 2; this release reads version 1"),
        ("v", 0, "version 0"),
        ("cluster", "another", "another cluster"),
        ("to", "c", "for c, and this is b"),
    ],
)
def test_what_is_for_others_is_refused(field: str, wrong: object, said: str) -> None:
    value = value_of(Kind.PING) | {field: wrong}
    with pytest.raises(ForeignGossip, match=said) as refused:
        parse(value, "b")
    assert refused.value.code == "foreign_gossip"


@pytest.mark.parametrize("value", [None, [], "ping", 1, {}])
def test_what_is_no_message_is_refused(value: object) -> None:
    with pytest.raises(MalformedGossip):
        parse(value, "b")


@pytest.mark.parametrize(
    ("kind", "field", "wrong"),
    [
        (Kind.PING, "v", "1"),
        (Kind.PING, "cluster", None),
        (Kind.PING, "to", 1),
        (Kind.PING, "from", ""),
        (Kind.PING, "kind", "pong"),
        (Kind.PING, "kind", None),
        (Kind.PING, "seq", -1),
        (Kind.PING, "seq", None),
        (Kind.PING, "told", {}),
        (Kind.PING, "accused", [["m", 1, 2]]),
        (Kind.PING, "owned", [[]]),
        (Kind.TELL, "owned", [[]] * (RECORDS_IN_MESSAGE_MAX + 1)),
        (Kind.ASK, "target", ""),
        (Kind.ASK, "wait_ms", 60_001),
        (Kind.SYNC, "members", []),
        (Kind.SYNC, "owners", [1, 2]),
        (Kind.SYNC, "owners", 1),
        (Kind.DIGESTS, "members", [1]),
        (Kind.DIGESTS, "owners", [0] * (OWNER_BUCKETS + 1)),
        (Kind.DIGESTS, "owners", [-1] * OWNER_BUCKETS),
        (Kind.OFFER, "members", [MEMBER_BUCKETS]),
        (Kind.OFFER, "owners", ["0"]),
        (Kind.ANSWER, "more", 1),
    ],
)
def test_what_is_out_of_shape_or_bounds_is_refused(kind: Kind, field: str, wrong: object) -> None:
    with pytest.raises(MalformedGossip):
        parse(value_of(kind) | {field: wrong}, "b")


def taken(value: object) -> str:
    try:
        return parse(value, "b").kind
    except BridgeError as refused:
        return refused.code


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(EACH), st.data())
def test_whatever_one_part_is_replaced_by_a_message_is_taken_or_refused_with_a_code(
    message: Any, data: Any
) -> None:
    value = parse_json(write(build(message)))
    field = data.draw(st.sampled_from([*value, "told", "accused", "owned"]))
    value[field] = data.draw(json_values)
    assert taken(value) in (*Kind, "malformed_gossip", "foreign_gossip")
