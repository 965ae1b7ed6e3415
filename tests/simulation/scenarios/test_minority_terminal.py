"""An end reaches only a minority; two candidates fail; then any two of three voters decide, and a cancel races.

The owner writes its terminal, one voter takes it, the owner dies. The first candidate dies when its claim is
granted and nothing of it is written; the second when one voter has its ``claimed``. Then one host is kept apart:
each of the three in turn, for each voter that may have the end. Whatever the two that are left decide is the end,
for everybody and for ever, also once the third is back with its copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bridge.journal import Entry, Fence
from bridge.proposal import SendAppend
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.network import LOCAL_US, Message
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.simulation.voter import Voter

FIRST, MINORITY, SECOND, DECIDED = "owner", "first candidate", "second candidate", "the rest decide"


class MinorityTerminal(Story):
    """The story.

    Args:
        seed: of the world.
        holder: which sidecar's voter gets the end: 0 is the owner's own.
        away: which sidecar is kept apart when the others decide, counted alike.
    """

    def __init__(self, seed: int, holder: int, away: int) -> None:
        super().__init__(seed, Options(safety_ms=12_000))
        cars = self.world.sidecars
        self.owner_car = cars[seed % 3]
        order = [cars[(seed + number) % 3] for number in range(3)]
        self.holder, self.away = order[holder].name, order[away].name
        self.act = FIRST
        self.first: Fence | None = None
        self.second: Fence | None = None  # of the first candidate
        self.only = ""
        self.end: Entry | None = None
        self.wish_ms = self.rng.randint(0, 40)

    def begin(self) -> None:
        self.client(self.owner_car, Client)

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        if not isinstance(asked, SendAppend):
            return None
        append, to = asked.append, message.to.name
        if self.act == FIRST:
            upto = self.end_of(append.entries)
            if upto is not None and self.end is None:
                self.end, self.first = upto, append.fence
                client = self.world.clients[0]
                self.kernel.after(self.wish_ms * 1_000, client, "client cancels", client.cancel)
            if self.end is not None:
                return (LOCAL_US if message.sender is message.to else 500,) if to == self.holder else ()
        elif self.act == MINORITY and append.fence != self.first:
            self.act = SECOND
            self.hit("first candidate died with its grants")
            self.second = append.fence
            raise self.die_here(self.rng.choice((20, 400)))
        elif self.act == SECOND and append.fence not in (self.first, self.second):
            # Its claim reaches one voter, which may be its own.
            self.only = self.only or self.rng.choice([message.sender.name, to])
            return None if to == self.only else ()
        return None

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if self.act == FIRST and self.end is not None and self.end_of(stored.entries) is not None:
            self.hit("end on a minority")
            self.act = MINORITY
            self.soon("the owner dies", self.kill, self.owner_car, self.rng.choice((200, 1_500, 4_000)))
        elif self.act == SECOND and self.second is not None and stored.view.tip.fence > self.second:
            self.hit("second candidate died with its claim on a minority")
            self.act = DECIDED
            dead = self.world.sidecar_of(stored.view.tip.fence.session)
            assert dead is not None
            self.soon("the second candidate dies", self.kill, dead, self.rng.choice((20, 400)))
            self.soon("one host is kept apart", self.apart, self.away)

    def verdict(self) -> str:
        """Which end it was in the end."""
        end = self.end_of(self.committed_journal())
        assert end is not None
        assert self.end is not None
        if end.hash == self.end.hash:
            return "the minority's end was adopted"
        self.hit(f"replaced by: {end.kind}")
        return "the minority's end was replaced"


def story(seed: int) -> tuple[int, Counter[str]]:
    """Each voter has the end alone, and each pair of voters decides."""
    fired = Counter[str]()
    for holder in range(3):
        for away in range(3):
            told = MinorityTerminal(seed, holder, away).run()
            told.hit(told.verdict())
            ends = [told.end_of(each.entries[: each.view.committed]) for _, each in told.world.journals(TASK)]
            assert len({end.hash for end in ends if end is not None}) == 1, "voters call different ends committed"
            fired += told.fired
    return 9, fired


SCENARIO = Scenario(
    3, "terminal on a minority, two failed candidates, then any quorum, with a cancel racing", "minority_terminal",
    story,
    ("end on a minority", "first candidate died with its grants",
     "second candidate died with its claim on a minority", "cancel wished", "the minority's end was adopted",
     "the minority's end was replaced", "replaced by: canceled", "suffix cut"),
    6,
)  # fmt: skip


def test_an_end_on_a_minority_after_two_failed_candidates_is_adopted_or_replaced_for_everybody() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    for fault in SCENARIO.must[:4]:
        assert happened.fired[fault] > 0.9 * happened.worlds, fault
