"""JSON as it is on the wire: bytes to values and back, with every value arriving equal.

The data plane works on plain JSON values, so one careless number could change a client's data: the fast parser
turns integers beyond 64 bits into floats without a word. This file knows which texts need the exact, slower way
and which texts are refused because no peer could carry them. It must not know what any member means.

What is promised: every value equal, integers of any size (up to the interpreter's 4,300 digits) and any finite
double included; of duplicate keys the last wins. Order and white space of the text are not promised.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isinf
from typing import Any

import orjson

from bridge.errors import MalformedJson

DEPTH_MAX = 200
# What arrives is wrapped before it is stored (a message inside an intent inside a body): what was accepted at the
# limit must stay readable. orjson writes 254 levels.
STORED_DEPTH_MAX = 250

# Runs of digits are found by mapping every digit to 0 and searching for the run: several times faster than a
# regular expression, and this is looked at for every streamed event. 19 digits is where 64 bits may end.
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_RUN = b"0" * 19


def parse(data: bytes | bytearray | memoryview | str) -> Any:
    """Read one JSON text from outside.

    Args:
        data: UTF-8 bytes, or text.

    Returns:
        dict, list, str, int, float, bool or None.

    Raises:
        MalformedJson: not JSON (RFC 8259), empty, NaN or Infinity, a number beyond a double's range, a lone
            surrogate, or more than ``DEPTH_MAX`` levels of nesting.
    """
    return _parse(data, DEPTH_MAX)


def parse_stored(body: bytes) -> dict[str, Any]:
    """Read a journal body: an object, and a little deeper than what may come from outside.

    Raises:
        MalformedJson: as ``parse`` (beyond ``STORED_DEPTH_MAX`` levels), or not an object.
    """
    value = _parse(body, STORED_DEPTH_MAX)
    if type(value) is not dict:
        raise MalformedJson("not a JSON object")
    return value


def write(value: Any) -> bytes:
    """Write a value that ``parse`` could have returned, compactly and exactly.

    Raises:
        MalformedJson: a type, key or string that JSON cannot carry.
    """
    try:
        return orjson.dumps(value)
    except TypeError as error:
        if "64-bit" not in str(error):
            raise MalformedJson(str(error)) from None
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedJson(str(error)) from None


def _parse(data: bytes | bytearray | memoryview | str, depth_max: int) -> Any:
    try:
        text = data.encode() if isinstance(data, str) else bytes(data)
        value = _parse_exactly(text) if _LONG_RUN in text.translate(_DIGITS_TO_ZERO) else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedJson(str(error)) from None
    # A text without that many brackets cannot be that deep; most need no walk.
    if text.count(b"[") + text.count(b"{") > depth_max and _deeper_than(value, depth_max):
        raise MalformedJson(f"nested deeper than {depth_max} levels")
    return value


def _parse_exactly(text: bytes) -> Any:
    value = json.loads(text.decode(), parse_float=_finite, parse_constant=_no_constant)
    # The standard parser lets lone surrogates pass; only writing them as UTF-8 shows them.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _finite(number: str) -> float:
    value = float(number)
    if isinf(value):
        raise ValueError("number is infinity when parsed as double")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _deeper_than(value: Any, depth_max: int) -> bool:
    # Level by level instead of recursively: a hostile text may be deeper than the interpreter's stack.
    level = _containers((value,))
    for _ in range(depth_max):
        level = [
            child
            for container in level
            for child in _containers(container.values() if type(container) is dict else container)
        ]
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) is dict or type(value) is list]
