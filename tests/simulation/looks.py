"""What a sidecar sees of journals that its own voter does not keep: now and then it looks at another host.

Where every handoff's voters are all the hosts there is nothing to look at. Another host shows what it owns itself
(then nobody has been shown more), and of the rest what its voter has. This file must not decide anything about
handoffs. The failure that it must not add: taking a voter's old copy for all that anybody was shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.journal import tip_of
from bridge.quorum import VoterView
from bridge.tombstone import Tombstone, bury
from tests.simulation.disk import Stored

if TYPE_CHECKING:
    from tests.simulation.database import Database
    from tests.simulation.sidecar import Sidecar

Shown = dict[str, tuple[Stored, bool, bool]]


class Looks:
    """What one sidecar has seen in this life.

    Attributes:
        remote: journals as another host has shown them.
        held: where somebody living seemed to hold them there.
        told: of which somebody has shown everything that anybody can have been shown.
    """

    def __init__(self, car: Sidecar) -> None:
        self._car = car
        self.remote: dict[str, Stored] = {}
        self.held: dict[str, bool] = {}
        self.told: dict[str, bool] = {}

    def look(self) -> None:
        """Ask another host what it has, where this one does not keep everything."""
        car, world = self._car, self._car.world
        host: Sidecar | Database | None = world.database
        if world.options.pair or len(world.names) > world.options.voters > 1:
            host = car.kernel.rng.choice([each for each in world.sidecars if each is not car])
        if host is not None:
            label = f"{car.name}>{host.name} look"
            world.network.send(car, host, 0, label, host.show, car, car.life, car.session.name)

    def shown(self, session: str) -> Shown:
        """What this sidecar shows one that looks: journals, whether each is held, whether this is all of it."""
        car = self._car
        assert car.voter is not None
        journals: Shown = {}
        for task, stored in car.voter.disk.synced.items():
            journals[task] = (stored, car.voter.blocks(stored, session), car.voter.knows_all(stored))
        for task, hand in car.hands.items():
            if hand.tells():
                entries = tuple(hand.log[: hand.committed])
                view = VoterView(hand.fence, tip_of(task, entries), hand.committed)
                journals[task] = (Stored(view, entries), True, True)
        return journals

    def looked(self, journals: Shown) -> None:
        """Another host has answered."""
        for task, (stored, held, told) in journals.items():
            known = self.remote.get(task)
            if stored.view.purged:
                self._car.bury(Tombstone(task, stored.view.tip))
            if known is not None and known.view.purged:
                continue
            self.told[task] = told or self.told.get(task, False)
            if known is None or known.view.committed <= stored.view.committed:
                self.remote[task] = stored
                self.held[task] = held
                self._car.front.moved(task)

    def bury(self, stone: Tombstone) -> None:
        """A voter has purged it."""
        known = self.nearest(stone.task)
        self.remote[stone.task], self.held[stone.task] = Stored(bury(known.view, stone)), False
        self._car.front.moved(stone.task)

    def nearest(self, task: str) -> Stored:
        """A journal as it was seen last; empty where it never was."""
        return self.remote.get(task) or Stored(VoterView.empty(task))
