"""One terminal entry is committed for each task, it is final, and it is the end that every client sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.journal import TERMINAL, Entry, Kind
from tests.simulation.checkers.promise import Checker

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.disk import Stored
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.voter import Voter
    from tests.simulation.world import World

MAY_FOLLOW = (Kind.CLAIMED, Kind.VOTERS, Kind.ANSWERED)
ENDS = {
    "TASK_STATE_COMPLETED": Kind.COMPLETED,
    "TASK_STATE_FAILED": Kind.FAILED,
    "TASK_STATE_CANCELED": Kind.CANCELED,
    "TASK_STATE_REJECTED": Kind.REJECTED,
}


class OneTerminal(Checker):
    """The end of each task, as first committed."""

    name = "one terminal, and it is final"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, Entry] = {}
        self.looked: dict[str, int] = {}

    def committed(self, hand: Hand, seq: int) -> None:
        self._look(hand.task, hand.log, seq)

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        self._look(task, stored.entries, stored.view.committed)

    def _look(self, task: str, entries: Sequence[Entry], seq: int) -> None:
        since = self.looked.get(task, 0)
        for entry in entries[since:seq]:
            end = self.books.get(task)
            if entry.kind in TERMINAL:
                if end is not None and end.hash != entry.hash:
                    raise self.broken(f"{task}: {entry.kind} at {entry.seq} after {end.kind} at {end.seq}")
                self.books[task] = entry
            elif end is not None and entry.seq > end.seq and entry.kind not in MAY_FOLLOW:
                raise self.broken(f"{task}: {entry.kind} at {entry.seq} after the end")
        # A tombstone has no entries: what it says of them was not looked at.
        self.looked[task] = max(since, min(seq, len(entries)))

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        if entry.kind in TERMINAL:
            end = self.books.get(task)
            if end is None or end.hash != entry.hash:
                raise self.broken(f"{task}: {car.name} shows the end {entry.kind}, which is not the committed one")

    def received(self, client: Client, seq: int, event: dict[str, Any]) -> None:
        status = (event.get("statusUpdate") or event.get("task") or {}).get("status") or {}
        kind = ENDS.get(status.get("state", ""))
        end = self.books.get(client.task)
        if kind is not None and (end is None or end.kind is not kind):
            raise self.broken(f"{client.task}: {client.name} sees {kind}, the journal says {end and end.kind}")
