"""What a client folds from its stream, over breaks and changes of front, equals what GetTask answers.

The client's fold is the tests' own. Its history has no messages of its own making, so of the histories what the
agent said is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.checkers.promise import Checker
from tests.unit.a2a.model_client import trimmed

if TYPE_CHECKING:
    from tests.simulation.clients import Client

Json = dict[str, Any]


def said_by_agent(task: Json) -> Json:
    """What is compared: status, artifacts, the agent's messages."""
    task = trimmed(task)
    history = [each["messageId"] for each in task["history"] if each.get("role") == "ROLE_AGENT"]
    return {**task, "history": history}


class StreamEqualsTask(Checker):
    """Compares at the end."""

    name = "stream equals task"

    def compared(self, client: Client, task: Json) -> None:
        mine, theirs = said_by_agent(client.seen.task()), said_by_agent(task)
        for member, value in mine.items():
            if value != theirs[member]:
                raise self.broken(f"{client.name} folds {member} {value}, GetTask says {theirs[member]}")
