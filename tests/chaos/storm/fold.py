"""A Task put together from events, as A2A's specification says and as plainly as it can be written.

The checker's own: nothing of the product is used, so that a fault there cannot hide itself here.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})


class Folded:
    """What a client has after some events.

    Attributes:
        texts: artifact id to its whole text.
        names: artifact id to its name.
        said: (message id, text) of every status message of the agent's, in order.
        state: without its prefix.
        letters: of all artifacts.
        replaced: artifacts that were replaced although they were there.
        loose: chunks that were appended to nothing.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.said: list[tuple[str, str]] = []
        self.state = ""
        self.replaced = self.loose = 0
        self.letters = 0

    def apply(self, event: Json) -> None:
        """Take one StreamResponse."""
        if task := event.get("task"):
            history = [each for each in task.get("history", []) if each["role"] == "ROLE_AGENT"]
            self.said = [(each["messageId"], text_of(each)) for each in history]
            self._status(task["status"])
            artifacts = {each["artifactId"]: each for each in task.get("artifacts", [])}
            self.texts = {name: text_of(each) for name, each in artifacts.items()}
            self.names = {name: each.get("name", "") for name, each in artifacts.items()}
            self.letters = sum(map(len, self.texts.values()))
        elif update := event.get("statusUpdate"):
            self._status(update["status"])
        elif update := event.get("artifactUpdate"):
            artifact = update["artifact"]
            name = artifact["artifactId"]
            appended = bool(update.get("append"))
            self.loose += appended and name not in self.texts
            self.replaced += not appended and name in self.texts
            before = self.texts.get(name, "")
            self.texts[name] = (before if appended else "") + text_of(artifact)
            self.letters += len(self.texts[name]) - len(before)
            self.names[name] = artifact.get("name") or self.names.get(name, "")

    def _status(self, status: Json) -> None:
        self.state = state_of(status)
        if message := status.get("message"):
            self.said.append((message["messageId"], text_of(message)))

    @property
    def by_name(self) -> list[tuple[str, str]]:
        """(name, text) of the artifacts."""
        return sorted((self.names[each], text) for each, text in self.texts.items())

    @property
    def size(self) -> tuple[int, int, bool]:
        """How far the task is: statuses said, letters written, whether it has ended."""
        return len(self.said), self.letters, self.state in TERMINAL

    @property
    def whole(self) -> tuple[Any, ...]:
        """Everything that two readers of the same task must agree on."""
        return self.state, self.said, sorted((each, self.names[each], text) for each, text in self.texts.items())


def text_of(content: Json) -> str:
    """The text of a message or an artifact."""
    return "".join(part.get("text", "") for part in content.get("parts", []))


def state_of(status: Json) -> str:
    """A state without its prefix."""
    return str(status["state"]).removeprefix("TASK_STATE_")


def terminal(event: Json) -> str:
    """The terminal state that an event brings, "" for others."""
    status = (event.get("statusUpdate") or event.get("task") or {}).get("status")
    state = state_of(status) if status else ""
    return state if state in TERMINAL else ""
