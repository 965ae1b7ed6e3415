"""Appends that wait until a majority has them, in the order of their positions.

This file must not know what is committed. The failures it prevents: an append that is answered before its last
entry is committed, and one that waits for ever because nobody answers.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from typing import NamedTuple

from bridge.quorum import Appended, Refused

Answer = asyncio.Future[Appended | Refused]


class _Wait(NamedTuple):
    seq: int
    order: int
    since: float
    appended: Appended
    answer: Answer


class Waits:
    """The unanswered appends of one journal."""

    def __init__(self) -> None:
        self._waiting: list[_Wait] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, appended: Appended, answer: Answer, now: float) -> None:
        """Answer with this once its position is committed."""
        self._count += 1
        wait = _Wait(appended.seq, self._count, now, appended, answer)
        if self._waiting and self._waiting[-1].seq > wait.seq:
            insort(self._waiting, wait, key=lambda each: each.seq)  # it was offered before
        else:
            self._waiting.append(wait)

    def committed(self, seq: int) -> None:
        """Answer what stands up to a position."""
        ready = 0
        for wait in self._waiting:
            if wait.seq > seq:
                break
            ready += 1
            if not wait.answer.done():
                wait.answer.set_result(wait.appended)
        del self._waiting[:ready]

    def refuse(self, refused: Refused) -> None:
        """No more of it will be committed under this fence."""
        for wait in self._taken():
            wait.answer.set_result(refused)

    def fail(self, error: BaseException) -> None:
        """Nobody knows what becomes of it."""
        for wait in self._taken():
            wait.answer.set_exception(error)

    def expire(self, before: float, error: Exception) -> int:
        """Tell those that have waited since before then that nobody knows; what they wrote stays written.

        Returns:
            How many.
        """
        late = [wait for wait in self._waiting if wait.since < before]
        self._waiting = [wait for wait in self._waiting if wait.since >= before] if late else self._waiting
        for wait in late:
            if not wait.answer.done():
                wait.answer.set_exception(error)
        return len(late)

    def _taken(self) -> list[_Wait]:
        waiting, self._waiting = self._waiting, []
        return [wait for wait in waiting if not wait.answer.done()]
