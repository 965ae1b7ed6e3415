"""One path, many spellings: the plain one, by which servers may understand all of them.

This file must not know which paths mean anything. The failure it prevents: ``//rpc`` or ``/x/..%2Frpc``, which is
no endpoint here and is one at an agent (or a proxy before it) that tidies paths up: past the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

DECODED_MAX = 4
_SLASH_IN_SEGMENT = re.compile("%2f|%5c", re.IGNORECASE)


def plain(path: str) -> str | None:
    """A path without escapes, empty segments, dots, parameters and trailing slash ("": root).

    Returns:
        None where escapes are nested so deeply that nobody can mean it.
    """
    for _ in range(DECODED_MAX):
        if "%" not in path or (decoded := unquote(path)) == path:
            break
        path = decoded
    else:
        if unquote(path) != path:
            return None
    kept: list[str] = []
    for each in path.replace("\\", "/").split("/"):
        segment = each.partition(";")[0]
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "".join(f"/{each}" for each in kept)


def spellings(path: str) -> Iterator[str]:
    """What a path in a card may be written as by the clients that read it, itself first."""
    yield path
    if (found := plain(path)) is not None and found != path:
        yield found


def readings(path: str, raw: str) -> Iterator[str | None]:
    """How else a request's path may be read: tidied up; by servers to which an escaped slash is a character."""
    yield plain(path)
    if _SLASH_IN_SEGMENT.search(raw):
        yield plain(_SLASH_IN_SEGMENT.sub("_", raw))
