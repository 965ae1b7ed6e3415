import json
import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.canonical import canonical
from bridge.errors import NotCanonical
from bridge.jsontext import STORED_DEPTH_MAX, parse
from tests.unit.test_jsontext import values

# RFC 8785, appendix B
IEEE = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "written"), IEEE.items())
def test_numbers_of_the_rfc(bits: str, written: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == written.encode()


def test_the_example_of_the_rfc() -> None:
    value = parse(
        '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        r'"string":"\u20ac$\u000F\u000aA'
        "'"
        r'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
    )
    assert canonical(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )


def test_members_are_sorted_by_utf16_code_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    found = json.loads(canonical(dict.fromkeys(keys)), object_pairs_hook=list)
    assert [key for key, _ in found] == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_integers_beyond_doubles_are_written_in_full() -> None:
    assert canonical([2**53 + 1, -(10**30)]) == b"[9007199254740993,-1000000000000000000000000000000]"
    assert canonical(2**53 + 1) != canonical(2**53)


@settings(deadline=None)
@given(values, st.randoms(use_true_random=False))
def test_equal_values_have_one_text_whatever_the_order_of_members(value: Any, rng: random.Random) -> None:
    written = canonical(value)
    assert canonical(_shuffled(value, rng)) == written
    # Not "parses to an equal value": beyond 2^53 the RFC writes a double's shortest digits and pads with zeros.
    assert canonical(parse(written)) == written


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: _shuffled(value[name], rng) for name in names}
    return [_shuffled(item, rng) for item in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_still_the_same_double(number: float) -> None:
    assert float(canonical(number)) == number


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        "\ud800",
        {"\ud800": 1, "a": 1},
        {1: 1},
        [b""],
        {"a": {1, 2}},
        deep(STORED_DEPTH_MAX + 1),
    ],
    ids=str,
)
def test_values_without_a_canonical_form_are_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)


def test_what_may_be_stored_has_a_canonical_form() -> None:
    assert canonical(deep(STORED_DEPTH_MAX)).count(b"[") == STORED_DEPTH_MAX
    assert canonical((1, "a")) == b'[1,"a"]'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, 2, -3], b"[1,2,-3]"),
        ([1.0, -2.5, 1e16, 1e-5, 0.0001, -0.0], b"[1,-2.5,10000000000000000,0.00001,0.0001,0]"),
        (['"', "\u20ac"], '["\\"","\u20ac"]'.encode()),
        ([True, False], b"[true,false]"),
        ([1, True, 2.0, "x", None], b'[1,true,2,"x",null]'),
        ([], b"[]"),
        ([{}], b"[{}]"),
    ],
)
def test_arrays_of_one_type_read_as_those_of_several(value: list[Any], text: bytes) -> None:
    assert canonical(value) == text
    assert canonical([[], *value]) == (b"[[]," + text[1:] if value else b"[[]]")


@pytest.mark.parametrize("value", [[float("nan")], [1.5, float("inf")], [float("-inf")]])
def test_arrays_of_numbers_that_are_none_are_refused(value: list[float]) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)
