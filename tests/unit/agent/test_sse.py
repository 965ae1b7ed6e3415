from __future__ import annotations

import itertools
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.agent.answers import events_of
from sidecar.agent.sse import SseParser

LIMIT = 2**20
ENDS = [b"\n", b"\r\n", b"\r"]


def parse(*chunks: bytes, limit: int = LIMIT) -> list[bytes]:
    parser = SseParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def stream(end: bytes) -> bytes:
    lines = [b": hello", b'data: {"n":1}', b"", b"event: x", b"id: 7", b'data:{"n":2,', b'data: "m":3}', b""]
    return end.join([*lines, b"retry: 10", b"data: 3", b"", b""])


WANTED = [b'{"n":1}', b'{"n":2,\n"m":3}', b"3"]


@pytest.mark.parametrize("end", ENDS)
def test_case_61_a_stream_split_at_every_byte_gives_the_same_events(end: bytes) -> None:
    whole = stream(end)
    assert parse(whole) == WANTED
    for at in range(1, len(whole)):
        assert parse(whole[:at], whole[at:]) == WANTED, at
    assert parse(*(whole[at : at + 1] for at in range(len(whole)))) == WANTED


@given(st.lists(st.integers(0, 120), max_size=12), st.sampled_from(ENDS), st.booleans())
def test_any_chunking_gives_the_same_events(cuts: list[int], end: bytes, bom: bool) -> None:
    whole = (b"\xef\xbb\xbf" if bom else b"") + stream(end)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    assert parse(*(whole[a:b] for a, b in itertools.pairwise(edges))) == WANTED


def test_mixed_line_ends() -> None:
    assert parse(b"data: 1\r\n\ndata: 2\r\rdata: 3\n\r\n") == [b"1", b"2", b"3"]


def test_cases_58_59_comments_are_no_events_also_after_an_id() -> None:
    assert parse(b": ping\n\n", b"id: 5\ndata: 1\n\n", b": ping\n", b": ping\n\n", b":\n\n\n") == [b"1"]


def test_events_without_data_are_no_events() -> None:
    assert parse(b"event: x\n\n", b"data\n\n", b"data:\n\n", b"data:   \n\n", b"data: 1\n\n") == [b"1"]


def test_only_one_space_after_the_colon_belongs_to_the_field() -> None:
    assert parse(b"data:  1 \n\n") == [b" 1 "]


def test_other_fields_that_begin_like_data_are_ignored() -> None:
    assert parse(b"datax: 1\ndata : 2\nDATA: 3\n\n") == []


def test_bytes_that_other_code_takes_for_line_ends_stay_in_the_data() -> None:
    text = b'"\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8"'
    assert parse(b"data: " + text + b"\n\n") == [text]


def test_a_byte_order_mark_counts_only_at_the_very_start() -> None:
    assert parse(b"\xef", b"\xbb\xbfdata: 1\n\n", b"\xef\xbb\xbfdata: 2\n\n") == [b"1"]


@pytest.mark.parametrize("size", [63_000, 65_537, 513_000, 1_100_000, 10_000_000])
def test_case_63_single_lines_of_any_size_below_the_limit(size: int) -> None:
    line = b"x" * size
    whole = b"data: " + line + b"\r\n\r\n"
    chunks = [whole[at : at + 65_536] for at in range(0, len(whole), 65_536)]
    assert parse(*chunks, limit=16 * 2**20) == [line]


def test_case_64_an_endless_line_is_bounded_and_events_before_it_are_returned() -> None:
    parser = SseParser(10_000)
    assert parser.feed(b"data: 1\n\ndata: ") == [b"1"]
    fed = 0
    while not parser.too_large:
        assert parser.feed(b"x" * 1000) == []
        fed += 1000
    assert fed == 10_000
    assert not parser._pending


def test_an_endless_event_of_short_lines_is_bounded() -> None:
    parser = SseParser(1000)
    while not parser.too_large:
        assert parser.feed(b"data: x\n" * 10) == []
    assert not parser._data


def test_one_chunk_may_hold_more_than_the_limit_in_events_that_are_below_it() -> None:
    assert parse(b"data: 1234567\n\n" * 100, limit=20) == [b"1234567"] * 100


def test_too_large_inside_a_chunk_keeps_the_events_before() -> None:
    parser = SseParser(20)
    assert parser.feed(b"data: 1\n\ndata: " + b"x" * 30 + b"\n\ndata: 2\n\n") == [b"1"]
    assert parser.too_large


def test_endless_comments_are_dropped_as_they_come() -> None:
    parser = SseParser(1000)
    for _ in range(1000):
        assert parser.feed(b": keep-alive\n") == []
    assert not parser.too_large


@pytest.mark.parametrize(
    ("cut_off", "left"),
    [
        (b"data: 1", b"1"),
        (b"data: 1\n", b"1"),
        (b"data: 1\ndata: 2", b"1\n2"),
        (b"data: 1\n\n", b""),
        (b": ping", b""),
        (b"", b""),
        (b"\xef\xbb\xbfdata: 1", b"1"),
    ],
)
def test_what_the_end_cut_off(cut_off: bytes, left: bytes) -> None:
    parser = SseParser(LIMIT)
    parser.feed(cut_off)
    assert parser.finish() == left


def test_a_long_line_in_small_chunks_costs_linear_time() -> None:
    def cpu(size: int) -> float:
        chunk = b"x" * 100
        parser = SseParser(16 * 2**20)
        begun = time.process_time()
        parser.feed(b"data: ")
        for _ in range(size // 100):
            parser.feed(chunk)
        assert len(parser.feed(b"\n\n")[0]) == size
        return time.process_time() - begun

    small = min(cpu(500_000) for _ in range(3))
    assert cpu(4_000_000) < 8 * 4 * small + 0.05  # quadratic: 64 times


def test_parsing_to_objects_is_fast_enough() -> None:
    part = {"artifactId": "a", "parts": [{"text": "x" * 60}]}
    event = {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": part, "append": True}}
    frame = b"data: " + orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": event}) + b"\r\n\r\n"
    chunk = frame * 100
    parser = SseParser(LIMIT)
    begun = time.process_time()
    for _ in range(200):
        events, end = events_of(parser.feed(chunk))
        assert len(events) == 100
        assert end is None
    assert time.process_time() - begun < 0.4  # 50,000 events in a second of CPU; measured: a tenth of it
