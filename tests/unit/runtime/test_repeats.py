"""A later message is the same one again or a new one: what stands in the journal decides."""

from __future__ import annotations

import pytest

from sidecar.records import KeyRow
from sidecar.runtime.repeats import placed


@pytest.mark.parametrize(
    ("stands", "seen", "digest", "expected"),
    [
        ("", 0, "x", (0, False)),
        ("x", 0, "x", (0, True)),  # another sidecar's sender was faster
        ("x", 1, "x", (1, False)),  # it was answered before this one was sent: a new message
        ("xx", 1, "x", (1, True)),  # and so is the repeat of that one
        ("y", 0, "x", (1, False)),  # another message has the id: none of them is lost
        ("yx", 0, "x", (1, True)),
        ("xy", 0, "x", (0, True)),
        ("xy", 1, "x", (2, False)),
        ("", 3, "x", (3, False)),
    ],
)
def test_what_came_since_the_sender_looked_may_be_the_same(
    stands: str, seen: int, digest: str, expected: tuple[int, bool]
) -> None:
    inputs = [{"id": "other", "digest": digest}, *({"id": "m", "digest": each} for each in stands)]
    assert placed(inputs, "m", KeyRow("k", seen, "t", digest, False)) == expected
