"""Two hosts, each the only voter of what the other dispatches: a crash at each write, and one of them away.

While the voter's host is away nothing is committed, and what waited goes on when it is back. When the owner's host
is gone the other goes on alone with everything that anybody was shown.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import LONG, SHORT, TASK, Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Voter
from tests.unit.a2a.model_scripts import Script

WRITER, OWNER = "the voter dies with its write durable", "the owner dies at the voter's write"
VOTER_AWAY, OWNER_GONE = "the voter is away", "the owner is gone for good"
AWAY_MS = 1_500


class Pair(Story):
    """Two hosts; the message comes to one of them."""

    def __init__(self, seed: int, script: Script) -> None:
        super().__init__(seed, Options(sidecars=2, voters=1, pair=True, safety_ms=8_000), script)
        self.dispatcher, self.partner = self.rng.sample(self.world.sidecars, 2)

    def begin(self) -> None:
        self.client(self.dispatcher, Client)


class PairCrashes(Pair):
    """Somebody dies at one of the voter's writes.

    Args:
        seed: of the world.
        at: which write, from 1; 0 for none.
        who: dies.
    """

    def __init__(self, seed: int, at: int = 0, who: str = "") -> None:
        super().__init__(seed, SHORT)
        self.at, self.who, self.writes = at, who, 0

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if task != TASK:
            return
        self.writes += 1
        if self.writes != self.at:
            return
        self.hit(self.who)
        down_ms = 1_500 if self.at % 2 else 20
        if self.who == WRITER:
            raise self.die_here(down_ms)
        owner = self.owner()
        self.soon("the owner dies", self.kill, self.dispatcher if owner is None else owner.car, down_ms)


class PairAway(Pair):
    """One of them is away for a while, or for good."""

    def __init__(self, seed: int, what: str) -> None:
        super().__init__(seed, LONG)
        self.what = what
        self.commits_left = self.rng.randint(2, 8)
        self.since_us = self.until_us = 0
        self.struck: Sidecar | None = None
        self.gone: Sidecar | None = None

    def committed(self, hand: Hand, seq: int) -> None:
        if hand.task != TASK:
            return
        if self.what == VOTER_AWAY and self.since_us < self.kernel.now < self.until_us:
            # The voter itself may have taken over: it needs nobody.
            assert hand.car is not self.struck, "something was committed without the voter"
        self.commits_left -= 1
        if self.commits_left == 0:
            self.soon(self.what, self._strike, hand.car)

    def _strike(self, owner: Sidecar) -> None:
        self.hit(self.what)
        if self.what == OWNER_GONE:
            self.gone = owner
            self.kill(owner, 60_000)
            return
        # What the voter has said already may still arrive.
        self.struck = owner
        self.since_us, self.until_us = self.kernel.now + 4 * MS, self.kernel.now + AWAY_MS * MS
        other = self.others(owner.name)[0]
        if self.rng.random() < 0.5:
            self.kill(other, AWAY_MS)
        else:
            self.apart(other.name, ms=AWAY_MS)

    def owns(self, hand: Hand) -> None:
        if self.gone is not None and hand.car is not self.gone:
            self.hit("the other took over alone")

    def compared(self, client: Client, task: dict[str, Any]) -> None:
        if self.gone is not None and not self.gone.alive and self.world.faulty:
            self.hit("finished by the other alone")
        if self.what == VOTER_AWAY and self.kernel.now > self.until_us > 0:
            self.hit("went on when the voter was back")


def story(seed: int) -> tuple[int, Counter[str]]:
    """A world for each write and each of the two, and one for each that is away."""
    plain = PairCrashes(seed).run()
    worlds, fired = 1, plain.fired.copy()
    fired["writes of the pair"] += plain.writes
    for at in range(1, plain.writes + 1):
        for who in (WRITER, OWNER):
            told = PairCrashes(seed, at, who).run()
            assert told.fired[who] == 1, f"write {at} of {plain.writes} never came"
            worlds += 1
            fired += told.fired
    for what in (VOTER_AWAY, OWNER_GONE):
        worlds += 1
        fired += PairAway(seed, what).run().fired
    return worlds, fired


SCENARIO = Scenario(
    7, "pair mode: each host is the only voter of the other", "pair", story,
    (WRITER, OWNER, VOTER_AWAY, OWNER_GONE, "went on when the voter was back", "the other took over alone",
     "finished by the other alone"),
    4,
)  # fmt: skip


def test_a_pair_loses_nothing_waits_for_its_voter_and_goes_on_alone_without_its_owner() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired[WRITER] == happened.fired[OWNER] == happened.fired["writes of the pair"]
    assert happened.fired["finished by the other alone"] == happened.seeds
    assert happened.fired["went on when the voter was back"] == happened.seeds
