"""Rare orders of events around purges and reads, brought about: an old copy of a disk comes back after a purge; a
prefix is cut, or purged, while it is read in chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from bridge.catchup import Bounds
from bridge.placement import chosen
from bridge.proposal import ReadPrefix, SendAppend, SendClaim, SendPreVote
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.late import LateClient
from tests.simulation.network import Message
from tests.simulation.options import MARGIN_MS, TTL_MS, Options
from tests.simulation.scenarios.story import LONG, TASK, Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Voter

FOR_LONG_MS = 60_000
LATER = 9
GONE = "prefix gone while it was read"


class OldCopyReturns(Story):
    """All disks are copied in the middle of a run; after its end some voters purge, and one gets its copy back."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(on=frozenset({"late"}), safety_ms=8_000))
        self.copied_at = self.rng.randint(3, 9)
        self.commits = self.runs = 0
        self.purgers: list[Sidecar] = []

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), LateClient)

    def committed(self, hand: Hand, seq: int) -> None:
        self.commits += 1
        if self.commits == self.copied_at:
            for car in self.world.sidecars:
                assert car.voter is not None
                car.voter.disk.keep_copy()

    def compared(self, client: Client, task: dict[str, Any]) -> None:
        self.runs = self.world.runs
        self.purgers = self.rng.sample(self.world.sidecars, self.rng.randint(1, 3))
        for car in self.purgers:
            assert car.voter is not None
            self.kernel.arrive(30 * MS, car, 0, f"{car.name} purges", car.voter.purge, (TASK,))
        self.soon("an old copy comes back", self._lose, self.purgers[0], us=60 * MS)

    def _lose(self, car: Sidecar) -> None:
        voter = car.voter
        assert voter is not None
        assert voter.durable(TASK).view.purged
        self.kill(car, 20)
        voter.disk.replace(f"{car.name}!old", empty=False)
        assert voter.durable(TASK).entries
        assert not voter.durable(TASK).end
        self.hit("old copy after its purge")

    def judge(self) -> None:
        assert self.world.runs == self.runs, "it ran again"
        self.hit("nothing ran again")


def test_an_old_copy_that_comes_back_after_a_purge_is_buried_or_learns_the_end() -> None:
    fired = Counter[str]()
    for seed in range(30):
        told = OldCopyReturns(seed).run()
        told.judge()
        fired += told.fired
    assert fired["old copy after its purge"] == fired["nothing ran again"] == 30
    assert fired["repeat answered with gone"]
    assert fired["repeat answered with the end"]
    assert fired["buried: unfinished copy"]


class Silent(Client):
    """It never answers what it is asked, so its task waits, and its owner's session lives."""

    def start(self) -> None:
        """Nobody waits for it."""
        super().start()
        self.done = True

    def _answer(self) -> None:
        pass


class MissedTheEnd(Story):
    """One voter hears nothing of the end, nor of the purge; the owner has let go of it, and lives on."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(tasks=2, safety_ms=8_000, retention_ms=300))
        self.world.works["t1"].scripts = [LONG]
        self.behind: Sidecar | None = None
        self.purged = 0

    def begin(self) -> None:
        front = self.world.sidecars[0]
        self.client(front, Client)
        waits = Silent(self.world, "silent", "t1", front)
        self.world.clients.append(waits)
        self.kernel.after(MS, waits, "silent starts", waits.start)

    def committed(self, hand: Hand, seq: int) -> None:
        if self.behind is None and hand.task == TASK and seq >= 5:
            self.behind = self.others(hand.car.name)[0]

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        late = isinstance(asked, SendAppend) and message.args[1] == TASK and self.purged < 2
        return () if late and message.to is self.behind else None

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        owner = self.owner()
        self.purged += task == TASK and stored.view.purged
        if stored.view.purged and self.purged == 2 and owner is not None:
            self.soon("the owner hears of it", owner.standing.prove, owner.proposer.voters)

    def judge(self) -> None:
        assert self.behind is not None
        assert self.behind.voter is not None
        self.linger(5_000)
        assert self.owner() is None, "the owner holds what is purged"
        assert self.behind.voter.durable(TASK).view.purged, "an unfinished copy waits for ever"


def test_a_copy_that_missed_the_end_is_buried_although_its_owner_lives() -> None:
    fired = Counter[str]()
    for seed in range(12):
        told = MissedTheEnd(seed).run()
        told.judge()
        fired += told.fired
    assert fired["purged"] == 24
    assert fired["buried: unfinished copy"] == 12
    assert fired["asked for a tombstone"] >= 12


class PurgedWhileRead(Story):
    """The owner is gone; who claims reads the journal entry by entry, and after the first the voter purges it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(safety_ms=8_000, bounds=Bounds(entries_max=1)))
        self.reader: Sidecar | None = None
        self.purged = False

    def begin(self) -> None:
        self.client(self.world.sidecars[0], Client)
        self.client(self.world.sidecars[1], Client, after_ms=5_000)

    def compared(self, client: Client, task: dict[str, Any]) -> None:
        owner = self.owner()
        if owner is not None and self.reader is None:
            self.reader = self.others(owner.car.name)[0]
            self.soon("the owner dies", self.kill, owner.car, FOR_LONG_MS)
            self.kernel.arrive(2 * TTL_MS * MS, self.reader, 0, "it claims", self._claim, (self.reader,))

    def _claim(self, car: Sidecar) -> None:
        car.stand(TASK, "wants")

    def fate(self, message: Message) -> Sequence[int] | None:
        asked, to = self.asks(message), message.to
        if (
            self.purged
            or message.sender is not self.reader
            or not isinstance(asked, ReadPrefix)
            or not asked.after
        ):
            return None
        assert isinstance(to, Sidecar)
        assert to.voter is not None
        self.purged = True
        self.kernel.arrive(1, to, 0, "it purges", to.voter.purge, (TASK,))
        return (5 * MS,)


