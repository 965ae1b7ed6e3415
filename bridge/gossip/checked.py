"""Values from outside, taken only if they are of the right kind and within bounds.

Gossip is passed on: what one member lets in, all of them get. So a value is checked where it comes in, before
anything of its message counts. The failure this prevents: one bad message that grows a table, breaks a page of
the console, or stops every member that hears of it. This file must not know what the values are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar

from bridge.errors import MalformedGossip

WHOLE_MAX = 2**53 - 1  # every JSON reader keeps these exactly
NAME_LETTERS_MAX = 128
URL_LETTERS_MAX = 512

Named = TypeVar("Named", bound=StrEnum)


def whole(value: object, what: str, most: int = WHOLE_MAX) -> int:
    """A whole number from 0 on."""
    # Not isinstance: True is an int, and no number of anything.
    if type(value) is not int or not 0 <= value <= most:
        raise MalformedGossip(f"{what} is no whole number from 0 to {most}")
    return value


def flag(value: object, what: str) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise MalformedGossip(f"{what} is neither true nor false")
    return value


def text(value: object, what: str, most: int = NAME_LETTERS_MAX) -> str:
    """A text that may be shown as it is: nothing that steers a terminal, breaks a line or cannot be written."""
    if type(value) is not str or len(value) > most or not value.isprintable():
        raise MalformedGossip(f"{what} is no printable text of at most {most} letters")
    return value


def name(value: object, what: str) -> str:
    """A text that is not empty."""
    if not text(value, what):
        raise MalformedGossip(f"{what} is empty")
    return str(value)


def address(value: object, what: str) -> str:
    """An http or https URL, or nothing."""
    if text(value, what, URL_LETTERS_MAX) and not str(value).startswith(("http://", "https://")):
        raise MalformedGossip(f"{what} is no http URL")
    return str(value)


def one_of(kind: type[Named], value: object, what: str) -> Named:
    """A word that is known."""
    if type(value) is not str or value not in kind.__members__.values():
        raise MalformedGossip(f"{what} is none of {', '.join(kind)}")
    return kind(value)


def row(value: object, what: str, least: int) -> Sequence[Any]:
    """A record as a list of its fields; a newer release may have put more behind those that are known here."""
    if type(value) is not list or len(value) < least:
        raise MalformedGossip(f"{what} is no list of at least {least}")
    return value


def listed(value: object, what: str, most: int) -> Sequence[Any]:
    """A list that is not too long."""
    if type(value) is not list or len(value) > most:
        raise MalformedGossip(f"{what} is no list of at most {most}")
    return value
