"""Subscribers at three sidecars while the owner falls and another takes over, twice: same order, no gap, an end.

Each subscriber stays with its front whatever becomes of it, and follows on from the last event that it has. What
each of them got is compared with the committed journal, event by event. In some worlds a front has no voter of the
handoff beside it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.simulation.clients import Client
from tests.simulation.front import SHOWN
from tests.simulation.hand import Hand
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import Story
from tests.simulation.sidecar import Sidecar

TAKEOVERS = 2
#: Sidecars, and voters of the handoff: three peers, three of five hosts, one voter for all.
HOSTS = ((3, 3), (5, 3), (3, 1))


class Subscriber(Client):
    """It only listens, at one front, from the last event that it has.

    Attributes:
        got: position and content of each event.
        closed: its stream was ended by the front, not broken.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.got: list[tuple[int, dict[str, Any]]] = []
        self.closed = False

    def start(self) -> None:
        """Subscribe."""
        self._again()
        self.kernel.after(400_000, self, f"{self.name} looks", self._look)

    def other_front(self) -> Sidecar:
        """It stays."""
        return self.front

    def _again(self) -> None:
        if not self.ended:
            if self.got:
                self.kernel.fired["subscribed again from its last event"] += 1
            self._heard_us = self.kernel.now
            connection, front = self._connect(), self.front
            label = f"{self.name}>{front.name} subscribe"
            self.world.network.send(
                self, front, 0, label, front.front.subscribe, self, connection, self.task, self.cursor
            )

    def event(self, task: str, seq: int, event: dict[str, Any]) -> None:
        """It writes down what it gets."""
        self.got.append((seq, event))
        super().event(task, seq, event)

    def _broke(self, ended: bool) -> None:
        self.closed = ended
        super()._broke(ended)

    def _answer(self) -> None:
        """Others answer."""


class Subscribers(Story):
    """The story."""

    def __init__(self, seed: int) -> None:
        sidecars, voters = HOSTS[seed % len(HOSTS)]
        super().__init__(seed, Options(sidecars=sidecars, voters=voters, safety_ms=6_000))
        self.fences: list[int] = []
        self.commits_left = 0
        self.subscribers: list[Subscriber] = []

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), Client)
        for car in self.rng.sample(self.world.sidecars, 3):
            self.subscribers.append(self.client(car, Subscriber, after_ms=20 + self.rng.randint(0, 60)))

    def owns(self, hand: Hand) -> None:
        if hand.fence.n not in self.fences:
            self.fences.append(hand.fence.n)
            self.commits_left = self.rng.randint(3, 8)
            if len(self.fences) > 1 and not any(each.ended for each in self.subscribers):
                self.hit("takeover under three subscribers")

    def committed(self, hand: Hand, seq: int) -> None:
        if len(self.fences) <= TAKEOVERS and self.fences and hand.fence.n == self.fences[-1]:
            self.commits_left -= 1
            if self.commits_left == 0:
                self.soon("the owner falls", self._falls, hand)

    def _falls(self, hand: Hand) -> None:
        self.hit(f"owner {self.fell(hand.car, 2_500)}")

    def told_all(self) -> list[tuple[int, dict[str, Any]]]:
        """What whoever listened from the beginning was to get."""
        entries = [entry for entry in self.committed_journal() if entry.kind in SHOWN]
        events = ((entry.seq, self.world.event_of(entry)) for entry in entries)
        return [(seq, event) for seq, event in events if event is not None]


def story(seed: int) -> tuple[int, Counter[str]]:
    """One world."""
    told = Subscribers(seed).run()
    told.linger(50)
    whole = told.told_all()
    for subscriber in told.subscribers:
        assert subscriber.got == whole, f"{subscriber.name} at {subscriber.front.name} got something else"
        assert subscriber.closed, f"{subscriber.name} was never told that it is over"
        told.hit("whole sequence, closed")
    return 1, told.fired


SCENARIO = Scenario(
    10, "subscribers on three sidecars during a takeover (same order, no gap, closes)", "subscribers", story,
    ("takeover under three subscribers", "subscribed again from its last event", "whole sequence, closed",
     "stream broke", "owner killed", "owner paused", "owner cut off"),
    30,
)  # fmt: skip


def test_subscribers_at_three_sidecars_get_the_same_without_a_gap_and_are_told_the_end() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["takeover under three subscribers"] > happened.seeds
    assert happened.fired["whole sequence, closed"] == 3 * happened.seeds
