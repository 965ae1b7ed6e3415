"""Parameters of an operation that stand in a URL's query (§11.5).

A query knows only text; the shapes of the requests say what it means. This file must not know what is required.
The failure it prevents: ``includeArtifacts=false`` taken for true.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.a2a.params import invalid
from bridge.a2a.shapes import REQUESTS, WHOLE, Names

Json = dict[str, Any]
_FLAGS = {"true": True, "false": False}


def params_of_query(operation: str, pairs: Iterable[tuple[str, str]]) -> Json:
    """Parameters as they would stand in a body, for ``settle_request``.

    Args:
        operation: key into ``dialect.OPERATIONS``.
        pairs: names and values, decoded. Only names in camelCase mean something; of repeated ones the last does.

    Raises:
        A2AFault: InvalidParams, where a boolean is neither ``true`` nor ``false``.
    """
    shape = REQUESTS[operation]
    params: Json = {}
    for name, text in pairs:
        kind = shape.get(name)
        if kind is bool:
            params[name] = _flag(name, text)
        elif type(kind) is Names and text.isascii() and text.isdecimal() and len(text) < 10:
            params[name] = int(text)
        elif kind is str or kind is WHOLE or type(kind) is Names:
            params[name] = text
    return params


def _flag(name: str, text: str) -> bool:
    flag = _FLAGS.get(text.lower())
    if flag is None:
        raise invalid(name, "must be true or false")
    return flag
