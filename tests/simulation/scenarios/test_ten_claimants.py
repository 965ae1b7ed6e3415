"""Ten claimants under an asymmetric partition: a living owner is never stopped, a dead one has one successor.

Three of the ten sidecars vote. All others try to claim again and again, at once and without asking whether they
should. First one voter and the owner do not hear each other, in one direction, for longer than a lease lasts,
and candidates hear nothing of the owner: it stays the owner, and nobody claims at all. Then it dies, while one
voter hears only half of the candidates: within a bound one of them owns the handoff, and it stays the only one.
"""

from __future__ import annotations

from collections import Counter

from bridge.proposal import ClaimAnswered, Event, PreVoted
from bridge.quorum import Refused
from bridge.recovery import STAGGER_MS
from tests.simulation.clients import Client
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.options import MARGIN_MS, NAMES, TTL_MS, Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.simulation.sidecar import CANDIDACY_MS, Sidecar
from tests.simulation.voter import Asked, Voter

LIVES_MS = 3 * (TTL_MS + MARGIN_MS)
#: The lease runs out, every standby before it has had its turn, and one attempt was in vain.
SUCCESSOR_MS = TTL_MS + MARGIN_MS + len(NAMES) * STAGGER_MS + CANDIDACY_MS
AGAIN_MS = 60
MUTE, DEAF = "one voter does not hear the living owner", "the living owner does not hear one voter"


class TenClaimants(Story):
    """The story.

    Attributes:
        first: the owner that lives, and then dies.
        died_us: when it died; 0 before.
        took_us: after how long its successor owned the handoff.
        successors: the hands of its successor: it may claim anew, and nobody else.
        asking: sessions that wanted it.
    """

    def __init__(self, seed: int) -> None:
        eager = frozenset({"eager", "loss", "slow"} if seed % 3 == 2 else {"eager"})
        options = Options(eager, sidecars=len(NAMES), safety_ms=16_000, pace_ms=300)
        options.loss, options.slow = (0.02, 0.05) if seed % 3 == 2 else (0.0, 0.0)
        super().__init__(seed, options)
        self.seed = seed
        self.first: Hand | None = None
        self.died_us = self.took_us = 0
        self.successors: list[Hand] = []
        self.asking: dict[str, bool] = {}

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), Client)

    def owns(self, hand: Hand) -> None:
        if self.first is None:
            self.first = hand
            self.soon("asymmetric partition", self._part)
            self.soon("everybody claims", self._challenge)
            self.soon("the owner dies", self._die, us=LIVES_MS * MS)
        elif not self.died_us:
            raise self.broken(f"{hand.fence} owns it, {self.first.fence} lives")
        elif self.world.faulty:
            self.took_us = self.took_us or self.kernel.now - self.died_us
            self.successors.append(hand)
            if hand.fence.session != self.successors[0].fence.session:
                raise self.broken(f"{hand.fence} owns it, the successor {self.successors[0].fence} lives")
            self.hit("one successor within the bound", once=True)

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if task != TASK or self.first is None or not isinstance(answer, PreVoted | ClaimAnswered):
            return
        when = "after the owner died" if self.died_us else "while the owner lives"
        if answer.fence.session == self.first.fence.session:
            return
        if isinstance(answer, ClaimAnswered):
            self.hit(f"claimed {when}")
        else:
            self.asking[answer.fence.session] = True
            self.hit(f"pre-vote {when}: {answer.answer.reason if isinstance(answer.answer, Refused) else 'yes'}")

    def voters(self) -> list[Sidecar]:
        """Those of the handoff, but for the owner's own."""
        assert self.first is not None
        hosts = [self.world.voter_hosts[each] for each in self.first.proposer.voters]
        return [host for host in hosts if isinstance(host, Sidecar) and host is not self.first.car]

    def _part(self) -> None:
        assert self.first is not None
        owner, voters = self.first.car, self.voters()
        voter = self.rng.choice(voters)
        self.hit(MUTE if self.seed % 2 else DEAF)
        one, other = (owner, voter) if self.seed % 2 else (voter, owner)
        self._separate(one.name, other.name, LIVES_MS)
        for car in self.others(owner.name, *(each.name for each in voters)):
            self._separate(owner.name, car.name, LIVES_MS)

    def _challenge(self) -> None:
        assert self.first is not None
        for car in self.others(self.first.car.name):
            self.kernel.arrive(self.rng.randint(1, 10) * MS, car, 0, f"{car.name} claims", self._want, (car,))
        if self.world.faulty:
            self.soon("everybody claims", self._challenge, us=AGAIN_MS * MS)

    def _want(self, car: Sidecar) -> None:
        car.stand(TASK, "wants")

    def _die(self) -> None:
        assert self.first is not None
        owner = self.first
        if owner.lost or not owner.fresh() or owner.car.hands.get(TASK) is not owner:
            raise self.broken(f"{owner.fence} was stopped, and it lived")
        if owner.handoff.terminal is not None:
            return
        self.hit("living owner never stopped")
        self.died_us = self.kernel.now
        self.hit("owner dies")
        self.kill(owner.car, self.world.options.safety_ms)
        voter = self.rng.choice(self.voters())
        others = self.others(owner.car.name, voter.name)
        for car in self.rng.sample(others, len(others) // 2):
            self._separate(car.name, voter.name, None)
        self.soon("the bound is over", self._succeeded, us=SUCCESSOR_MS * MS)

    def _succeeded(self) -> None:
        if not self.successors:
            raise self.broken(f"nobody owns it {SUCCESSOR_MS} ms after its owner died")


def story(seed: int) -> tuple[int, Counter[str]]:
    """One world."""
    told = TenClaimants(seed).run()
    if told.successors:
        told.hit("ten wanted it" if len(told.asking) >= len(NAMES) - 1 else "fewer wanted it")
        told.hit("successor stayed the only one")
    return 1, told.fired


SCENARIO = Scenario(
    5, "ten claimants under an asymmetric partition (a live owner is never stopped, a dead one has one successor"
    " in bounded time)", "ten_claimants", story,
    (MUTE, DEAF, "living owner never stopped", "pre-vote while the owner lives: held",
     "pre-vote while the owner lives: yes", "claimed eagerly", "partition kept a message", "owner dies",
     "pre-vote after the owner died: yes", "pre-vote after the owner died: held", "claimed after the owner died",
     "one successor within the bound", "successor stayed the only one", "ten wanted it"),
    18,
)  # fmt: skip


def test_of_ten_claimants_none_stops_a_living_owner_and_one_follows_a_dead_one() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    fired = happened.fired
    assert not fired["claimed while the owner lives"]
    assert fired["owner dies"] >= 0.8 * happened.seeds
    assert fired["one successor within the bound"] == fired["owner dies"] == fired["successor stayed the only one"]
    assert fired["pre-vote while the owner lives: held"] > 20 * happened.seeds
