"""The world outside: what agents pay, send and create, and who can tell whether they did.

It survives everything. A ledger that *enforces* the key does a thing once however often it is asked under one key;
one that is *askable* says whether it was done; a *blind* one does it again each time and can be asked nothing.
Beside it, what the design says of an effect that was begun and has no receipt, as long as ``bridge`` has no rules
for effects: this shell's part of them, read from the journal. This file must not know agents or owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bridge.journal import Entry, Kind
from bridge.jsontext import parse_stored

if TYPE_CHECKING:
    from tests.simulation.world import World

Json = dict[str, Any]
INTENDED, DONE, NOT_DONE = "intended", "done", "not done"
ENFORCES, ASKABLE, BLIND = "enforces", "askable", "blind"


class Outside:
    """All ledgers.

    Attributes:
        done: how often each effect was done, by its key.
        kinds: which ledger has it.
    """

    def __init__(self, world: World) -> None:
        self.done: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self._world = world

    def do(self, key: str, kind: str, *, aware: bool) -> str:
        """Do it, and say how it went: the same for as long as it was done once."""
        fired = self._world.kernel.fired
        self.kinds[key] = kind
        if kind == ENFORCES and key in self.done:
            fired["effect repeated: key enforced"] += 1
            return self.result(key)
        self.done[key] = self.done.get(key, 0) + 1
        fired["effect done"] += 1
        self._world.watch.did(key, aware, self.done[key])
        return self.result(key)

    def ask(self, key: str) -> str | None:
        """What was done under a key, where its ledger can be asked."""
        self._world.kernel.fired["effect asked for"] += 1
        return self.result(key) if key in self.done else None

    def result(self, key: str) -> str:
        """What whoever has it done gets."""
        return f"{key} was number {self.done[key]}"


def begun(marks: Iterable[Json]) -> list[Json]:
    """Intents without a receipt, oldest first."""
    marks = [*marks]
    done = {mark["key"] for mark in marks if mark["phase"] == DONE}
    open_ = {mark["key"]: mark for mark in marks if mark["phase"] == INTENDED and mark["key"] not in done}
    return [*open_.values()]


def settled(log: Sequence[Entry], receipts: Sequence[Json]) -> list[Json]:
    """All marks that a run is handed: those of the steps, and what operators found out about them since.

    Args:
        log: the journal.
        receipts: of its steps, as the rules read them.
    """
    if not any(entry.kind is Kind.RESOLVED for entry in log):
        return [*receipts]
    marks: list[Json] = []
    rest = [*receipts]
    for entry in log:
        if entry.kind is Kind.STEP and entry.body is not None:
            count = len(parse_stored(entry.body)["receipts"])
            marks, rest = marks + rest[:count], rest[count:]
        elif entry.kind is Kind.RESOLVED:
            found = {each["key"]: each for each in parse_stored(entry.body or b"{}").get("effects", ())}
            # What was found not to have been done is as if it had never been begun.
            marks = [each for each in marks if each["key"] not in found or each["phase"] != INTENDED]
            marks += [each for each in found.values() if each["phase"] == DONE]
    return marks + rest
