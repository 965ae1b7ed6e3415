"""All artifacts of a re-run: whose chunk it is, and what of it clients have not seen yet.

The artifact rules of 5-reconcile.md. A chunk finds its public artifact although the new agent may name it anew;
what repeats is swallowed, what goes beyond is shown, what differs is held back and replaces once. This file must
not know statuses, questions or why a run began. The failures it prevents: an artifact shown twice under two names,
text shown twice, and text of two runs woven into one artifact.
"""

from __future__ import annotations

import re
from typing import Any

from bridge.a2a.artifact import changed_metadata, extended_head, head_of, same_head
from bridge.a2a.content import Content, rest_of, text_of
from bridge.a2a.outcomes import Outcome, Rewind, Show
from bridge.a2a.remade import Remade
from bridge.a2a.shown import Shown, ShownArtifact

Json = dict[str, Any]

SUPERSEDED = "[superseded: the run that finished this task did not produce this artifact]"

# UUID versions 1, 4 and 7 differ in every run; 3, 5 and 8 are names of something and come back.
_RANDOM_UUID = re.compile(
    r"(?:[0-9a-f]{8}-[0-9a-f]{4}-[147][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    r"|[0-9a-f]{12}[147][0-9a-f]{3}[89ab][0-9a-f]{15})\Z",
    re.IGNORECASE,
)


def is_random(artifact_id: str) -> bool:
    """Whether an id is a UUID that another run would not mint again."""
    return _RANDOM_UUID.match(artifact_id) is not None


