"""A voter has purged a finished handoff before another claims it, which has heard of no end.

One voter gets nothing from some moment on: its copy is unfinished. When clients have the end a second voter
deletes the journal and keeps its tombstone, the third goes down, and the unfinished copy's sidecar wants the
handoff: only it and the tombstone are there. Old appends arrive late, and the client sends its first
message again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bridge.proposal import ClaimAnswered, Event, PreVoted, SendAppend
from bridge.quorum import Refusal, Refused
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.late import LateClient
from tests.simulation.network import Message
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Asked, Voter

DOWN_MS = 3_500


class Purged(Story):
    """The story.

    Args:
        seed: of the world.
        own: the owner's voter purges it, else the third.
    """

    def __init__(self, seed: int, *, own: bool) -> None:
        super().__init__(seed, Options(on=frozenset({"late"}), safety_ms=10_000, retention_ms=60_000))
        self.own = own
        self.behind: Sidecar | None = None
        self.since = self.rng.randint(2, 12)
        self.purging = False
        self.purged = False
        self.runs = 0

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), LateClient)

    def committed(self, hand: Hand, seq: int) -> None:
        if self.behind is None and seq >= self.since:
            self.behind = self.rng.choice(self.others(hand.car.name))

    def fate(self, message: Message) -> Sequence[int] | None:
        late = self.behind is not None and message.to is self.behind and not self.purged
        return self.hold(message) if late and isinstance(self.asks(message), SendAppend) else None

    def compared(self, client: Client, task: dict[str, Any]) -> None:
        owner = self.owner()
        if self.purging or owner is None or self.behind is None:
            return
        self.purging = True
        (third,) = self.others(owner.car.name, self.behind.name)
        purger, gone = (owner.car, third) if self.own else (third, owner.car)
        assert purger.voter is not None
        self.kernel.arrive(5 * MS, purger, 0, f"{purger.name} purges", purger.voter.purge, (TASK,))
        self.soon("the third goes down", self.kill, gone, DOWN_MS, us=10 * MS)

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if stored.view.purged and not self.purged:
            self.purged = True
            self.runs = self.world.runs
            self.hit("purged by the owner's voter" if self.own else "purged by another voter")
            self.soon("old appends arrive", self._arrives, us=int(self.rng.random() * 2_500 * MS))
            assert self.behind is not None
            for ms in range(1_000, DOWN_MS, 300):
                self.kernel.arrive(ms * MS, self.behind, 0, "it claims", self._claim, (self.behind,))

    def _arrives(self) -> None:
        self.hit("old append after the purge")
        self.release(within_us=20 * MS)

    def _claim(self, car: Sidecar) -> None:
        car.stand(TASK, "late")

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        said = answer.answer if isinstance(answer, PreVoted | ClaimAnswered) else None
        if isinstance(said, Refused) and said.reason is Refusal.PURGED:
            self.hit("claim refused: purged")

    def owns(self, hand: Hand) -> None:
        assert not self.purged or len(hand.log) > self.since, "somebody owns what was purged"

    def judge(self) -> None:
        """Nothing ran again."""
        assert self.purged, "nobody purged it"
        assert self.world.runs == self.runs, "it ran again"
        self.hit("nothing ran again")


def story(seed: int) -> tuple[int, Counter[str]]:
    """The owner's voter purges, or another's."""
    fired = Counter[str]()
    for own in (False, True):
        told = Purged(seed, own=own).run()
        told.judge()
        fired += told.fired
    return 2, fired


SCENARIO = Scenario(
    4, "the same: purged before a claim by one that knows of no end", "purged", story,
    ("purged by the owner's voter", "purged by another voter", "claim refused: purged",
     "old append after the purge", "buried: unfinished copy", "first message sent again after the end",
     "nothing ran again"),
    15,
)  # fmt: skip


def test_what_was_purged_before_a_claim_is_not_run_again() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["nothing ran again"] == happened.worlds
    assert happened.fired["claim refused: purged"] > happened.worlds / 2
