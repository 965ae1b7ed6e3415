"""Short ways to write an agent's events, and what became of them."""

from __future__ import annotations

from typing import Any

from bridge.a2a.outcomes import Finish, Outcome, Rewind, Show, drafts
from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from bridge.journal import Draft, Fence, Kind, chain, tip_of
from bridge.jsontext import write

Json = dict[str, Any]


def art(artifact: str, *parts: str | Json, append: bool = False, last: bool = False, **head: Any) -> Json:
    chunk = {"artifactId": artifact, "parts": [{"text": p} if isinstance(p, str) else p for p in parts], **head}
    update: Json = {"taskId": "T", "contextId": "C", "artifact": chunk}
    if append:
        update["append"] = True
    if last:
        update["lastChunk"] = True
    return {"artifactUpdate": update}


def message(text: str, message_id: str = "m", role: str = "ROLE_AGENT") -> Json:
    return {"messageId": message_id, "role": role, "parts": [{"text": text}]}


def status(state: str, text: str = "", message_id: str = "m") -> Json:
    said: Json = {"state": f"TASK_STATE_{state}"}
    if text:
        said["message"] = message(text, message_id)
    return {"statusUpdate": {"taskId": "T", "contextId": "C", "status": said}}


def task(state: str = "SUBMITTED", text: str = "", message_id: str = "m", **members: Any) -> Json:
    return {
        "id": "T",
        "contextId": "C",
        "status": status(state, text, message_id)["statusUpdate"]["status"],
        **members,
    }


class Story:
    """A task's runs one after another, with the journal that they leave."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.run = Run(Shown(), fresh=True)

    def tell(self, *events: Json) -> list[str]:
        outcomes = [outcome for event in events for outcome in self.run.receive(event)]
        return self.note(outcomes)

    def note(self, outcomes: list[Outcome]) -> list[str]:
        self.drafts += drafts(outcomes)
        return [spoken(outcome) for outcome in outcomes]

    def answer(self, text: str, number: int = 1) -> None:
        body = {"id": f"i{number}", "digest": "0", "message": message(text, f"i{number}", "ROLE_USER")}
        self.run.shown.apply(Kind.INPUT, body)
        self.drafts.append(Draft(Kind.INPUT, write(body)))

    def shown(self) -> Shown:
        return Shown.fold(chain(tip_of("T", []), Fence(1, "s"), 0, self.drafts))

    def again(self) -> Run:
        """The agent died; another run begins at the cut."""
        self.run = Run(self.shown(), fresh=False)
        self.drafts.append(Draft(Kind.BOUND, write({"endpoint": "e", "task": "a", "context": "c", "fresh": True})))
        return self.run

    def restart(self, *, fresh: bool) -> Run:
        """The sidecar died, the agent lives."""
        self.run = Run(self.shown(), fresh=fresh, reattached=True)
        return self.run

    def held(self) -> dict[str, str]:
        """What clients hold: the text of each artifact."""
        return {
            public: "".join(part.get("text", "#") for part in each.content.parts)
            for public, each in self.run.shown.artifacts.items()
        }


def spoken(outcome: Outcome) -> str:
    """An outcome in a few words."""
    if isinstance(outcome, Rewind):
        return f"rewind {outcome.artifact if outcome.status is None else outcome.status}"
    if not isinstance(outcome, Show | Finish):
        return type(outcome).__name__.lower()
    event = outcome.event
    if "task" in event:
        return "task"
    if "statusUpdate" in event:
        told = event["statusUpdate"]["status"]
        text = "".join(part["text"] for part in told.get("message", {}).get("parts", ()))
        return f"{told['state'].removeprefix('TASK_STATE_').lower()} {text}".strip()
    update = event["artifactUpdate"]
    text = "".join(part.get("text", "#") for part in update["artifact"]["parts"])
    sign = "+=" if update.get("append") else "="
    return f"{update['artifact']['artifactId']} {sign} {text}" + (" ." if update.get("lastChunk") else "")
