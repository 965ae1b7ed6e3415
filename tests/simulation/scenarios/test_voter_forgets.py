"""A voter's disk comes back empty or as an old copy, each time just before a claim.

The last entries that were acknowledged are on two disks only: the owner's and the one that is lost. While the
owner is down, the voter that has forgotten and the one that never had them are two of three hosts, not a majority;
in the other half of the worlds it is the owner's own disk, and the two others are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bridge.proposal import Event, SendAppend, SendClaim, SendPreVote
from tests.simulation.clients import Client
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.network import Message
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Asked, Voter

WIPED, OLD = "disk came back empty", "disk came back old"
DOWN_MS = 2_500


class VoterForgets(Story):
    """The story.

    Args:
        seed: of the world.
        how: what becomes of the disk.
        own: whether it is the owner's.
    """

    def __init__(self, seed: int, how: str, *, own: bool) -> None:
        super().__init__(seed)
        self.how, self.own = how, own
        self.copied_at = self.rng.randint(1, 6)
        self.lost_at = self.copied_at + self.rng.randint(2, 8)
        self.commits = 0
        self.fallen: Sidecar | None = None
        self.forgetful: Sidecar | None = None
        self.behind = ""

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), Client)

    def fate(self, message: Message) -> Sequence[int] | None:
        late = self.commits >= self.copied_at and self.fallen is None and message.to.name == self.behind
        return () if late and isinstance(self.asks(message), SendAppend) else None

    def committed(self, hand: Hand, seq: int) -> None:
        self.commits += 1
        if self.commits == self.copied_at:
            for car in self.world.sidecars:
                assert car.voter is not None
                car.voter.disk.keep_copy()
            lost, rest = self.rng.sample(self.others(hand.car.name), 2)
            self.forgetful = hand.car if self.own else lost
            self.behind = rest.name if not self.own or self.rng.random() < 0.5 else lost.name
        if self.commits == self.lost_at:
            self.soon("a disk is lost", self._lose, hand.car)

    def _lose(self, owner: Sidecar) -> None:
        car = self.forgetful
        assert car is not None
        assert car.voter is not None
        self.hit(self.how)
        self.hit("of the owner" if self.own else "of another than the owner")
        self.kill(car, DOWN_MS if self.own else 20)
        car.voter.disk.replace(f"{car.name}!lost", empty=self.how == WIPED)
        if not self.own:
            self.soon("the owner falls", self.kill, owner, DOWN_MS, us=self.rng.randint(1, 40) * MS)
        self.fallen = owner

    def owns(self, hand: Hand) -> None:
        if self.fallen is None:
            return
        self.hit("claimed after it")
        # Two hosts are up, and one of them has forgotten what made them a majority.
        assert self.own or self.fallen.alive, "a voter that has forgotten was counted"

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if isinstance(asked, SendClaim | SendPreVote) and voter.disk.identity != asked.voter:
            self.hit(f"asked for its vote: {self.how}")


def story(seed: int) -> tuple[int, Counter[str]]:
    """Each way to forget, by the owner's voter and by another."""
    fired = Counter[str]()
    for how in (WIPED, OLD):
        for own in (False, True):
            fired += VoterForgets(seed, how, own=own).run().fired
    return 4, fired


SCENARIO = Scenario(
    4, "a voter wiped, restored from an old copy, purged, each before a claim", "voter_forgets", story,
    (WIPED, OLD, f"asked for its vote: {WIPED}", f"asked for its vote: {OLD}", "claimed after it",
     "of the owner", "of another than the owner"),
    15,
)  # fmt: skip


def test_a_voter_that_has_forgotten_before_a_claim_has_no_vote() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired[WIPED] + happened.fired[OLD] == happened.worlds
    assert happened.fired["claimed after it"] > 0.9 * happened.worlds
