"""A voter crashes between a write and its reply: each write of a world in turn, and each of the ways to do so.

A first run of an uneventful world counts what its voters make durable; in every second seed its owner dies midway,
so that another adopts what it left. Then the world is lived again for each of those writes: the reply is lost and
the same boot is asked again; the process dies once it is durable; it dies while the write is under way, of which
nobody knows whether it was done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bridge.proposal import Event, SendAppend, SendClaim, SendPreVote
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.hand import Hand
from tests.simulation.network import Message
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import SHORT, Story
from tests.simulation.voter import Asked, Voter

REPLY_LOST, NEW_BOOT, TORN = "reply lost, asked again in the same boot", "dead once durable", "dead while written"
OWNER_DIES_AT = 5
WAYS = (REPLY_LOST, NEW_BOOT, TORN)


class VoterWrites(Story):
    """The story.

    Args:
        seed: of the world.
        at: which write is struck, from 1; 0 for none.
        way: how.
    """

    def __init__(self, seed: int, at: int = 0, way: str = "") -> None:
        super().__init__(seed, Options(safety_ms=5_000), SHORT)
        self.at, self.way = at, way
        self.owner_dies = seed % 2 == 1
        self.writes = 0
        self.struck: Voter | None = None
        self.struck_step = self.struck_boot = 0
        self.last: dict[str, str] = {}
        self.open: list[str] = []

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), Client)

    def committed(self, hand: Hand, seq: int) -> None:
        if self.owner_dies and seq >= OWNER_DIES_AT:
            self.owner_dies = False
            self.soon("the owner dies", self.kill, hand.car, 2_500)

    def owns(self, hand: Hand) -> None:
        self.fired["written by a later owner too"] += hand.fence.n > 1

    def fate(self, message: Message) -> Sequence[int] | None:
        struck = self.struck
        if self.way == REPLY_LOST and struck is not None and self.kernel.steps == self.struck_step:
            return () if message.sender is struck.process and self.asks(message) is None else None
        return None

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        if self.way == TORN:
            self.writes += 1
            if self.writes == self.at:
                self._strike(voter)
                self.soon("dies while it writes", self.kill, voter.process, us=1 + int(self.rng.random() * 300))

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if self.way == TORN:
            return
        self.writes += 1
        if self.writes == self.at:
            self._strike(voter)
            if self.way == NEW_BOOT:
                raise self.die_here(10)

    def _strike(self, voter: Voter) -> None:
        self.hit(self.way)
        self.struck, self.struck_step, self.struck_boot = voter, self.kernel.steps, voter.process.life
        owner = self.owner()
        if owner is not None and owner.car is voter.process:
            self.hit("it was the owner's own voter")
        self.open = [self.last.get(voter.process.name, "")]

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        question = (
            f"{asked.append.fence} {asked.append.after_seq}" if isinstance(asked, SendAppend) else f"{asked}"
        )
        if voter is self.struck and question in self.open and isinstance(asked, SendAppend | SendClaim):
            self.open = []
            boot = "a new" if voter.process.life != self.struck_boot else "the same"
            self.hit(f"asked again in {boot} boot")
        if isinstance(asked, SendAppend | SendClaim | SendPreVote) and self.struck is None:
            self.last[voter.process.name] = question


def story(seed: int) -> tuple[int, Counter[str]]:
    """A world for each write and each way."""
    worlds, fired = 0, Counter[str]()
    for way in WAYS:
        writes = VoterWrites(seed, 0, way).run().writes
        fired[f"writes ({way})"] += writes
        for at in range(1, writes + 1):
            told = VoterWrites(seed, at, way).run()
            assert told.fired[way] == 1, f"write {at} of {writes} never came"
            worlds += 1
            fired += told.fired
    return worlds, fired


SCENARIO = Scenario(
    2, "crash between each voter write and its reply, same-boot retry and new boot", "voter_writes", story,
    (*WAYS, "asked again in the same boot", "asked again in a new boot", "it was the owner's own voter",
     "written by a later owner too",
     "written but not answered", "unsynced write lost"),
    2,
)  # fmt: skip


def test_a_voter_crashes_between_each_of_its_writes_and_the_reply() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    for way in WAYS:
        assert happened.fired[way] == happened.fired[f"writes ({way})"] > 20 * happened.seeds
