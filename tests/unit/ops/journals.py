"""Small journals for the tests of reading commands, and a shelf that holds them in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bridge.a2a.refold import refold
from bridge.envelope import MessageKey, handoff_id, intent_of_message, task_id
from bridge.handoff import Handoff
from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from sidecar.records import Caller, TaskView
from sidecar.runtime.views import row_of

FIRST, SECOND = Fence(1, "a" * 32), Fence(2, "b" * 32)
AT = 1_800_000_000_000


def draft(kind: Kind, **body: Any) -> Draft:
    return Draft(kind, json.dumps(body).encode())


def status(task: str, state: str, text: str = "") -> dict[str, Any]:
    said: dict[str, Any] = {"state": f"TASK_STATE_{state}", "timestamp": "2027-01-15T08:00:00Z"}
    if text:
        said["message"] = {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"statusUpdate": {"taskId": task, "contextId": "ctx", "status": said}}


def chunk(task: str, text: str) -> dict[str, Any]:
    artifact = {"artifactId": "page", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": task, "contextId": "ctx", "artifact": artifact, "append": True}}


def killed_and_finished(
    message_id: str = "m-1", *, ended: bool = True, voters: Sequence[str] = ("self",)
) -> tuple[str, list[Entry]]:
    """A task whose first owner's agent died, and that a second sidecar finished (unless told otherwise)."""
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": "count the pages"}]}
    intent = intent_of_message({"message": message})
    key = MessageKey("", "anonymous", None, message_id)
    task = task_id(key, 0)
    named = {"tenant": "", "principal": "anonymous", "task": None, "messageId": message_id, "generation": 0}
    first = [
        draft(
            Kind.DISPATCHED, task=task, handoff=handoff_id(intent), key=named, intent=intent, voters=[*voters],
            protocol="1.0", context=None, extensions=[],
        ),
        draft(Kind.CLAIMED, owner="left", attempt=0, reason="accepted"),
        draft(Kind.BOUND, endpoint="http://127.0.0.1:9000", task="", context="", fresh=True),
        draft(Kind.EVENT, event=status(task, "WORKING", "begun")),
        *(draft(Kind.EVENT, event=chunk(task, f"page {n}. ")) for n in range(5)),
        draft(Kind.STEP, state={"page": 5}, receipts=[], position={}),
        draft(Kind.ORPHANED, reason="broken", by="left"),
    ]  # fmt: skip
    second = [
        draft(Kind.CLAIMED, owner="right", attempt=1, reason="orphaned"),
        draft(Kind.BOUND, endpoint="http://127.0.0.1:9001", task="", context="", fresh=True),
        draft(Kind.EVENT, event=chunk(task, "page 5. ")),
    ]
    if ended:
        second.append(draft(Kind.COMPLETED, event=status(task, "COMPLETED", "six pages")))
    entries = chain(genesis(task), FIRST, AT, first)
    return task, entries + chain(tip_of(task, entries), SECOND, AT + 40, second)


def row(task: str, entries: Sequence[Entry]) -> TaskView:
    return row_of(Handoff.fold(task, entries), refold(entries), Caller(), "ctx", AT)


class MemoryShelf:
    """Journals in memory, with rows and tips that a test may falsify."""

    def __init__(self, *journals: tuple[str, list[Entry]]) -> None:
        self.journals = dict(journals)
        self.rows = {task: row(task, entries) for task, entries in journals}
        self.tips: dict[str, Tip] = {task: tip_of(task, entries) for task, entries in journals}

    def views(self) -> list[TaskView]:
        return list(self.rows.values())

    def find(self, prefix: str) -> list[str]:
        return sorted(task for task in self.journals if task.startswith(prefix))

    def view(self, task: str) -> TaskView | None:
        return self.rows.get(task)

    def entries(self, task: str) -> list[Entry]:
        return self.journals[task]

    def tip(self, task: str) -> Tip | None:
        return self.tips.get(task)

    def shown_seq(self, task: str) -> int:
        return 0
