"""An effect has one receipt and is done once, and a run is handed the receipts of exactly what its cut has done.

A checkpoint and the receipts that came with it are one entry. Beyond the receipts of its cut a run may be handed
some that were told alone, after it, or that an operator found; one that was told with a checkpoint comes with that
checkpoint or not at all. Once means: by agents that tell their intents (others may repeat what their ledger does
not refuse), and as long as leases hold, which a clock that stops breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bridge.journal import Kind
from bridge.jsontext import parse_stored
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from bridge.a2a.extension import Marks
    from bridge.a2a.shown import Shown
    from tests.simulation.exchange import Resumed
    from tests.simulation.hand import Hand
    from tests.simulation.world import World

Json = dict[str, Any]
DONE = "done"
ALONE = 0


class AnEffectHasOneReceipt(Checker):
    """Books of how each receipt was told, and of which one is committed."""

    name = "an effect has one receipt"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.told_with: dict[str, list[int]] = {}
        self.checkpoints: dict[int, list[Json]] = {}
        self.found: dict[str, bool] = {}
        self.books: dict[str, str] = {}
        self.looked: dict[str, int] = {}

    def did(self, key: str, aware: bool, times: int) -> None:
        if aware and times > 1 and not self.world.wild_clocks:
            raise self.broken(f"{key} is done {times} times")

    def tells(self, marks: Marks) -> None:
        number = ALONE if marks.checkpoint is None else int(marks.checkpoint["number"])
        if number != ALONE:
            self.checkpoints[number] = [*marks.effects]
        for mark in marks.effects:
            if mark["phase"] == DONE:
                self.told_with.setdefault(mark["key"], []).append(number)

    def committed(self, hand: Hand, seq: int) -> None:
        since = self.looked.get(hand.task, 0)
        for entry in hand.log[since:seq]:
            if entry.kind is Kind.STEP and entry.body is not None:
                self._step(hand.task, parse_stored(entry.body))
            elif entry.kind is Kind.RESOLVED:
                effects = parse_stored(entry.body or b"{}").get("effects", ())
                self._enter(effects)
                self.found.update({mark["key"]: True for mark in effects if mark["phase"] == DONE})
        self.looked[hand.task] = max(since, seq)

    def _step(self, task: str, body: Json) -> None:
        number = ALONE if "state" not in body else int(body["state"]["number"])
        if number != ALONE and body["receipts"] != self.checkpoints.get(number, []):
            raise self.broken(
                f"{task}: step {number} holds {body['receipts']}, it came with {self.checkpoints[number]}"
            )
        self._enter(body["receipts"])

    def _enter(self, marks: Iterable[Json]) -> None:
        for mark in marks:
            if mark["phase"] != DONE:
                continue
            key, result = mark["key"], mark["result"]
            if self.books.setdefault(key, result) != result:
                raise self.broken(f"{key} has the receipts {self.books[key]!r} and {result!r}")
            if key not in self.world.outside.done:
                raise self.broken(f"{key} has a receipt and was never done")

    def begins(self, hand: Hand, shown: Shown, resumed: Resumed) -> None:
        handed = {mark["key"]: True for mark in resumed.effects if mark["phase"] == DONE}
        cut = resumed.cut or {"effects": [], "whole": True, "number": 0}
        if self.world.works[hand.task].errand.aware and cut["whole"]:
            missing = [key for key in cut["effects"] if key not in handed]
            if missing:
                raise self.broken(
                    f"{hand.task}: cut {cut['number']} has done {missing}, no receipt is handed over"
                )
        for key in handed:
            alone = ALONE in self.told_with.get(key, ()) or key in self.found
            if key not in cut["effects"] and not alone:
                told = self.told_with[key]
                raise self.broken(
                    f"{hand.task}: {key} was told with checkpoint {told}, the cut is {cut['number']}"
                )
