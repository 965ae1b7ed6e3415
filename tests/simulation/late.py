"""A client that repeats its message long after it has seen the end: perhaps when nothing is left of the task.

It must see the same end once more, or hear that the task is gone; nothing may run again. This file must not know
when anything is purged.
"""

from __future__ import annotations

from typing import Any

from tests.simulation.clients import ENDS, SILENCE_MS, Client
from tests.simulation.kernel import MS

Json = dict[str, Any]
LATER_MS = (100, 1_500, 4_000)


class LateClient(Client):
    """A client that comes back once.

    Attributes:
        back: it has come back.
    """

    back = False

    def finish(self) -> None:
        """It has seen the end, and will come back."""
        self.finished = True
        after = self.kernel.rng.choice(LATER_MS)
        self.kernel.after(after * MS, self, f"{self.name} comes back", self._return)

    def _return(self) -> None:
        if self.done:
            return
        self.kernel.fired["first message sent again after the end"] += not self.back
        self.back = True
        self.front = self.other_front()
        connection, body = self._connect(), self.world.dispatch_body(self.task)
        label = f"{self.name}>{self.front.name} send once more"
        self.world.network.send(
            self, self.front, 0, label, self.front.front.send, self, connection, self.task, body
        )
        self.kernel.after(SILENCE_MS * MS, self, f"{self.name} waits", self._return)

    def event(self, task: str, seq: int, event: Json) -> None:
        """What it is sent again is what it was sent."""
        if not self.back:
            super().event(task, seq, event)
            return
        self.world.watch.received(self, seq, event)
        status = (event.get("statusUpdate") or event.get("task") or {}).get("status") or {}
        if status.get("state") in ENDS and not self.done:
            self.kernel.fired["repeat answered with the end"] += 1
            self.done = True

    def gone(self, task: str) -> None:
        """Its task was purged."""
        if not self.back:
            super().gone(task)
        elif not self.done:
            self.kernel.fired["repeat answered with gone"] += 1
            self.done = True
