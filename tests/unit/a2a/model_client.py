"""A client that knows A2A and nothing else, and how tests compare what it holds.

Its fold is written here once more, on purpose: the folds of ``bridge`` are what is being tested.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from bridge.a2a.shown import Shown
from tests.unit.a2a.model_agents import said

Json = dict[str, Any]


def view(shown: Shown) -> Json:
    """Everything that a fold holds, as comparable values."""
    return {
        "ids": [shown.begun, shown.task_id, shown.context_id, shown.finished, shown.open],
        "artifacts": [
            [public, each.agents, each.count, each.closed, each.head, said(each.content.parts)]
            for public, each in shown.artifacts.items()
        ],
        "statuses": shown.statuses,
        "status": shown.status,
        "questions": [[each.status, each.answer] for each in shown.questions],
        "inputs": shown.inputs,
        "messages": sorted(shown.message_ids),
        "cuts": [
            cut
            and [
                [cut.state, [*cut.receipts], cut.status, [*cut.used], cut.pending],
                [[a.public, a.agent, a.count, a.head, a.closed, said(a.parts())] for a in cut.artifacts],
            ]
            for cut in (shown.cut, shown.base)
        ],
        "own": [[*shown.own], shown.asked, shown.told],
    }


class Limit(Exception):
    """The case has come to a documented limit: what follows is not promised."""


def flat(parts: list[Json]) -> list[Any]:
    """Content character by character, so that prefixes can be seen."""
    return [
        (char, json.dumps({**part, "text": ""}, sort_keys=True))
        for part in said(parts)
        for char in (["", *part["text"]] if "text" in part else [json.dumps(part)])
    ]


class Client:
    """A client that knows A2A and nothing else."""

    def __init__(self, task: Json | None = None) -> None:
        self.artifacts: dict[str, Json] = {}
        self.closed: dict[str, bool] = {}
        self.versions: dict[str, list[Any]] = {}
        self.history: list[Json] = []
        self.status: Json = {}
        self.log: list[list[str]] = []
        if task:
            self.see({"task": task})

    def see(self, event: Json) -> None:
        event = copy.deepcopy(event)
        if "task" in event:
            task = event["task"]
            self.status, self.history = task["status"], task.get("history", [])
            self.artifacts = {each["artifactId"]: each for each in task.get("artifacts", [])}
            if said_status(self.status) != ["TASK_STATE_SUBMITTED", ""]:
                self.log.append(said_status(self.status))
        elif "statusUpdate" in event:
            if "message" in self.status:
                self.history.append(self.status["message"])
            self.status = event["statusUpdate"]["status"]
            self.log.append(said_status(self.status))
        else:
            self._chunk(event["artifactUpdate"])

    def _chunk(self, update: Json) -> None:
        chunk = update["artifact"]
        public = chunk["artifactId"]
        known = self.artifacts.get(public)
        if not update.get("append"):
            if known is not None:
                self.versions.setdefault(public, []).append(said(known["parts"]))
            self.artifacts[public] = chunk
            self.closed[public] = False
        else:
            assert known is not None, "clients' SDKs refuse to append to an unknown artifact"
            known["parts"] += chunk["parts"]
            if "metadata" in chunk:
                known["metadata"] = {**known.get("metadata", {}), **chunk["metadata"]}
        self.closed[public] = self.closed.get(public, False) or update.get("lastChunk", False)

    def task(self) -> Json:
        return {"status": self.status, "history": self.history, "artifacts": [*self.artifacts.values()]}


def answer_of(text: str, number: int) -> Json:
    return {"messageId": f"i{number}", "role": "ROLE_USER", "parts": [{"text": text}]}


def said_status(status: Json) -> list[str]:
    message = status.get("message", {})
    return [status["state"], "".join(part["text"] for part in message.get("parts", []))]


def text_of(artifact: Json) -> str:
    key = [artifact.get("name"), said(artifact["parts"]), artifact.get("metadata") or {}]
    return json.dumps(key, sort_keys=True)


def trimmed(task: Json) -> Json:
    """What of a Task clients compare: empty members are the same as absent ones."""
    return {name: task.get(name) or [] for name in ("status", "history", "artifacts")}


def squeezed(versions: list[list[Json]]) -> list[Any]:
    """Versions without those that the next one only goes on from: such a replacement may be shown as an append."""
    kept: list[Any] = []
    for each in map(flat, reversed(versions)):
        if not kept or kept[-1][: len(each)] != each:
            kept.append(each)
    return kept
