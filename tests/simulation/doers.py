"""Model agents that also do something outside: they pay, send, create, beside what they tell.

One with checkpoints does it as the design says: it tells its intent, waits until that is recorded, does it, and
tells the receipt. One without does it and tells nobody. What it did is part of what its checkpoints say.
This file must not know journals or sidecars. What was really done is kept by ``outside``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bridge.a2a.extension import NO_MARKS, Marks
from tests.simulation.outside import ASKABLE, BLIND, DONE, ENFORCES, INTENDED, Outside
from tests.unit.a2a.model_agents import Agent, Style
from tests.unit.a2a.model_scripts import Script, State

Json = dict[str, Any]
SEGMENTS_MAX = 3


@dataclass
class Doing(State):
    """Where an agent stands, and which of its effects it has behind it."""

    effects: list[str] = field(default_factory=list)


class Effect(NamedTuple):
    """Something to be done in a segment of the work.

    Attributes:
        key: by which its ledger knows it.
        kind: of its ledger.
        first: before anything of the segment is told, or after all of it.
    """

    key: str
    kind: str
    first: bool


class Errand(NamedTuple):
    """What a task wants done outside.

    Attributes:
        effects: by segment.
        report: how a receipt is told: ``alone``; ``carried`` with a checkpoint on an event of their own; ``along``
            with a checkpoint on the next event.
        aware: its agents keep checkpoints, and tell intents and receipts.
    """

    effects: dict[int, Effect]
    report: str
    aware: bool


NOTHING = Errand({}, "alone", aware=False)


def random_errand(rng: random.Random, task: str, *, aware: bool) -> Errand:
    """Effects in about half of the segments."""
    effects = {
        number: Effect(f"{task}/e{number}", rng.choice((ENFORCES, ASKABLE, BLIND)), rng.random() < 0.5)
        for number in range(SEGMENTS_MAX)
        if rng.random() < 0.5
    }
    return Errand(effects, rng.choice(("alone", "carried", "along")), aware)


class Doer(Agent):
    """One run of an agent that has an errand.

    Args:
        telling: what it tells, how, and from where on.
        outside: where it does its errand.
        handed: marks that it is told at its start.

    Attributes:
        held: the effect that it has told it would do; it goes on when it is told to.
    """

    state: Doing

    def __init__(
        self, rng: random.Random, telling: tuple[Script, Style, Doing], errand: Errand, outside: Outside,
        handed: list[Json],
    ) -> None:  # fmt: skip
        super().__init__(rng, *telling)
        self.held: Effect | None = None
        self._errand, self._outside = errand, outside
        self._results = {mark["key"]: mark["result"] for mark in handed if mark["phase"] == DONE}
        self._begun = {mark["key"] for mark in handed if mark["phase"] != DONE}
        self._unreported: list[Json] = []
        self._asks_again = self.state.waiting

    def tell(self) -> tuple[Json, Marks] | None:
        """The next event and what it carries; None while it waits or once it has ended."""
        if self.state.waiting and self._asks_again:
            self._asks_again = False
            return self._question(), NO_MARKS
        if self.state.waiting or self.state.ended:
            return None
        if self._greeted:
            if self._unreported and self._errand.report != "along":
                saved = self.checkpoint() if self._errand.report == "carried" else None
                return self._carrier(), Marks(saved, self._reports(), bare=True)
            while (due := self._due()) is not None:
                if self._holds_before(due):
                    return self.intent()
                if self._unreported and self._errand.report != "along":
                    return self.tell()
        told = self.step()
        assert told is not None
        event, saved = told
        if self._unreported:
            saved = saved or self.checkpoint()
        marks = Marks(saved, self._reports()) if saved is not None else NO_MARKS
        return event, marks

    def intent(self) -> tuple[Json, Marks]:
        """What it tells before it does what it holds at; again, to whoever follows it anew."""
        assert self.held is not None
        return self._carrier(), Marks(effects=({**_mark(self.held), "phase": INTENDED},), bare=True)

    def go_ahead(self, key: str) -> bool:
        """Its intent is recorded: it does it. False where it does not hold there."""
        if self.held is None or self.held.key != key:
            return False
        effect, self.held = self.held, None
        self._did(effect, self._outside.do(effect.key, effect.kind, aware=True))
        return True

    def _due(self) -> Effect | None:
        effect = self._errand.effects.get(self.state.segment)
        if effect is None or effect.key in self.state.effects:
            return None
        return effect if effect.first or not self._open_channels() else None

    def _open_channels(self) -> bool:
        segment = self.script.segments[self.state.segment]
        if self.state.told_here < len(segment.statuses):
            return True
        return any(self._at(key)[0] < len(atoms) for key, atoms in segment.artifacts.items())

    def _holds_before(self, effect: Effect) -> bool:
        """Deal with an effect that is due; whether it must be told first."""
        if not self._errand.aware:
            self._outside.do(effect.key, effect.kind, aware=False)
            self.state.effects.append(effect.key)
            return False
        if effect.key in self._results:
            self.state.effects.append(effect.key)
            return False
        if effect.key in self._begun and effect.kind == ASKABLE:
            result = self._outside.ask(effect.key)
            if result is not None:
                self._did(effect, result)
                return False
        self.held = effect
        return True

    def _did(self, effect: Effect, result: str) -> None:
        self.state.effects.append(effect.key)
        self._unreported.append({**_mark(effect), "phase": DONE, "result": result})

    def _reports(self) -> tuple[Json, ...]:
        reports, self._unreported = tuple(self._unreported), []
        return reports

    def _question(self) -> Json:
        # It stands at a question, and nobody has given it an answer.
        state, text = self.state.told[-1]
        message = {"messageId": f"q{self.style.number}", "role": "ROLE_AGENT", "parts": self._cut_text(text)}
        self._status = {"state": state, "message": message}
        return self._carrier()

    def _carrier(self) -> Json:
        # A status that is said once more because there is nothing new to say.
        return {"statusUpdate": {"taskId": "T", "contextId": "C", "status": self._status}}


def _mark(effect: Effect) -> Json:
    return {"step": effect.key.rpartition("/")[2], "key": effect.key}
