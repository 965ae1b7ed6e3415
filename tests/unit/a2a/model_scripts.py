"""What a task's work comes to, before any agent tells it: segments of progress and artifact atoms.

Each segment ends with a question or with the end of the task. ``divergent`` makes another script that agrees with
a checkpoint on everything before it, which is what an agent with a mind of its own tells after a takeover.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Atom = tuple[Any, ...]  # ("t", text, rest) | ("d", value) | ("r",) replace from here | ("m", metadata)


@dataclass(frozen=True)
class Segment:
    statuses: tuple[str, ...]
    artifacts: dict[str, tuple[Atom, ...]]
    ask: str | None


@dataclass(frozen=True)
class Script:
    segments: tuple[Segment, ...]
    names: dict[str, str]
    closes: tuple[str, ...]
    end: str
    auth: bool = False


@dataclass
class State:
    """Where an agent stands; its copy is the checkpoint."""

    segment: int = 0
    told_here: int = 0
    done: dict[str, tuple[int, int]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    made: dict[str, Json] = field(default_factory=dict)
    told: list[list[str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    waiting: bool = False
    ended: bool = False


def random_atoms(rng: random.Random, *, first: bool) -> tuple[Atom, ...]:
    atoms: list[Atom] = []
    for _ in range(rng.randint(1, 4)):
        what = rng.random()
        if what < 0.6:
            rest = {"mediaType": "text/x"} if rng.random() < 0.1 else {}
            length = rng.randint(0, 6)
            atoms.append(("t", "".join(rng.choice("ab?") for _ in range(length)), rest))
        elif what < 0.75:
            atoms.append(("d", rng.choice([1, True, {"x": [1]}])))
        elif what < 0.88:
            atoms.append(("m", {rng.choice("kl"): rng.randint(0, 2)}))
        elif atoms or not first:
            atoms.append(("r",))
            atoms.append(("t", rng.choice(["a", "ab", "b"]), {}))
    return tuple(atoms) or (("t", "a", {}),)


def random_script(rng: random.Random, *, auth: bool = False) -> Script:
    keys = ["p", "q", "s"][: rng.randint(0, 3)]
    same_name = rng.random() < 0.15
    names = {key: "same" if same_name else f"name-{key}" for key in keys if rng.random() < 0.9 or same_name}
    segments: list[Segment] = []
    begun: set[str] = set()
    count = rng.randint(1, 3)
    for number in range(count):
        artifacts = {}
        for key in keys:
            if rng.random() < 0.7:
                artifacts[key] = random_atoms(rng, first=key not in begun)
                begun.add(key)
        texts = ["", "s1", "s2", "s?"] + (["auth"] if auth else [])
        statuses = tuple(rng.choice(texts) for _ in range(rng.randint(0, 3)))
        ask = rng.choice(["why", "how"]) if number < count - 1 else None
        segments.append(Segment(statuses, artifacts, ask))
    closes = tuple(key for key in keys if rng.random() < 0.6)
    end = "TASK_STATE_COMPLETED" if rng.random() < 0.9 else "TASK_STATE_FAILED"
    return Script(tuple(segments), names, closes, end, auth)


def divergent(rng: random.Random, script: Script, state: State | None) -> Script:
    """Another script that agrees with a checkpoint on everything before it."""
    other = random_script(rng, auth=script.auth)
    if state is None:
        return other if rng.random() < 0.5 else _edited(rng, script, 0)
    here = script.segments[state.segment]
    if rng.random() < 0.5:
        tail = _edited(rng, script, state.segment + 1).segments[state.segment + 1 :]
    else:
        tail = other.segments
    ask = here.ask
    if not state.waiting and not tail:
        ask = None
    elif ask is None:
        tail = ()
    artifacts = {}
    for key, atoms in here.artifacts.items():
        index, offset = state.done.get(key, (0, 0))
        kept = atoms[: index + (1 if offset else 0)]
        extra = random_atoms(rng, first=False) if rng.random() < 0.4 and not state.waiting else ()
        remaining = atoms[len(kept) :] if rng.random() < 0.5 else ()
        artifacts[key] = kept + tuple(extra) + tuple(remaining)
    statuses = here.statuses[: state.told_here]
    if rng.random() < 0.5:
        statuses = here.statuses
    names = {**other.names, **script.names}
    segments = (*script.segments[: state.segment], Segment(statuses, artifacts, ask), *tail)
    return Script(segments, names, other.closes, other.end, script.auth)


def _edited(rng: random.Random, script: Script, since: int) -> Script:
    segments = [*script.segments]
    for number in range(since, len(segments)):
        segment = segments[number]
        artifacts = {
            key: random_atoms(rng, first=True) if rng.random() < 0.3 else atoms
            for key, atoms in segment.artifacts.items()
            if rng.random() < 0.85
        }
        statuses = tuple(text for text in segment.statuses if rng.random() < 0.8)
        segments[number] = Segment(statuses, artifacts, segment.ask)
    return Script(tuple(segments), script.names, script.closes, script.end, script.auth)
