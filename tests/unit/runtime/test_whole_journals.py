"""A journal is read to its end, however little of it one answer holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bridge.journal import Entry, Kind
from sidecar.runtime.ownership import Ownership
from tests.unit.journals import TASK, journal


class Pieces:
    """A store that is another host's: each answer holds as much as fits into one message."""

    def __init__(self, entries: list[Entry], size: int) -> None:
        self._entries, self._size = entries, size

    async def entries(self, task: str, after: int, limit: int) -> list[Entry]:
        assert task == TASK
        return self._entries[after : after + min(limit, self._size)]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
async def test_a_short_answer_is_not_the_end(size: int) -> None:
    written = journal(Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND, Kind.INPUT, Kind.INPUT)
    node: Any = SimpleNamespace(store=Pieces(written, size))
    assert await Ownership(node).journal(TASK) == written
