"""Appends and claims of three fences arrive late, twice and in any order.

Two owners fall in turn: killed, paused or cut off after a few commits. What they and the candidates sent to one
voter is held back; when a later owner's claim is committed all of it arrives at once, twice, shuffled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bridge.proposal import AppendAnswered, ClaimAnswered, Event, SendAppend, SendClaim
from bridge.quorum import Refusal, Refused
from tests.simulation.clients import Client
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.network import Message
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import Story
from tests.simulation.voter import Asked, Voter

FENCES = 3


class ThreeFences(Story):
    """The story."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Options(safety_ms=15_000))
        self.fences: list[int] = []
        self.commits_left = 0
        self.slow = ""
        self.seen: Counter[str] = Counter()
        self.furthest: dict[str, int] = {}

    def begin(self) -> None:
        first = self.rng.choice(self.world.sidecars)
        self.slow = self.rng.choice(self.others(first.name)).name
        self.client(first, Client)

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        if not isinstance(asked, SendAppend | SendClaim) or message.sender is message.to:
            return None
        usual = 300 + int(self.rng.random() * 3_000)
        if message.to.name == self.slow and len(self.fences) < FENCES:
            self.hold(message)
            late = int(self.rng.random() * (300 if isinstance(asked, SendAppend) else 30) * MS)
            return (usual + late,) if self.rng.random() < 0.5 else ()
        late = self.rng.random() < 0.3
        return (usual, usual + int(self.rng.random() * 2_000 * MS)) if late else (usual,)

    def owns(self, hand: Hand) -> None:
        if hand.fence.n in self.fences:
            return
        self.fences.append(hand.fence.n)
        self.commits_left = self.rng.randint(1, 6)
        if len(self.fences) > 1:
            self.hit("held back until a later fence", once=True)
            self.soon("what was held arrives", self._arrives)
        if len(self.fences) == FENCES:
            self.hit("third fence")
            self.network.apart = {}

    def _arrives(self) -> None:
        self.release(copies=2, within_us=50 * MS)

    def committed(self, hand: Hand, seq: int) -> None:
        if len(self.fences) < FENCES and self.fences and hand.fence.n == self.fences[-1]:
            self.commits_left -= 1
            if self.commits_left == 0:
                self.soon("the owner falls", self._falls, hand)

    def _falls(self, hand: Hand) -> None:
        self.network.apart = {}  # who fell before is back: two of three may claim
        how = self.rng.choice(("killed", "paused", "cut off"))
        self.hit(f"owner {how}")
        match how:
            case "killed":
                self.kill(hand.car, self.rng.choice((30, 3_500)))
            case "paused":
                hand.car.pause(self.kernel.now + 4_500 * MS)
            case _:
                self.apart(hand.car.name)

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if not isinstance(asked, SendAppend | SendClaim):
            return
        what = "append" if isinstance(asked, SendAppend) else "claim"
        fence = asked.append.fence if isinstance(asked, SendAppend) else asked.claim.fence
        key = f"{voter.process.name} {asked}"
        self.seen[key] += 1
        if self.seen[key] == 2:
            self.hit(f"{what} twice")
        if isinstance(asked, SendAppend):
            line = f"{voter.process.name} {fence.n}"
            if asked.append.after_seq < self.furthest.get(line, 0):
                self.hit("append out of order")
            self.furthest[line] = max(self.furthest.get(line, 0), asked.append.after_seq)
        said = answer.answer if isinstance(answer, AppendAnswered | ClaimAnswered) else None
        if isinstance(said, Refused) and said.reason is Refusal.FENCED:
            self.hit(f"late {what} of an older fence refused")
            if fence.n in self.fences and len(self.fences) - self.fences.index(fence.n) > 2:
                self.hit(f"late {what} of two fences ago refused")


def story(seed: int) -> tuple[int, Counter[str]]:
    """One world."""
    return 1, ThreeFences(seed).run().fired


SCENARIO = Scenario(
    1, "delayed, duplicated and reordered appends and claims over three fences", "three_fences", story,
    ("late append of an older fence refused", "late append of two fences ago refused", "append twice",
     "append out of order", "claim twice", "late claim of an older fence refused", "owner killed", "owner paused",
     "owner cut off"),
    30,
)  # fmt: skip


def test_appends_and_claims_of_three_fences_arrive_late_twice_and_in_any_order() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["third fence"] > 0.9 * happened.seeds  # now and then a task ends before
    assert happened.fired["append twice"] > 10 * happened.seeds
