"""What is to happen once positions of a journal are committed, in the order in which it was wished.

This file must not know what is committed. The failure it must not add: a wish that comes true twice.
"""

from __future__ import annotations

from collections.abc import Callable

Then = Callable[[], None]


class Waits:
    """Wishes by position."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Then]] = []

    def add(self, seq: int, then: Then | None) -> None:
        """Do something once this position is committed."""
        if then is not None:
            self._waiting.append((seq, then))

    def ready(self, seq: int) -> list[Then]:
        """What is to happen now that all up to a position is committed."""
        ready = [then for at, then in self._waiting if at <= seq]
        self._waiting = [(at, then) for at, then in self._waiting if at > seq]
        return ready

    def taken(self) -> list[tuple[int, Then]]:
        """All of it; it is somebody else's now."""
        waiting, self._waiting = self._waiting, []
        return waiting
