"""The statuses of a run: which of them clients have been told before, and which questions have answers.

The status and question rules of 5-reconcile.md. Clients have been told E, the statuses that no rewind has cut; the
run's cursor says how many of them it has told again. An answer that was given once may be given again to exactly
the same question, and once a run. This file must not know artifacts or endings. The failures it prevents: progress
told twice, and a human asked twice, or worse, an old answer given to a new question.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.cut import Cut
from bridge.a2a.dialect import AUTH_REQUIRED, WORKING
from bridge.a2a.outcomes import Outcome, Rewind, Show
from bridge.a2a.shown import Shown, same_message, same_status

Json = dict[str, Any]


class Retelling:
    """Where a run stands among the shown statuses.

    Args:
        shown: advanced by every outcome that is returned.
        cut: where the run starts; None: from nothing.
        fresh: the first run of the task. It has told whatever has been told.

    Attributes:
        cursor: how many of the shown statuses this run has told.
        pending: number of the question that the run waits at, None once it has gone on.
    """

    __slots__ = ("_cursor", "_fresh", "_heard", "_shown", "_used", "pending")

    def __init__(self, shown: Shown, cut: Cut | None, *, fresh: bool) -> None:
        self._shown = shown
        self._fresh = fresh
        self._cursor = min(cut.status, len(shown.statuses)) if cut else 0
        self._used: dict[int, None] = dict.fromkeys(cut.used) if cut else {}
        self._heard: set[str] = set()
        self.pending = cut.pending if cut else None

    @property
    def cursor(self) -> int:
        """How many of the shown statuses this run has told."""
        return len(self._shown.statuses) if self._fresh else self._cursor

    @property
    def owed(self) -> Json | None:
        """The ``input`` body that answers the question that the run waits at."""
        return None if self.pending is None else self._shown.questions[self.pending].answer

    def hear(self, status: Json) -> None:
        """Note a status of the running agent, so that a snapshot that repeats it is known to repeat."""
        message = status.get("message")
        if message and not self._fresh:
            self._heard.add(message.get("messageId") or "")

    def heard(self, message: Json) -> bool:
        """Whether this run is known to have said this very message."""
        message_id = message.get("messageId")
        return bool(message_id) and message_id in (self._shown.message_ids if self._fresh else self._heard)

    def repeat(self, status: Json) -> bool:
        """Whether the status is the one that was told at the cursor; if so the cursor has moved on."""
        if self._repeats(status) and status.get("state") != AUTH_REQUIRED:
            self._cursor += 1
            return True
        return False

    def rewind(self) -> list[Outcome]:
        """Record that what was told beyond the cursor is superseded."""
        cursor = self.cursor
        if cursor == len(self._shown.statuses):
            return []
        self._shown.rewind(cursor)
        return [Rewind(status=cursor)]

    def tell(self, event: Json) -> list[Outcome]:
        """Show a status."""
        outcomes = [*self.rewind(), Show(event)]
        self._shown.show(event)
        self._cursor += 1
        return outcomes

    def answered(self, status: Json) -> Json | None:
        """The answer to the oldest identical question whose answer this run has not had; it has it now."""
        if self._fresh:
            return None
        for number, question in enumerate(self._shown.questions):
            if number not in self._used and question.answer and same_status(question.status, status):
                self._cursor += self._repeats(status)
                self._wait_at(number)
                return question.answer
        return None

    def still_open(self, status: Json) -> bool | None:
        """Whether a question without an answer to replay has been asked already.

        Returns:
            True: clients look at it now; the run waits at it. False: the earlier run went past it without an
            answer, so it is a repeat like any status. None: it must be asked.
        """
        if not self._repeats(status):
            return None
        told = self._shown.statuses[self._cursor]
        number = next(n for n, question in enumerate(self._shown.questions) if question.status is told)
        if self._shown.questions[number].answer:
            return None
        self._cursor += 1
        self._wait_at(number)
        return self._shown.open and told is self._shown.status

    def ask(self, event: Json) -> list[Outcome]:
        """Show a question."""
        outcomes = self.tell(event)
        self._wait_at(len(self._shown.questions) - 1)
        return outcomes

    def seek(self, status: Json) -> None:
        """Go on to a status that was told, if it was: a snapshot shows only the last of several."""
        for at in range(self.cursor, len(self._shown.statuses)):
            if same_status(self._shown.statuses[at], status):
                self._cursor = at
                return

    def is_current(self, status: Json) -> bool:
        """Whether a snapshot's status is one that this run is known to have told."""
        message = status.get("message")
        if message and message.get("messageId"):
            if self.heard(message):
                return True
            if self._fresh:
                return False
        cursor = self.cursor
        return cursor > 0 and same_status(self._shown.statuses[cursor - 1], status)

    def missed(self, message: Json) -> Json | None:
        """A message in a snapshot's history that this run was not heard to say.

        Returns:
            The status to show for it; None where it was told before: the cursor has moved past it.
        """
        for at in range(self.cursor, len(self._shown.statuses)):
            told = self._shown.statuses[at]
            if same_message(told.get("message"), message):
                self._cursor = at + 1
                for number, question in enumerate(self._shown.questions):
                    if question.status is told:
                        self._used[number] = None
                self.hear({"message": message})
                return None
        return {"state": WORKING, "message": message}

    def position(self) -> Json:
        """Its part of a step's position (see ``cut``)."""
        position: Json = {"same": True} if self._fresh else {"status": self._cursor, "used": [*self._used]}
        if self.pending is not None:
            position["pending"] = self.pending
        return position

    def _repeats(self, status: Json) -> bool:
        statuses = self._shown.statuses
        return not self._fresh and self._cursor < len(statuses) and same_status(statuses[self._cursor], status)

    def _wait_at(self, number: int) -> None:
        self._used[number] = None
        self.pending = number
