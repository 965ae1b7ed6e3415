import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import MalformedJson
from bridge.jsontext import DEPTH_MAX, STORED_DEPTH_MAX, parse, parse_stored, write

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.one_of(
    st.integers(-(2**70), 2**70), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), numbers, text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)),
    max_leaves=20,
)


@settings(deadline=None)
@given(values)
def test_every_value_arrives_equal_and_of_the_same_type(value: Any) -> None:
    assert repr(parse(write(value))) == repr(value)


@pytest.mark.parametrize("integer", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**19, 10**18, -(10**400), 10**4000])
def test_integers_of_any_size_are_exact(integer: int) -> None:
    found = parse(f'{{"n":[{integer}]}}')
    assert found == {"n": [integer]}
    assert type(found["n"][0]) is int
    assert write(found) == f'{{"n":[{integer}]}}'.encode()


def test_the_fast_parser_alone_would_have_changed_it() -> None:
    assert type(orjson.loads(b"18446744073709551616")) is float


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, bytes.decode])
def test_all_kinds_of_text_are_accepted(wrap: Any) -> None:
    assert parse(wrap(b'{"a":"\xc3\xa9"}')) == {"a": "é"}


def test_of_duplicate_keys_the_last_wins_on_both_paths() -> None:
    assert parse('{"a":1,"a":2}') == {"a": 2}
    assert parse(f'{{"a":1,"a":{2**65}}}') == {"a": 2**65}


BROKEN = [
    "",
    " ",
    "{",
    "[1,]",
    "NaN",
    "-Infinity",
    "1e400",
    "01",
    '"\\ud800"',
    "'a'",
    "[1] 2",
    "\ufeff1",
    '"\n"',
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("beside", ["[%s, 1]", "[%s, 12345678901234567890]", "[12345678901234567890, %s]"])
def test_what_is_not_json_is_refused_on_both_paths(broken: str, beside: str) -> None:
    # Inside a list an empty element or a second value is broken as well, so every case fails in every place.
    with pytest.raises(MalformedJson):
        parse(beside % broken)
    with pytest.raises(MalformedJson):
        parse(broken)


@pytest.mark.parametrize("data", [b"\xff", b'"\xed\xa0\x80"', "\ud800", b"[12345678901234567890]\xff", "9" * 5000])
def test_bytes_that_are_no_text_are_refused(data: bytes | str) -> None:
    with pytest.raises(MalformedJson):
        parse(data)


@pytest.mark.parametrize("leaf", ["", "1", "12345678901234567890"])
def test_nesting_is_bounded_by_the_same_number_everywhere(leaf: str) -> None:
    assert parse("[" * DEPTH_MAX + leaf + "]" * DEPTH_MAX)
    assert parse('{"a":' * (DEPTH_MAX - 1) + "[" + leaf + "]" + "}" * (DEPTH_MAX - 1))
    with pytest.raises(MalformedJson):
        parse("[" * (DEPTH_MAX + 1) + leaf + "]" * (DEPTH_MAX + 1))
    with pytest.raises(MalformedJson):
        parse('{"a":' * DEPTH_MAX + "[" + leaf + "]" + "}" * DEPTH_MAX)


def test_many_brackets_are_not_depth() -> None:
    assert parse(json.dumps([[1], {"a": [2]}] * 500)) == [[1], {"a": [2]}] * 500
    assert parse(json.dumps("[" * 1000)) == "[" * 1000


@pytest.mark.parametrize("tail", ["", "12345678901234567890"])
def test_a_hostile_depth_is_refused_without_harm(tail: str) -> None:
    with pytest.raises(MalformedJson):
        parse("[" * 200_000 + tail)


def test_a_stored_body_may_be_a_little_deeper_because_what_arrived_was_wrapped() -> None:
    accepted = parse("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    wrapped: Any = {"intent": {"inputs": {"message": accepted}}}
    assert parse_stored(write(wrapped)) == wrapped
    over = '{"a":' * (STORED_DEPTH_MAX + 1) + "1" + "}" * (STORED_DEPTH_MAX + 1)
    with pytest.raises(MalformedJson):
        parse_stored(over.encode())


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", b'"a"'])
def test_a_stored_body_is_an_object(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        parse_stored(body)


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {"a": object()},
        "\ud800",
        [2**70, "\ud800"],
        [2**70, object()],
        [2**70, float("nan")],
    ],
)
def test_what_json_cannot_carry_is_not_written(value: Any) -> None:
    with pytest.raises(MalformedJson):
        write(value)
