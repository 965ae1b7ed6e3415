"""An operator, who replaces voters that are lost, and now and then moves a handoff to other voters.

The command goes to some sidecar, again and again until the change is committed; which owner carries it out, and
when, is the sidecars' business. The operator sees every disk, as people do. This file must not know the joint
rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.placement import MEMBERS
from bridge.voterset import Voters
from tests.simulation.kernel import MS
from tests.simulation.membership import named_in

if TYPE_CHECKING:
    from tests.simulation.disk import Stored
    from tests.simulation.world import World

AGAIN_MS = 400
Wanted = dict[str, list[str]]


class Operator:
    """Wants voter sets, and says so.

    Attributes:
        replaced: who stands for each lost voter.
        moved: the voters that somebody wants a handoff to have.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.replaced: dict[str, str] = {}
        self.moved: dict[str, Voters] = {}
        self._awake = False

    def lost(self, identity: str, successor: str) -> None:
        """A voter's disk is lost; its host has another voter now."""
        self.replaced[identity] = successor
        self._wake()

    def move(self, task: str, voters: Voters) -> None:
        """A handoff is to have these voters."""
        self.moved[task] = voters
        self._wake()

    @property
    def done(self) -> bool:
        """Whether every journal that exists names only voters that are meant."""
        return not any(self._wanted(task) for task in self._tasks())

    def _wake(self) -> None:
        if not self._awake:
            self._awake = True
            self.world.kernel.after(AGAIN_MS * MS, None, "operator", self._command)

    def _tasks(self) -> list[str]:
        return [MEMBERS, *self.world.works] if self.replaced or self.moved else []

    def _newest(self, task: str) -> Stored:
        journals = [stored for _, stored in self.world.journals(task)]
        return max(journals, key=lambda stored: (stored.view.committed, stored.view.tip[:2]))

    def _wanted(self, task: str) -> Wanted | None:
        """What a task's journal should name and does not."""
        stored = self._newest(task)
        if stored.view.purged:
            return None
        named = [voters for entry in stored.entries[: stored.view.committed] if (voters := named_in(entry))]
        if not named:
            return None
        wanted = tuple(self._living(each) for each in self.moved.get(task, named[-1]))
        if wanted == named[-1]:
            return None
        return {"voters": [*wanted], **({"lost": [*self.replaced]} if task == MEMBERS else {})}

    def _living(self, identity: str) -> str:
        while identity in self.replaced:
            identity = self.replaced[identity]
        return identity

    def _command(self) -> None:
        world = self.world
        for task in self._tasks():
            wanted = self._wanted(task)
            cars = [car for car in world.sidecars if car.alive]
            if wanted is not None and cars:
                car = world.kernel.rng.choice(cars)
                world.kernel.arrive(MS, car, 0, f"operator>{car.name} voters", car.change, (task, wanted))
        world.kernel.after(AGAIN_MS * MS, None, "operator", self._command)
