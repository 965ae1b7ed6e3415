"""Where a subscription begins: which of its first events its first Task may have told already.

Servers tap a run's events first and look up its Task afterwards (the Python SDK does), so an event that falls in
between comes twice: inside the Task, and again as an event. Nothing on the wire tells which: a chunk has no
id. So whatever *may* be a repetition is not taken; who follows the run subscribes again, and the next Task shows
the truth. A wrong suspicion costs one more subscription, never a gap.

This file must not know what clients were shown. The failure it prevents: a chunk of text that clients read twice
after their sidecar was restarted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.jsontext import write

Json = dict[str, Any]


class Overlap:
    """The beginning of one subscription.

    Args:
        before: the Task that the agent showed just before the subscription was asked for: what it held then was
            made too early to be repeated, but for the one event that may have been on its way.

    Attributes:
        over: an event came that the first Task cannot hold, so nothing that follows it is a repetition.
    """

    __slots__ = ("_artifacts", "_before", "_said", "_status", "over")

    def __init__(self, before: Json) -> None:
        self._before = _artifacts(before)
        self._artifacts = self._before
        self._said = _said(before)
        self._status = before.get("status") or {}
        self.over = False

    def safe(self, batch: Sequence[Json]) -> int:
        """How many of these events, from the first, are no repetition. Ask before they are changed."""
        for number, event in enumerate(batch):
            if self.over:
                break
            task = event.get("task")
            if task is not None:
                self._artifacts, self._said, self._status = _artifacts(task), _said(task), task.get("status") or {}
            elif self._may_repeat(event):
                return number
        return len(batch)

    def _may_repeat(self, event: Json) -> bool:
        update = event.get("artifactUpdate")
        if update is not None:
            chunk = _content(update.get("artifact") or {})
            if not chunk:
                return False  # it says nothing about where the subscription began
            found = self._holds(update, chunk)
        else:
            found = self._told((event.get("statusUpdate") or {}).get("status") or {})
        self.over = not found
        return found

    def _holds(self, update: Json, chunk: str) -> bool:
        artifact_id = update["artifact"].get("artifactId") or ""
        whole = self._artifacts.get(artifact_id)
        if whole is None:
            return False
        if not update.get("append"):
            return whole.startswith(chunk)
        begin = max(0, len(self._before.get(artifact_id, "")) - len(chunk))
        return chunk in whole[begin:]

    def _told(self, status: Json) -> bool:
        said = status.get("message")
        if said:
            return said.get("messageId") in self._said
        return status.get("state") == self._status.get("state") and not self._status.get("message")


def _artifacts(task: Json) -> dict[str, str]:
    return {each.get("artifactId") or "": _content(each) for each in task.get("artifacts") or ()}


def _content(artifact: Json) -> str:
    """All parts as one text; what is not text stands in it as JSON."""
    parts = artifact.get("parts") or ()
    return "".join(part["text"] if "text" in part else write(part).decode() for part in parts)


def _said(task: Json) -> frozenset[Any]:
    messages = [*(task.get("history") or ()), (task.get("status") or {}).get("message") or {}]
    return frozenset(each.get("messageId") for each in messages)
