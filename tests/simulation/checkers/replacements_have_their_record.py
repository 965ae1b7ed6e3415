"""Nothing that was shown is shown again, or replaced by another run, unless a ``rewound`` entry says so.

Judged when an owner journals what its agent said, with a fold of the journal of its own and with what the model
agent had really made and said before that event. A run may replace what it made itself without a record
(``append=false`` is then its own); whatever it shows is afterwards what it has made, not more and not twice.
Artifacts of a run that was missed in part are not judged: its Task does not say what it did meanwhile, and it may
have passed over statuses that clients were told by an earlier run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.a2a.remaking import SUPERSEDED
from bridge.journal import TERMINAL, Entry, Fence, Kind
from bridge.jsontext import parse_stored
from tests.simulation.checkers.promise import Checker
from tests.simulation.checkers.the_cut_is_exact import told_all, worded
from tests.unit.a2a.model_agents import said
from tests.unit.a2a.model_client import said_status

if TYPE_CHECKING:
    from tests.simulation.exchange import Told
    from tests.simulation.hand import Hand
    from tests.simulation.world import World

Json = dict[str, Any]


class Book:
    """What a journal says that clients hold."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.upto = 0
        self.artifacts: dict[str, list[Json]] = {}
        self.statuses: list[list[str]] = []

    def enter(self, update: Json) -> None:
        """A shown artifact update."""
        chunk = update["artifact"]
        public, parts = chunk["artifactId"], chunk.get("parts") or []
        if update.get("append"):
            parts = self.artifacts[public] + parts
        self.artifacts[public] = parts

    def begin(self, task: Json) -> None:
        """A shown Task."""
        history = task.get("history") or ()
        self.statuses += [
            said_status({"state": "", "message": each}) for each in history if each["role"] == "ROLE_AGENT"
        ]
        if task["status"].get("message") or task["status"]["state"] != "TASK_STATE_SUBMITTED":
            self.statuses.append(said_status(task["status"]))
        self.artifacts.update({each["artifactId"]: each["parts"] for each in task.get("artifacts") or ()})


class ReplacementsHaveTheirRecord(Checker):
    """A fold of each owner's journal."""

    name = "replacements have their record"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, Book] = {}

    def took(self, hand: Hand, told: Told | None, before: int) -> None:
        book = self.books.get(hand.task)
        if book is None or book.fence != hand.fence:
            book = self.books[hand.task] = Book(hand.fence)
        self._walk(hand, book, hand.log[book.upto : before], None)
        self._walk(hand, book, hand.log[before:], told)
        book.upto = len(hand.log)

    def _walk(self, hand: Hand, book: Book, entries: list[Entry], told: Told | None) -> None:
        record: str | None = None
        for entry in entries:
            if entry.kind is not Kind.REWOUND and entry.kind is not Kind.EVENT and entry.kind not in TERMINAL:
                continue
            body = parse_stored(entry.body or b"{}")
            if entry.kind is Kind.REWOUND:
                record = body.get("artifact")
                if "status" in body:
                    del book.statuses[body["status"] :]
                continue
            event = body["event"]
            if "artifactUpdate" in event:
                self._artifact(hand, book, event["artifactUpdate"], body.get("agent"), record, told)
            elif record is not None:
                raise self.broken(f"{hand.task}: {record} is called replaced, and is not")
            elif "statusUpdate" in event:
                self._status(hand, book, event["statusUpdate"]["status"], told)
            else:
                book.begin(event["task"])
            record = None

    def _artifact(
        self, hand: Hand, book: Book, update: Json, agent: str | None, record: str | None, told: Told | None
    ) -> None:
        public = update["artifact"]["artifactId"]
        shown, append = book.artifacts.get(public), bool(update.get("append"))
        if record is not None and (record != public or append):
            raise self.broken(f"{hand.task}: {record} is called replaced, and is not")
        book.enter(update)
        if told is None or not told.whole:
            return
        if shown is not None and not append and record is None:
            own = told.made_before.get(agent or public)
            if own is None or said(own) != said(shown):
                raise self.broken(f"{hand.task}: {public} is replaced without a record: clients held {shown}")
        held, made = said(book.artifacts[public]), said(told.made.get(agent or public) or [])
        if held not in (made, [{"text": SUPERSEDED}]):
            raise self.broken(f"{hand.task}: clients are shown {held} of {public}, the run made {made}")

    def _status(self, hand: Hand, book: Book, status: Json, told: Told | None) -> None:
        if told is not None:
            here, there = worded(book.statuses), worded(told.said[: told.said_before])
            if not told_all(here, there, exactly=told.whole):
                raise self.broken(f"{hand.task}: a status is shown after {here}, its run had said {there}")
        book.statuses.append(said_status(status))
