"""Agents for the promises of reconciliation: what they mean is fixed, how they say it differs in every run.

An agent tells a script: it cuts text anywhere, weaves artifacts, mints ids. It keeps the truth (``made`` and
``told``) that clients must end with, independently of the rules under test; all of it is its checkpoint.
"""

from __future__ import annotations

import copy
import random
import uuid
from dataclasses import dataclass
from typing import Any

from bridge.a2a.extension import CONTINUES
from tests.unit.a2a.model_scripts import Atom, Script, Segment, State

Json = dict[str, Any]


@dataclass
class Style:
    """How a run says it. ``ids``: stable, uuid (random ones) or renamed (others in every run)."""

    ids: str
    sends_task: bool
    checkpoints: float
    number: int = 0
    polled: bool = False


def said(parts: list[Json]) -> list[Any]:
    """Content independent of chunks: neighbouring text of one kind joined."""
    runs: list[Any] = []
    for part in parts:
        if "text" not in part:
            runs.append(part)
            continue
        rest = {name: value for name, value in part.items() if name != "text"}
        if runs and "text" in runs[-1] and {**runs[-1], "text": ""} == {**rest, "text": ""}:
            runs[-1] = {**rest, "text": runs[-1]["text"] + part["text"]}
        elif part["text"] or rest:
            runs.append({**part})
    return runs