class Remaking:
    """R, the artifacts of the running run, against V, those that are shown.

    Args:
        shown: advanced by every outcome that is returned.

    Attributes:
        made: R by public id, in the order in which this run made them.
    """

    __slots__ = ("_by_agent", "_by_name", "_public", "_shown", "made")

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self.made: dict[str, Remade] = {}
        self._public: dict[str, str] = {}
        self._by_agent: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        for each in shown.cut.artifacts if shown.cut else ():
            self._adopt(Remade.at_cut(each, shown.artifacts[each.public]))
        for public, agent in shown.own.items():
            self._adopt(Remade.as_shown(public, agent, shown.artifacts[public]))
        # What this run shows for the first time is made by it at once: only what others left can be claimed.
        for public, known in shown.artifacts.items():
            for agent in known.agents:
                self._by_agent.setdefault(agent, []).append(public)
            if is_random(known.agents[0]):
                self._by_name.setdefault(known.head.get("name") or "", []).append(public)

    def _adopt(self, made: Remade) -> None:
        self.made[made.public] = made
        self._public[made.agent] = made.public

    def public_id(self, agent: str, name: str) -> str:
        """The public id of an artifact that the running agent calls ``agent``, without claiming it."""
        public = self._public.get(agent)
        if public is not None:
            return public
        candidates = self._by_agent.get(agent, [])
        if is_random(agent):
            candidates = [*candidates, *self._by_name.get(name, [])]
        for candidate in candidates:
            if candidate not in self.made:
                return candidate
        public, number = agent, 1
        while public in self._shown.artifacts:
            number += 1
            public = f"{agent}-{number}"
        return public

    def update(self, event: Json) -> list[Outcome]:
        """An artifact event of the agent.

        Args:
            event: StreamResponse; the artifact's id is the agent's.
        """
        update = event["artifactUpdate"]
        chunk = update.get("artifact") or {}
        agent = chunk.get("artifactId") or ""
        public = self.public_id(agent, chunk.get("name") or "")
        self._public[agent] = public
        last = bool(update.get("lastChunk"))
        known = self._shown.artifacts.get(public)
        made = self.made.get(public)
        if known is None:
            return self._create(public, agent, update)
        parts = chunk.get("parts") or []
        if made is None:
            made = self.made[public] = Remade(public, agent, chunk, last=last)
            anew = True
        elif made.live:
            return self._pass_on(made, known, update)
        elif update.get("append"):
            made.append(chunk, last=last)
            anew = False
        else:
            made.count += 1
            made.replace(chunk, last=last)
            anew = True
        beyond = made.catch_up(known, parts, anew=anew)
        if made.complete:
            return self._send_beyond(made, known, update, beyond)
        return self.replace(made) if made.presses else []

    def differing(self) -> list[Remade]:
        """Artifacts of this run that clients hold otherwise: content, metadata or name."""
        return [made for made in self.made.values() if not made.says(self._shown.artifacts[made.public])]

    def replace(self, made: Remade) -> list[Outcome]:
        """Record that the shown artifact is superseded and show this run's in its place."""
        update: Json = {**self._ids(), "artifact": made.whole()}
        if made.closed:
            update["lastChunk"] = True
        outcomes: list[Outcome] = [Rewind(artifact=made.public), *self._show(made, update)]
        made.join(self._shown.artifacts[made.public])
        return outcomes

    def settle(self) -> list[Outcome]:
        """Make what is shown equal to what this run has made, however far it has come."""
        return [outcome for made in self.differing() for outcome in self.replace(made)]

    def finish(self) -> list[Outcome]:
        """The run has ended: what is shown becomes what it made, and what it did not make is marked."""
        outcomes = self.settle()
        for made in self.made.values():
            if made.closed and not self._shown.artifacts[made.public].closed:
                closing = {"artifactId": made.public, "parts": []}
                outcomes += self._show(
                    made, {**self._ids(), "artifact": closing, "append": True, "lastChunk": True}
                )
        for public, known in self._shown.artifacts.items():
            if public not in self.made:
                outcomes += self._supersede(public, known)
        return outcomes

    def items(self) -> list[Json]:
        """The artifacts' part of a step's position."""
        return [made.item(self._shown.artifacts[made.public]) for made in self.made.values()]

    def _create(self, public: str, agent: str, update: Json) -> list[Outcome]:
        # Shown as a creation whatever the agent called it: clients' SDKs refuse to append to an unknown artifact.
        chunk = update.get("artifact") or {}
        made = self.made[public] = Remade(public, agent, chunk, last=bool(update.get("lastChunk")))
        creation = {name: value for name, value in update.items() if name != "append"}
        outcomes = self._show(made, {**creation, "artifact": {**chunk, "artifactId": public}})
        made.join(self._shown.artifacts[public])
        return outcomes

    def _pass_on(self, made: Remade, known: ShownArtifact, update: Json) -> list[Outcome]:
        chunk = update.get("artifact") or {}
        last = bool(update.get("lastChunk"))
        append = bool(update.get("append"))
        if append:
            made.annotate(chunk, last=last)
        else:
            made.count += 1
            made.retitle(chunk, last=last)
        if _changes_nothing(known, chunk, append=append, last=last):
            return []
        outcomes = self._show(made, {**update, "artifact": {**chunk, "artifactId": made.public}})
        made.join(known)
        return outcomes

    def _send_beyond(self, made: Remade, known: ShownArtifact, update: Json, beyond: list[Json]) -> list[Outcome]:
        news = changed_metadata(made.head, known.head)
        last = made.closed and not known.closed
        outcomes: list[Outcome] = []
        if beyond or news or last:
            chunk = {**(update.get("artifact") or {}), "artifactId": made.public, "parts": beyond}
            chunk.pop("metadata", None)
            if news:
                chunk["metadata"] = news
            tail = {**update, "artifact": chunk, "append": True}
            tail.pop("lastChunk", None)
            if last:
                tail["lastChunk"] = True
            outcomes = self._show(made, tail)
        made.join(known)
        return outcomes

    def _supersede(self, public: str, known: ShownArtifact) -> list[Outcome]:
        mark: Json = {"artifactId": public, "parts": [{"text": SUPERSEDED}]}
        if known.head.get("name"):
            mark["name"] = known.head["name"]
        event = {"artifactUpdate": {**self._ids(), "artifact": mark, "lastChunk": True}}
        self._shown.show(event)
        return [Rewind(artifact=public), Show(event)]

    def _show(self, made: Remade, update: Json) -> list[Outcome]:
        known = self._shown.artifacts.get(made.public)
        count = made.count if made.count != (known.count if known else 0) else None
        agent = made.agent if made.agent != made.public else None
        event = {"artifactUpdate": update}
        self._shown.show(event, agent, count)
        return [Show(event, agent, count)]

    def _ids(self) -> Json:
        return {"taskId": self._shown.task_id, "contextId": self._shown.context_id}


def _changes_nothing(known: ShownArtifact, chunk: Json, *, append: bool, last: bool) -> bool:
    if last and not known.closed:
        return False
    parts = chunk.get("parts") or ()
    if append:
        silent = all(text_of(part) == "" and not rest_of(part) for part in parts)
        return silent and same_head(extended_head(known.head, chunk), known.head)
    return Content(parts).same(known.content) and same_head(head_of(chunk), known.head)
