"""What the agents of a storm say: the agent reads it to work, the checker to know what must have come out.

A message's text is the whole script: ``kind=long steps=12 pace=0.05 nonce=k3f``. From it follows every word that
the agent says, whichever process says it, however often it is killed. This file must not know who reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

KINDS = ("steady", "long", "prose", "twins", "ask", "endless", "echo")


@dataclass(frozen=True, slots=True)
class Script:
    """One task's script.

    Attributes:
        kind: ``steady`` keeps checkpoints, ``long`` does not, ``prose`` streams text in pieces of any size under
            random artifact ids, ``twins`` does so in two artifacts in turn, ``ask`` asks and goes on, ``endless``
            has to be canceled, ``echo`` answers with a Message.
        nonce: makes its words unlike those of every other task.
        steps: how many.
        pace: seconds before each.
        every: steps between two checkpoints.
        questions: how often ``ask`` asks.
    """

    kind: str
    nonce: str
    steps: int = 10
    pace: float = 0.05
    every: int = 1
    questions: int = 0

    @property
    def text(self) -> str:
        """The message."""
        return (
            f"kind={self.kind} nonce={self.nonce} steps={self.steps} pace={self.pace:.3f} every={self.every} "
            f"questions={self.questions}"
        )

    def chunk(self, step: int, name: str = "result") -> str:
        """What a step adds to an artifact."""
        if self.kind == "prose":
            return f"w{step} {self.nonce * (step % 4)}é "
        return f"[{name} {step} {self.nonce}]"


@dataclass(slots=True)
class Outcome:
    """What a complete task shows.

    Attributes:
        artifacts: name to text.
        said: the texts of its statuses, in order.
    """

    artifacts: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def parse(text: str) -> Script:
    """A script from a message's text."""
    words = dict(word.partition("=")[::2] for word in text.split())
    return Script(
        words["kind"], words["nonce"], int(words["steps"]), float(words["pace"]), int(words["every"]),
        int(words["questions"]),
    )  # fmt: skip


def question(number: int) -> str:
    """What ``ask`` asks."""
    return f"question {number}?"


def said_at(step: int) -> str:
    """The status of a step."""
    return f"step {step}"


def part_of(script: Script, step: int) -> str:
    """Which of the twins a step goes to."""
    return ("left", "right")[step % 2] if script.kind == "twins" else "result"


def outcome(script: Script, answers: list[str]) -> Outcome:
    """What must have come out in the end (for ``endless``: what would have, had it reached its last step)."""
    whole = Outcome()
    for part in range(script.questions + 1):
        if part:
            whole.artifacts["result"] = whole.artifacts.get("result", "") + f"<{answers[part - 1]}>"
        for step in range(script.steps * part + 1, script.steps * (part + 1) + 1):
            name = part_of(script, step)
            whole.artifacts[name] = whole.artifacts.get(name, "") + script.chunk(step, name)
            if script.kind in ("steady", "long", "ask"):
                whole.said.append(said_at(step))
        if part < script.questions:
            whole.said.append(question(part + 1))
    return whole
