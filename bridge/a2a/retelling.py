"""The statuses of a run: which of them clients have been told before, and which questions have answers.

The status and question rules of 5-reconcile.md. Clients have been told E, the statuses that no rewind has cut; the
run's cursor says how many of them it has told again. An answer that was given once may be given again to exactly
the same question, and once a run. This file must not know artifacts or endings. The failures it prevents: progress
told twice, and a human asked twice, or worse, an old answer given to a new question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bridge.a2a.dialect import AUTH_REQUIRED, WORKING
from bridge.a2a.outcomes import Outcome, Rewind, Show
from bridge.a2a.shown import Shown, same_message, same_status

Json = dict[str, Any]


class Retelling:
    """Where a run stands among the shown statuses.

    Args:
        shown: advanced by every outcome that is returned.
        fresh: the first run of the task. It has told whatever has been told.

    Attributes:
        cursor: how many of the shown statuses this run has told.
        pending: number of the question that the run waits at, None once it has gone on or was sent the answer.
        stands_at: number of the question at which the run was heard of last, None once it was heard of again. It
            outlives the sending of the answer: who has sent that does not know that it came.
    """

    __slots__ = ("_cursor", "_fresh", "_heard", "_last", "_shown", "_used", "_walked", "pending", "stands_at")

    def __init__(self, shown: Shown, *, fresh: bool) -> None:
        self._shown = shown
        self._fresh = fresh
        cut = shown.cut
        self._cursor = min(cut.status, len(shown.statuses)) if cut else 0
        self._used: dict[int, None] = dict.fromkeys(cut.used) if cut else {}
        self.pending = cut.pending if cut else None
        if shown.told:
            self._cursor = len(shown.statuses)
            self.pending = len(shown.questions) - 1 if shown.open else None
        self.stands_at = self.pending
        self._used.update(dict.fromkeys(range(shown.asked, len(shown.questions))))
        self._heard: set[str] = set()
        self._last: Json | None = None
        # How far a snapshot's history has been found among the shown statuses.
        self._walked = 0

    @property
    def cursor(self) -> int:
        """How many of the shown statuses this run has told."""
        return len(self._shown.statuses) if self._fresh else self._cursor

    @property
    def owed(self) -> Json | None:
        """The ``input`` body that answers the question that the run waits at."""
        return None if self.pending is None else self._shown.questions[self.pending].answer

    def went_on(self) -> None:
        """The run has shown that it waits no more."""
        self.pending = self.stands_at = None

    def hear(self, status: Json) -> None:
        """Note a status of the running agent, so that a snapshot that repeats it is known to repeat."""
        if self._fresh:
            return
        self._last = status
        message = status.get("message")
        if message:
            self._heard.add(message.get("messageId") or "")

    def heard(self, message: Json | None) -> bool:
        """Whether this run is known to have said this very message."""
        message_id = message and message.get("messageId")
        return bool(message_id) and (message_id in self._shown.message_ids or message_id in self._heard)

    def repeat(self, status: Json) -> bool:
        """Whether the status is the one that was told at the cursor; if so the cursor has moved on.

        One that leaves nothing behind is never the first sign of another story: an earlier run may have been read
        from a Task, which does not show that it was told.
        """
        if self._repeats(status) and status.get("state") != AUTH_REQUIRED:
            self._cursor += 1
            return True
        return _passes(status) and self.cursor < len(self._shown.statuses)

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
                if self._repeats(status):  # which may move the cursor itself
                    self._cursor += 1
                self._wait_at(number)
                return question.answer
        return None

    def asks_again(self, status: Json) -> bool:
        """Whether the run began at the question that clients look at, and asks it once more: it waits there."""
        if self._fresh or self.pending is None or not self._shown.open:
            return False
        question = self._shown.questions[self.pending]
        return question is self._shown.questions[-1] and same_status(question.status, status)

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

    def missed(self, task: Json) -> Iterator[Json]:
        """Statuses that a Task's history says this run has told while nobody listened.

        A status's message moves to the history when the next status comes. Messages that clients were told, by
        this run or an earlier one, move the cursor instead.

        Yields:
            Statuses to tell; each must have been told when the next one is asked for.
        """
        said = [each for each in task.get("history") or () if each.get("role") == "ROLE_AGENT"]
        known = max((index + 1 for index, each in enumerate(said) if self.heard(each)), default=0)
        if self.heard((task.get("status") or {}).get("message")):
            known = len(said)
        seen = dict.fromkeys(self._shown.base.used) if self._shown.base else {}
        for message in said[:known]:
            self._use(message, seen)
        at = self.cursor
        if not known and not self._fresh:
            # Nothing was heard since this sidecar started: the history goes back to where the run began.
            at = min(at, self._floor())
        for message in said[known:]:
            found = self._find(message, at)
            # A question that was answered by replay away from the cursor stands nowhere among the statuses.
            used = self._use(message, seen)
            if found is not None:
                at = found + 1
                self._cursor = max(self._cursor, at)
            elif not used:
                yield {"state": WORKING, "message": message}
                at = self.cursor
            self.hear({"message": message})
        self._walked = at

    def overtake(self, status: Json) -> bool:
        """Look for a snapshot's status among those that were told: it shows only the last of several.

        Returns:
            The status is what clients look at, or what this run is known to have told: nothing is to be done.
            Otherwise the rules for statuses apply, at the cursor where this has left it.
        """
        if self._is_current(status) or self._is_watched(status):
            self.hear(status)
            return True
        return False

    def position(self) -> Json:
        """Its part of a step's position (see ``cut``)."""
        position: Json = {"same": True} if self._fresh else {"status": self._cursor, "used": [*self._used]}
        if self.pending is not None:
            position["pending"] = self.pending
        return position

    def _repeats(self, status: Json) -> bool:
        """Whether the status was told at the cursor, or after nothing but such as leave nothing behind."""
        statuses, at = self._shown.statuses, self.cursor
        while at < len(statuses) and not same_status(statuses[at], status):
            if not _passes(statuses[at]):
                return False
            at += 1
        if at == len(statuses):
            return False
        self._cursor = at
        return True

    def _floor(self) -> int:
        """What was told below this was told before the run began."""
        return self._shown.base.status if self._shown.base and not self._fresh else 0

    def _is_current(self, status: Json) -> bool:
        if self.heard(status.get("message")):
            return True
        cursor, statuses = self.cursor, self._shown.statuses
        last, own_ids = self._last, True
        if last is None and cursor > self._floor():
            last = statuses[cursor - 1]
            # Otherwise it may have been told by an earlier run, with that run's message id.
            own_ids = self._fresh or self._shown.told
        if last is None or not same_status(last, status):
            return False
        return not (own_ids and _id_of(last) and _id_of(status))

    def _is_watched(self, status: Json) -> bool:
        """Move to where the status was told, if it was; whether it is a wait that clients look at now."""
        statuses = self._shown.statuses
        for at in range(self._walked, len(statuses)):
            if same_status(statuses[at], status):
                if at < self.cursor:
                    return True
                self._cursor = at
                if status.get("state") == AUTH_REQUIRED and statuses[at] is self._shown.status:
                    self._cursor += 1
                    return True
                break
            if at >= self.cursor and _passes(status) and not _passes(statuses[at]):
                break  # it says nothing: it may be an earlier one that was never told
        return False

    def _find(self, message: Json, at: int) -> int | None:
        statuses = self._shown.statuses
        return next(
            (n for n in range(at, len(statuses)) if same_message(statuses[n].get("message"), message)), None
        )

    def _use(self, message: Json, seen: dict[int, None]) -> bool:
        """Note that this run has had the answer to a question, where the message is one that has an answer."""
        for number, question in enumerate(self._shown.questions):
            unseen = number not in seen and question.answer
            if unseen and same_message(question.status.get("message"), message):
                self._used[number] = seen[number] = None
                return True
        return False

    def _wait_at(self, number: int) -> None:
        self._used[number] = None
        self.pending = self.stands_at = number


def _passes(status: Json) -> bool:
    """Whether a status leaves nothing behind in a Task once the next one comes."""
    return status.get("state") == WORKING and not status.get("message")


def _id_of(status: Json) -> str:
    return (status.get("message") or {}).get("messageId") or ""
