"""The history of a storm: one JSON line for everything that a client did or saw and every fault, with its time.

Written while it happens, read by the checker afterwards. This file must not know what any of it means.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]


class History:
    """Writes a history. All times are seconds since it was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = time.monotonic()
        self._file = path.open("wb")
        self._ops = itertools.count(1)

    def restart(self) -> None:
        """Count the seconds from now."""
        self.began = time.monotonic()

    def now(self) -> float:
        """The time."""
        return time.monotonic() - self.began

    def note(self, what: str, **more: Any) -> None:
        """Add a line."""
        self._file.write(orjson.dumps({"t": round(self.now(), 4), "what": what, **more}) + b"\n")

    def begin(self, client: str, gate: str, method: str, **more: Any) -> int:
        """A client begins an operation; returns its number."""
        op = next(self._ops)
        self.note("begin", op=op, client=client, gate=gate, method=method, **more)
        return op

    def close(self) -> None:
        """Everything is in the file."""
        self._file.close()


def read(path: Path) -> list[Json]:
    """All lines of a history."""
    with path.open("rb") as file:
        return [orjson.loads(line) for line in file]
