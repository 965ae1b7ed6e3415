"""Whatever is written is read as it was; whatever does not fit is refused whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.msgpack import decode, encode

from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused, VoterView
from bridge.session import Renewal
from sidecar.peers import kinds
from sidecar.peers.codec import APPEND_ANSWER, CLAIM_ANSWER, ENTRIES, PREFIX
from sidecar.peers.packing import Codec, Malformed
from sidecar.peers.shapes import TaskQuery
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow

TASK = "0b54c6b8-8f4a-8a5e-9f53-2f1d1c0b7a11"
FENCE = Fence(3, "a" * 32)
TIP = Tip(FENCE, 7, "0f" * 32)
LARGEST = 2**63 - 1


def entries(count: int = 3) -> list[Entry]:
    drafts = [Draft(Kind.EVENT, b'{"n":%d,"text":"\xc3\xa9"}' % at) for at in range(count)]
    return chain(genesis(TASK), FENCE, 1_700_000_000_000, drafts)


def append(some: list[Entry] | None = None, **other: Any) -> Append:
    given: dict[str, Any] = {
        "task": TASK,
        "fence": FENCE,
        "after_seq": 0,
        "after_hash": genesis(TASK).hash,
        "committed": 2,
    }
    return Append(**(given | {"entries": entries() if some is None else some} | other))


VIEW = TaskView(TASK, "té", "issuer|user", "c 1", "running", "TASK_STATE_WORKING", -5, True, b'{"id":"x"}')
KEY = KeyRow("ab" * 32, 2, TASK, "cd" * 32, True)
CARD = SessionCard("north", "b" * 32, 4, "census", "voter", "http://n:8470", "http://n:8473", True, False, 9)
ROW = HandoffRow(
    TASK, VoterView(FENCE, TIP, 6, purged=True), "a" * 32, True, False, "review", "TASK_STATE_WORKING", 12
)
QUERY = ListQuery("c 1", "TASK_STATE_WORKING", 17, 20, (-3, TASK))
TRAVELS: list[tuple[Codec[Any], Any]] = [
    (kinds.CLAIM.asked, kinds.ClaimAsk("v1", Claim(TASK, Fence(LARGEST, "s"), "s"))),
    (kinds.APPEND.asked, kinds.AppendAsk("v1", append(), Riders(VIEW, 3, (KEY, KEY)))),
    (kinds.APPEND.asked, kinds.AppendAsk("v1", append([]), Riders())),
    (kinds.READ_PREFIX.asked, kinds.PrefixAsk("v1", TASK, TIP, 3)),
    (kinds.RENEW.asked, kinds.RenewAsk("v1", Renewal("north", 4, "b" * 32), CARD)),
    (kinds.RELEASE.asked, kinds.ReleaseAsk("v1", Renewal("north", 4, "b" * 32))),
    (kinds.ENTRIES_OF.asked, kinds.EntriesAsk(TASK, 1, 2, 3)),
    (kinds.TAIL.asked, kinds.TailAsk(TASK, 9)),
    (kinds.DELIVER.asked, kinds.Delivery(TASK, "input", b"{}")),
    (kinds.OTHER.asked, kinds.Other("something", b"\xff\x00")),
    (kinds.LIST.asked, TaskQuery(QUERY, Caller("t", "p"), 1 << 20)),
    (kinds.LIST.asked, TaskQuery(ListQuery(), Caller())),
    (CLAIM_ANSWER, Granted(TIP, 6)),
    (CLAIM_ANSWER, Refused(Refusal.HELD, FENCE, TIP, 6)),
    (APPEND_ANSWER, Appended(FENCE, 7, "1e" * 32, 6)),
    (APPEND_ANSWER, Refused(Refusal.MISPLACED, FENCE, genesis(TASK), 0)),
    (PREFIX, None),
    (PREFIX, tuple(entries())),
    (ENTRIES, [entries(1)[0]._replace(body=None)]),
    (kinds.ROW_OF.answered, ROW),
    (kinds.ROW_OF.answered, None),
    (kinds.VIEW_OF.answered, VIEW),
    (kinds.KEYS_OF.answered, [KEY]),
    (kinds.LIST.answered, ([VIEW], 40, (-5, TASK))),
    (kinds.RENEW.answered, True),
    (kinds.RELEASE.answered, None),
]


@pytest.mark.parametrize(("codec", "record"), TRAVELS)
def test_what_is_written_is_read_as_it_was(codec: Codec[Any], record: Any) -> None:
    assert codec.read(codec.write(record)) == record
    assert codec.read(Raw(codec.write(record))) == record


def test_an_acknowledgement_carries_what_is_committed() -> None:
    got = APPEND_ANSWER.read(APPEND_ANSWER.write(Appended(FENCE, 7, "1e" * 32, 6)))
    assert isinstance(got, Appended)
    assert got.committed == 6


def test_ids_of_inbox_rows_stay_at_home() -> None:
    ask = kinds.AppendAsk("v1", append(), Riders(inbox=(1, 2)))
    assert kinds.APPEND.asked.read(kinds.APPEND.asked.write(ask)).riders == Riders()


@pytest.mark.parametrize(("codec", "record"), TRAVELS)
def test_bytes_that_are_cut_off_are_refused(codec: Codec[Any], record: Any) -> None:
    data = codec.write(record)
    for end in range(len(data)):
        with pytest.raises(Malformed):
            codec.read(data[:end])
    with pytest.raises(Malformed):
        codec.read(data + b"\xc0")


@pytest.mark.parametrize(("codec", "record"), [each for each in TRAVELS if each[1] is not None])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_changed_bytes_are_refused_or_read_as_something_of_the_same_shape(
    codec: Codec[Any], record: Any, data: st.DataObject
) -> None:
    written = bytearray(codec.write(record))
    at = data.draw(st.integers(0, len(written) - 1))
    written[at] = data.draw(st.integers(0, 255))
    try:
        got = codec.read(bytes(written))
    except Malformed:
        return
    assert codec.read(codec.write(got)) == got


@settings(max_examples=200, deadline=None)
@given(junk=st.binary(max_size=200), codec=st.sampled_from([codec for codec, _ in TRAVELS[:12]]))
def test_junk_is_refused(junk: bytes, codec: Codec[Any]) -> None:
    with pytest.raises(Malformed):
        codec.read(junk)


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\xc0"


def replaced(record: Any, codec: Codec[Any], *path_and_value: Any) -> bytes:
    *path, value = path_and_value
    whole = decode(codec.write(record))
    place = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return encode(whole)


@pytest.mark.parametrize("n", [-1, 2**63, 2**64 - 1, 1.5, "1", True, None])
def test_a_fence_is_a_number_that_a_store_can_hold(n: object) -> None:
    ask = kinds.ClaimAsk("v1", Claim(TASK, FENCE, "s"))
    with pytest.raises(Malformed):
        kinds.CLAIM.asked.read(replaced(ask, kinds.CLAIM.asked, 1, 1, 0, n))


@pytest.mark.parametrize("session", ['a","x":"', "a\nb", "é", "a" * 257, b"a"])
def test_a_session_is_a_name_that_needs_no_escape(session: object) -> None:
    ask = kinds.ClaimAsk("v1", Claim(TASK, FENCE, "s"))
    with pytest.raises(Malformed):
        kinds.CLAIM.asked.read(replaced(ask, kinds.CLAIM.asked, 1, 1, 1, session))


@pytest.mark.parametrize("digest", [b"", b"a" * 31, b"a" * 33, "aa" * 32])
def test_a_hash_has_its_length(digest: object) -> None:
    with pytest.raises(Malformed):
        CLAIM_ANSWER.read(replaced(Granted(TIP, 1), CLAIM_ANSWER, 1, 2, digest))


@pytest.mark.parametrize("kind", ["", "events", "Event", 3])
def test_an_entry_is_of_a_known_kind(kind: object) -> None:
    with pytest.raises(Malformed):
        ENTRIES.read(replaced(entries(), ENTRIES, 1, 3, kind))


def test_answers_of_another_ask_are_refused() -> None:
    with pytest.raises(Malformed):
        CLAIM_ANSWER.read(APPEND_ANSWER.write(Appended(FENCE, 7, "1e" * 32, 6)))
    with pytest.raises(Malformed):
        APPEND_ANSWER.read(CLAIM_ANSWER.write(Granted(TIP, 6)))


def test_depth_is_no_way_to_end_a_process() -> None:
    with pytest.raises(Malformed):
        ENTRIES.read(nested(200_000))


def test_an_append_whose_checkpoint_was_dropped_travels() -> None:
    some = [entries()[0]._replace(body=None), *entries()[1:]]
    ask = kinds.AppendAsk("v1", append(some), Riders())
    assert kinds.APPEND.asked.read(kinds.APPEND.asked.write(ask)) == ask


def test_a_later_version_may_say_more() -> None:
    longer = [*decode(CLAIM_ANSWER.write(Granted(TIP, 6))), "news", {"and": "more"}]
    assert CLAIM_ANSWER.read(encode(longer)) == Granted(TIP, 6)


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (1, 1), (100, 100), (10**9, 100)])
def test_a_list_has_a_bounded_page(asked: int, given: int) -> None:
    ask = TaskQuery(QUERY, Caller())
    got = kinds.LIST.asked.read(replaced(ask, kinds.LIST.asked, 5, asked))
    assert got.query.page_size == given