class Agent:
    """One run of an agent."""

    def __init__(self, rng: random.Random, script: Script, style: Style, state: State | None = None) -> None:
        self.rng = rng
        self.script = script
        self.style = style
        self.state = copy.deepcopy(state) if state else State()
        self._greeted = not style.sends_task
        self._own: dict[str, Json] = {}  # artifacts as the agent's own server holds them, by agent id
        self._history: list[Json] = []
        self._status: Json = {"state": "TASK_STATE_SUBMITTED"}
        self._messages = 0

    def checkpoint(self) -> Json:
        return copy.deepcopy(vars(self.state))

    def answer(self, message: Json) -> None:
        assert self.state.waiting
        text = message["parts"][0]["text"]
        # As the SDK's server does when a follow-up begins to run; the state stays as it is.
        self._history += [self._status.pop("message"), message] if "message" in self._status else [message]
        self.state.waiting = False
        self.state.answers.append(text)
        self.state.segment += 1
        self.state.told_here = 0
        self.state.done = {}

    def task(self) -> Json:
        """GetTask at the agent."""
        return copy.deepcopy(
            {
                "id": "T",
                "contextId": "C",
                "status": self._status,
                "history": self._history,
                "artifacts": [*self._own.values()],
            }
        )

    def step(self) -> tuple[Json, Json | None] | None:
        """The next event and the checkpoint on it; None while it waits or once it has ended."""
        if self.state.waiting or self.state.ended:
            return None
        if not self._greeted:
            self._greeted = True
            return {"task": self.task()}, None
        event = self._next()
        saves = self.rng.random() < self.style.checkpoints
        return copy.deepcopy(event), self.checkpoint() if saves else None

    def _next(self) -> Json:
        segment = self.script.segments[self.state.segment]
        open_channels = [key for key, atoms in segment.artifacts.items() if self._at(key)[0] < len(atoms)]
        if self.state.told_here < len(segment.statuses):
            open_channels.append("")
        if open_channels:
            key = self.rng.choice(open_channels)
            return self._chunk(key, segment.artifacts[key]) if key else self._progress(segment)
        if segment.ask is not None:
            self.state.waiting = True
            return self._say("TASK_STATE_INPUT_REQUIRED", segment.ask)
        self.state.ended = True
        return self._say(self.script.end, "over")

    def _progress(self, segment: Segment) -> Json:
        text = segment.statuses[self.state.told_here]
        self.state.told_here += 1
        state = "TASK_STATE_AUTH_REQUIRED" if text == "auth" else "TASK_STATE_WORKING"
        return self._say(state, self._fill(text))

    def _say(self, state: str, text: str) -> Json:
        self.state.told.append([state, text])
        status: Json = {"state": state, "timestamp": str(self.rng.random())}
        if text:
            self._messages += 1
            message_id = f"m{self.style.number}-{self._messages}"
            status["message"] = {"messageId": message_id, "role": "ROLE_AGENT", "parts": self._cut_text(text)}
        if "message" in self._status:
            self._history.append(self._status["message"])
        self._status = status
        return {"statusUpdate": {"taskId": "T", "contextId": "C", "status": status}}

    def _at(self, key: str) -> tuple[int, int]:
        return self.state.done.get(key, (0, 0))

    def _fill(self, text: str) -> str:
        return text.replace("?", self.state.answers[-1]) if self.state.answers else text

    def _cut_text(self, text: str) -> list[Json]:
        at = self.rng.randint(0, len(text))
        return [{"text": text[:at]}, {"text": text[at:]}] if self.rng.random() < 0.3 else [{"text": text}]

    def _chunk(self, key: str, atoms: tuple[Atom, ...]) -> Json:
        index, offset = self._at(key)
        known = self.state.made.get(key)
        replace = known is None
        if atoms[index][0] == "r":
            replace = True
            index += 1
        parts: list[Json] = []
        metadata: Json = {}
        for _ in range(self.rng.randint(1, 4)):
            if index == len(atoms) or atoms[index][0] == "r":
                break
            atom = atoms[index]
            if atom[0] == "m":
                metadata |= atom[1]
            elif atom[0] == "d":
                parts.append({"data": atom[1]})
            else:
                text = self._fill(atom[1])
                end = self.rng.randint(offset, len(text)) if self.rng.random() < 0.6 else len(text)
                parts.append({**atom[2], "text": text[offset:end]})
                if end < len(text):
                    offset = end
                    break
            index, offset = index + 1, 0
        self.state.done[key] = (index, offset)
        return self._publish(key, parts, metadata, replace=replace, last=self._is_last(key, index, atoms))

    def _is_last(self, key: str, index: int, atoms: tuple[Atom, ...]) -> bool:
        later = self.script.segments[self.state.segment + 1 :]
        over = index == len(atoms) and not any(each.artifacts.get(key) for each in later)
        return over and key in self.script.closes

    def _publish(self, key: str, parts: list[Json], metadata: Json, *, replace: bool, last: bool) -> Json:
        fresh_id = key not in self.state.ids
        if fresh_id:
            self.state.ids[key] = self._mint(key)
        agent_id = self.state.ids[key]
        chunk: Json = {"artifactId": agent_id, "parts": parts}
        name = self.script.names.get(key)
        if name and (replace or self.rng.random() < 0.5):
            chunk["name"] = name
        if metadata:
            chunk["metadata"] = metadata
        update: Json = {"taskId": "T", "contextId": "C", "artifact": chunk}
        # Some agents append to what does not exist yet.
        append = not replace or (fresh_id and self.rng.random() < 0.1)
        if append:
            update["append"] = True
        if last:
            update["lastChunk"] = True
        made = self.state.made
        if replace:
            made[key] = {"parts": [*parts], "metadata": {**metadata}, "name": name, "closed": last}
        else:
            made[key]["parts"] = made[key]["parts"] + parts
            made[key]["metadata"] = {**made[key]["metadata"], **metadata}
            made[key]["closed"] = made[key]["closed"] or last
        self._keep(agent_id, chunk, replace=replace)
        return {"artifactUpdate": update}

    def _keep(self, agent_id: str, chunk: Json, *, replace: bool) -> None:
        own = self._own.get(agent_id)
        if own is None or replace:
            self._own[agent_id] = copy.deepcopy(chunk)
            if own is None and not replace:
                # Resumed inside an artifact that this agent's own server has never seen.
                self._own[agent_id].setdefault("metadata", {})[CONTINUES] = True
            return
        own["parts"] = own["parts"] + chunk["parts"]
        if chunk.get("metadata"):
            own["metadata"] = {**own.get("metadata", {}), **chunk["metadata"]}

    def _mint(self, key: str) -> str:
        if self.style.ids == "uuid":
            # Whatever the source of chance: two artifacts never get one id.
            mine = self.style.number << 16 | len(self.state.ids)
            return str(uuid.UUID(int=self.rng.getrandbits(128) & ~0xFFFFFFFF | mine, version=4))
        return key if self.style.ids == "stable" else f"{key}.{self.style.number}"