class CutWhileRead(Story):
    """Entries that only one voter has are read from it, and cut by another owner after the first chunk.

    Five hosts. The owner has no vote; when it dies one voter has some entries more than the two others. A first
    candidate is granted that voter's tip and begins to read it; then a second one wins with the others' votes.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(sidecars=5, safety_ms=8_000, pace_ms=20, bounds=Bounds(entries_max=1)))
        self.act = 0
        self.commits = self.extra = 0
        self.ahead = self.first = self.second = self.world.sidecars[0]
        self.rest: list[Sidecar] = []

    def begin(self) -> None:
        names = chosen(TASK, tuple(self.world.names))
        free = self.others(*names)
        self.ahead, *self.rest = [self.car(name) for name in names]
        self.first, self.second = self.rest[0], self.rest[1]
        self.client(free[0], Client)

    def committed(self, hand: Hand, seq: int) -> None:
        self.commits += 1
        if self.act == 0 and self.commits == 4:
            self.act, self.extra = 1, seq + 3

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        owner = self.owner()
        if task == TASK and self.act == 1 and owner is not None and stored.view.tip.seq >= self.extra:
            self.act = 2
            self.soon("the owner dies", self.kill, owner.car, FOR_LONG_MS)
            for ms in range(0, 1_000, 40):
                self._stand_later(self.first, TTL_MS + MARGIN_MS + ms)
        elif self.act == 4 and voter is self.ahead.voter and stored.view.tip.fence.n > LATER:
            self.act = 5
            self.hit("the first candidate still reads" if TASK in self.first.hands else "it has given up")
            self.release()

    def _stand_later(self, car: Sidecar, ms: int) -> None:
        self.kernel.arrive(ms * MS, car, 0, f"{car.name} claims", self._stand, (car,))

    def _stand(self, car: Sidecar) -> None:
        if car is (self.first if self.act == 2 else self.second if self.act == 4 else None):
            car.stand(TASK, "wants")

    def fate(self, message: Message) -> Sequence[int] | None:
        asked, sender, to = self.asks(message), message.sender, message.to
        if asked is None or message.args[1] != TASK:
            return None
        if self.act == 1 and isinstance(asked, SendAppend):
            return None if to is self.ahead else ()
        if self.act in (2, 3) and isinstance(asked, SendPreVote | SendClaim):
            return None if sender is self.first and to is not self.second else ()
        if self.act == 4 and isinstance(asked, SendPreVote | SendClaim):
            return None if sender is self.second and to is not self.ahead else ()
        if self.act in (2, 3, 4) and isinstance(asked, ReadPrefix) and sender is self.first and asked.after:
            if self.act == 2:
                self.act = 3
                self.soon("the second claims", self._second, us=510 * MS)
            return self.hold(message)
        return None

    def _second(self) -> None:
        self.act = 4
        self.second.promised(TASK, LATER)
        for ms in range(0, 400, 20):
            self._stand_later(self.second, ms)


@pytest.mark.parametrize("story", [PurgedWhileRead, CutWhileRead])
def test_a_prefix_that_goes_while_it_is_read_is_not_adopted(story: type[Story]) -> None:
    fired = Counter[str]()
    for seed in range(12):
        fired += story(seed).run().fired
    assert fired[GONE] >= 12
    assert fired["prefix read in chunks"]
    if story is CutWhileRead:
        assert fired["suffix cut"] == 12
        assert fired["the first candidate still reads"] == 12
