"""RFC 8785: the one text of a JSON value, so that equal values hash equally wherever they were written.

Identity is a hash over this form. The failure it prevents: two sidecars, or two versions of a JSON library,
giving one intent two identities. One extension: integers beyond 2^53 are written in full, where RFC 8785 would
round them and two different intents would become one. This file must not know what is hashed, or why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from bridge.errors import NotCanonical
from bridge.jsontext import STORED_DEPTH_MAX


def canonical(value: Any) -> bytes:
    """The canonical UTF-8 text of a JSON value.

    Args:
        value: dict with string keys, list, str, int, float, bool or None, as ``jsontext.parse`` returns them.

    Raises:
        NotCanonical: NaN, infinity, a lone surrogate, a key that is no string, another type, or too deep nesting.
    """
    parts: list[str] = []
    try:
        _write(value, parts, STORED_DEPTH_MAX)
        return "".join(parts).encode()
    except UnicodeEncodeError as error:
        raise NotCanonical(f"lone surrogate ({error.reason})") from None


def _write(value: Any, parts: list[str], depth: int) -> None:
    if isinstance(value, str):
        parts.append(_quoted(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif depth == 0:
        raise NotCanonical(f"nested deeper than {STORED_DEPTH_MAX} levels")
    elif isinstance(value, dict):
        _write_object(value, parts, depth - 1)
    elif isinstance(value, list | tuple):
        _write_array(value, parts, depth - 1)
    else:
        raise NotCanonical(f"{type(value).__name__} is not a JSON type")


def _write_array(value: Sequence[Any], parts: list[str], depth: int) -> None:
    # Data may be an array of millions of numbers: one call for each of them would take seconds.
    scalar = _SCALARS.get(type(value[0])) if value else None
    if scalar is not None and len(set(map(type, value))) == 1:
        parts.append(f"[{','.join(map(scalar, value))}]")
        return
    separator = "["
    for item in value:
        parts.append(separator)
        _write(item, parts, depth)
        separator = ","
    parts.append("]" if value else "[]")


def _write_object(value: dict[Any, Any], parts: list[str], depth: int) -> None:
    try:
        plain = "".join(value).isascii()
    except TypeError:
        wrong = next(key for key in value if not isinstance(key, str))
        raise NotCanonical(f"{wrong!r} is not a string key") from None
    separator = "{"
    for key in sorted(value) if plain else sorted(value, key=_utf16):
        parts.append(f"{separator}{_quoted(key)}:")
        _write(value[key], parts, depth)
        separator = ","
    parts.append("}" if value else "{}")


# The standard library escapes exactly as RFC 8785 section 3.2.2.2 asks: short forms, lower-case hex.
_quoted = encode_basestring


def _utf16(key: str) -> bytes:
    # Section 3.2.3 sorts by UTF-16 code units, which differs from code point order beyond the basic plane.
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    """ECMAScript's Number::toString (ECMA-262 section 6.1.6.1.20), which section 3.2.2.3 prescribes.

    Python's ``repr`` yields the same shortest digits; only their layout differs.
    """
    text = repr(value)
    if "e" not in text and "n" not in text and value:
        return text.removesuffix(".0")
    if not isfinite(value):
        raise NotCanonical(f"{value!r} is not a JSON number")
    if value == 0:
        return "0"
    # D.DDDe±XX, for numbers from 10^16 on and below 10^-4: at most 17 digits, the first of them not 0
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    digits = mantissa.replace(".", "")
    point = 1 + int(exponent)  # the value is 0.DIGITS * 10^point
    if 0 < point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


_SCALARS: dict[type, Callable[[Any], str]] = {str: _quoted, int: int.__repr__, float: _number}
