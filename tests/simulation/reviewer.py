"""The operator who looks at what waits for a review, finds out what really happened, and says so.

That comes late, by any front, and again until it was heard. This file must not know how a
handoff is owned. The failure it must not add: a resolution of one review that is taken for that of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.handoff import Handoff, State
from bridge.journal import Kind
from tests.simulation.kernel import MS, Process
from tests.simulation.outside import BLIND, DONE, NOT_DONE

if TYPE_CHECKING:
    from tests.simulation.world import World

Json = dict[str, Any]
LOOKS_MS = 2_000


class Reviewer(Process):
    """Looks at one front after the other, once there has been a review at all."""

    def __init__(self, world: World) -> None:
        super().__init__("reviewer")
        self.world, self.kernel = world, world.kernel
        self._looking = False

    def called(self) -> None:
        """Somewhere a handoff was set aside."""
        if not self._looking:
            self._looking = True
            self._later()

    def _later(self) -> None:
        self.kernel.after(self.kernel.rng.randint(100, LOOKS_MS) * MS, self, "reviewer looks", self._look)

    def _look(self) -> None:
        front = self.kernel.rng.choice(self.world.sidecars)
        for task in self.world.works if front.alive else ():
            entries, upto, _ = front.front.visible(task)
            handoff = Handoff.fold(task, entries[:upto])
            if handoff.state is State.REVIEW and handoff.review is not None:
                body = self._resolution(handoff.review)
                label = f"reviewer>{front.name} resolves {task}"
                take = front.front.take
                self.world.network.send(self, front, 0, label, take, Kind.RESOLVED, task, body, lambda _: None)
        self._later()

    def _resolution(self, review: Json) -> Json:
        outside, found = self.world.outside, []
        for mark in review["effects"]:
            done = mark["key"] in outside.done
            found.append({**mark, "phase": DONE if done else NOT_DONE})
            if done:
                found[-1]["result"] = outside.result(mark["key"])
        assert all(outside.kinds.get(each["key"], BLIND) == BLIND for each in found)
        return {"by": "operator", "attempt": review["attempt"], "effects": found}
