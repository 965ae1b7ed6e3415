"""Messages in frames: several to one, long ones in parts, urgent ones past long ones, each whole and in order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import decode

from sidecar.peers import frames
from sidecar.peers.frames import FRAME_BYTES_MAX, PART_BYTES, Answer, Ask, Failed, Inbox, Message, Outbox
from sidecar.peers.packing import Malformed


def sent(outbox: Outbox) -> list[bytes]:
    payloads = []
    while (frame := outbox.frame()) is not None:
        payloads.append(frame[0])
    return payloads


def through(outbox: Outbox) -> list[Message]:
    inbox = Inbox()
    return [each for payload in sent(outbox) for each in inbox.messages(payload)]


def test_what_waits_leaves_in_one_frame() -> None:
    outbox = Outbox()
    for ask_id in range(100):
        outbox.put(frames.ask(ask_id, "append", ["body", ask_id]))
    assert outbox.bytes_queued > 0
    (payload,) = sent(outbox)
    got = Inbox().messages(payload)
    assert [(each.id, decode(each.body)) for each in got if isinstance(each, Ask)] == [
        (ask_id, ["body", ask_id]) for ask_id in range(100)
    ]
    assert outbox.bytes_queued == 0
    assert outbox.frame() is None


def test_every_kind_of_message_travels() -> None:
    outbox = Outbox()
    for data in (
        frames.ask(1, "claim", None), frames.answer(2, [1]), frames.failed(3, "busy", "later"),
        frames.pushed(4, []), frames.credit(5), frames.stop(6),
    ):  # fmt: skip
        outbox.put(data)
    got = through(outbox)
    assert [(type(each).__name__, each.id) for each in got] == [
        ("Ask", 1), ("Answer", 2), ("Failed", 3), ("Pushed", 4), ("Credit", 5), ("Stop", 6),
    ]  # fmt: skip
    assert isinstance(got[2], Failed)
    assert (got[2].code, got[2].text) == ("busy", "later")


def test_an_urgent_message_overtakes_a_long_one() -> None:
    outbox, inbox = Outbox(), Inbox()
    long = b"x" * (10 * PART_BYTES)
    outbox.put(frames.ask(1, "append", long))
    outbox.put(frames.ask(2, "append", b"after it"))
    first = outbox.frame()
    assert first is not None
    assert inbox.messages(first[0]) == []
    outbox.put(frames.ask(3, "renew", None), urgent=True)
    order = [each.id for payload in sent(outbox) for each in inbox.messages(payload)]
    assert order == [3, 1, 2]


def test_a_long_message_is_never_urgent() -> None:
    outbox = Outbox()
    outbox.put(frames.ask(1, "append", b"x" * (3 * PART_BYTES)))
    outbox.put(frames.answer(2, b"y" * (3 * PART_BYTES)), urgent=True)
    assert [each.id for each in through(outbox)] == [1, 2]


def test_what_is_urgent_does_not_keep_the_rest_waiting_for_ever() -> None:
    outbox, inbox = Outbox(), Inbox()
    outbox.put(frames.ask(1, "append", b"x" * 100))
    for ask_id in range(2, 2000):
        outbox.put(frames.ask(ask_id, "gossip", b"g" * 1000), urgent=True)
    first = outbox.frame()
    assert first is not None
    assert 1 in [each.id for each in inbox.messages(first[0])]
    assert outbox.bytes_queued > 10 * PART_BYTES


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 5 * PART_BYTES // 2), st.booleans()), min_size=1, max_size=20),
)
def test_every_message_arrives_whole_once_and_in_the_order_of_its_lane(sizes: list[tuple[int, bool]]) -> None:
    outbox, inbox = Outbox(), Inbox()
    told: list[int] = []
    for at, (size, urgent) in enumerate(sizes):
        body = bytes([at % 251]) * size
        outbox.put(frames.answer(at, body), urgent=urgent, sent=lambda at=at: told.append(at))  # type: ignore[misc]
    assert outbox.bytes_queued == sum(len(frames.answer(at, b"\0" * size)) for at, (size, _) in enumerate(sizes))
    got: list[Message] = []
    while (frame := outbox.frame()) is not None:
        assert len(frame[0]) <= FRAME_BYTES_MAX
        for whole in frame[1]:
            assert whole.sent is not None
            whole.sent()
        got += inbox.messages(frame[0])
    assert outbox.bytes_queued == 0
    assert sorted(told) == list(range(len(sizes)))
    for each in got:
        assert isinstance(each, Answer)
        assert decode(each.body) == bytes([each.id % 251]) * sizes[each.id][0]
    for lane in (True, False):
        ids = [
            each.id
            for each in got
            if (sizes[each.id][1] and len(frames.answer(0, b"")) + sizes[each.id][0] + 8 <= PART_BYTES) is lane
        ]
        assert ids == sorted(ids)


def test_a_message_does_not_grow_beyond_the_limit() -> None:
    outbox, inbox = Outbox(), Inbox(message_bytes_max=3 * PART_BYTES)
    outbox.put(frames.answer(1, b"x" * (4 * PART_BYTES)))
    *others, too_much = sent(outbox)[:4]
    assert [inbox.messages(payload) for payload in others] == [[], [], []]
    with pytest.raises(Malformed, match="too_large"):
        inbox.messages(too_much)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc0",
        b"\x91\xc0",
        b"\x91\x92\x09\x01",
        b"\x91\x92\x02\xff",
        b"\x91" + frames.answer(1, None)[:-1],
        b"\x91" + frames.answer(1, None) + b"\0",
        b"\x92" + frames.answer(1, None),
        b"\x91" + frames.ask(1, "Not A Kind", None),
        b"\x91" + frames.ask(1, "k" * 33, None),
        b"\x91" + frames.ask(-1, "append", None),
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 100_000,
        b"\x91\x93\x07\xc2\xc4\x01\xff",
    ],
)
def test_what_is_no_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(Malformed):
        Inbox().messages(payload)


@settings(max_examples=300, deadline=None)
@given(junk=st.binary(max_size=120))
def test_junk_is_refused_or_is_nothing(junk: bytes) -> None:
    try:
        got = Inbox().messages(junk)
    except Malformed:
        return
    assert all(hasattr(each, "id") for each in got)
