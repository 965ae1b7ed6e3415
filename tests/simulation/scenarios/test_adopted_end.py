"""An end that a majority has is not committed while it only stands there under the fence of an owner that is gone.

The hardest order of a minority's end (Ongaro's figure 8): the owner's voter alone has the terminal, and the owner
dies. A candidate gets its ``claimed`` to its own voter and dies. The next one adopts the end and brings it to a
majority, one entry a message, but what it writes itself arrives only where the end stood before, and both die.
Whoever then asks the second candidate's voter must replace that end, so nobody may ever have been shown it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bridge.catchup import Bounds
from bridge.journal import Entry
from bridge.proposal import SendAppend
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.kernel import MS
from tests.simulation.network import Message
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Voter

FOR_LONG_MS = 60_000


class AdoptedEnd(Story):
    """The story."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(safety_ms=12_000, bounds=Bounds(entries_max=1)))
        self.owner_car = self.world.sidecars[seed % 3]
        self.act = 1
        self.end: Entry | None = None
        self.claimant: Sidecar | None = None

    def begin(self) -> None:
        self.client(self.rng.choice(self.others(self.owner_car.name)), Client, after_ms=20)
        self.client(self.owner_car, Client)

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        if not isinstance(asked, SendAppend):
            return None
        append, mine = asked.append, message.sender is message.to
        if self.act == 1:
            self.end = self.end or self.end_of(append.entries)
            return () if self.end is not None and not mine else None
        own = any(entry.fence == append.fence for entry in append.entries)
        if self.act == 2 and append.fence.n > 1:
            return None if mine or not own else ()
        return () if self.act in (3, 4) and own and message.to is not self.owner_car else None

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        has_it = self.end is not None and stored.hash_at(self.end.seq) == self.end.hash
        if self.act == 1 and has_it:
            self.act = 2
            self.hit("end on a minority")
            self.soon("the owner dies", self.kill, self.owner_car, FOR_LONG_MS)
        elif self.act == 2 and stored.view.tip.fence.n > 1:
            self.act = 3
            self.hit("second owner's claim on a minority")
            self.claimant = self.world.sidecar_of(stored.view.tip.fence.session)
            self.soon("the second candidate dies", self._exchange)
        elif self.act == 3 and has_it and voter.process is not self.owner_car:
            self.act = 4
            self.hit("end on a majority, under its old fence")
            # Its acknowledgement arrives, and whatever a candidate may make of it happens.
            self.soon("the third candidate dies", self._last, us=15 * MS)

    def _exchange(self) -> None:
        assert self.claimant is not None
        self.kill(self.claimant, FOR_LONG_MS)
        self.owner_car.begin()

    def _last(self) -> None:
        self.act = 5
        for car in self.world.sidecars:
            self.kill(car, FOR_LONG_MS if car is self.owner_car else 10)
        assert self.claimant is not None
        self.claimant.begin()

    def judge(self) -> None:
        """The end of the old fence is not the end."""
        end = self.end_of(self.committed_journal())
        assert end is not None
        assert self.end is not None
        if self.act == 5:
            assert end.hash != self.end.hash, "what only stood there was taken for committed"
            self.hit("it was replaced")


def story(seed: int) -> tuple[int, Counter[str]]:
    """One world."""
    told = AdoptedEnd(seed).run()
    told.judge()
    return 1, told.fired


SCENARIO = Scenario(
    3, "the same, where a majority has the end under its old fence", "adopted_end", story,
    ("end on a majority, under its old fence", "second owner's claim on a minority", "it was replaced"),
    20,
)  # fmt: skip


def test_an_end_that_a_majority_has_under_an_old_fence_is_replaced_and_nobody_saw_it() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["it was replaced"] > 0.9 * happened.seeds
