"""Outages of an owner and restarts of its voters around TTL ± margin: no stale fresh read, no effect begun twice.

The outage begins when an owner has just been heard, often with a call of its agent about to be made, and its
length is swept over the edges of both ways to count a lease: the owner's, from its send, and the voters', from
receipt. Around its end clients read at every front every few milliseconds, and both others stand for the handoff
without asking whether they should. Some owners' clocks are slow while the voters' are fast; of four seeds two have
one voter for all, on a host of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bridge.journal import Kind
from bridge.proposal import SendAppend
from tests.simulation.clients import Client
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.network import Message
from tests.simulation.options import MARGIN_MS, TTL_MS, Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.simulation.sidecar import Sidecar

READ_MS = 15
STEP_MS = 40  # two seeds in a row: 20
PAUSED, CUT_OFF, MUTE, DEAF = "owner paused", "owner cut off", "owner mute", "owner deaf"
RESTARTED, VOTERS_RESTARTED = "owner restarted", "owner cut off, voters restarted"
OUTAGES = (PAUSED, CUT_OFF, MUTE, DEAF, RESTARTED, VOTERS_RESTARTED)
SURVIVED, TAKEN = "it survived", "another took over"


class Edge(NamedTuple):
    """One point of the sweep.

    Attributes:
        outage: what happens to the owner.
        length_ms: since then; where voters restart, since their restart.
        bound: it begins when the owner is about to ask its agent, else at some commit.
    """

    outage: str
    length_ms: int
    bound: bool


class LeaseEdges(Story):
    """The story."""

    def __init__(self, seed: int, edge: Edge) -> None:
        rates = {"a": 0.97, "b": 1.03, "c": 1.03, "d": 1.03} if seed % 2 else {}
        voters = 1 if seed % 4 > 1 else 3
        super().__init__(seed, Options(voters=voters, safety_ms=6_000, pace_ms=30, rates=rates))
        self.edge = edge
        # Each entry goes to every voter, and a run writes three times whom it is bound to.
        self.left = seed % 3 * voters + 1 if edge.bound else seed % 5 + 3
        self.struck: Hand | None = None
        self.over_us = 0
        self.successor = ""

    def begin(self) -> None:
        self.client(self.car("a"), Client)

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        entries = asked.append.entries if isinstance(asked, SendAppend) else ()
        if self.edge.bound and any(entry.kind is Kind.BOUND for entry in entries):
            self._strike_soon()
        return None

    def committed(self, hand: Hand, seq: int) -> None:
        if not self.edge.bound and hand.owner:
            self._strike_soon()

    def _strike_soon(self) -> None:
        self.left -= 1
        owner = self.owner()
        if self.left <= 0 and self.struck is None and owner is not None:
            self.struck = owner
            self.soon(self.edge.outage, self._strike, owner, us=self.rng.randint(0, 2 * MS))

    def _strike(self, hand: Hand) -> None:
        car, outage, length = hand.car, self.edge.outage, self.edge.length_ms
        self.hit(outage)
        match outage:
            case "owner paused":
                car.pause(self.kernel.now + length * MS)
            case "owner restarted":
                self.kill(car, length)
            case "owner cut off, voters restarted":
                began_ms = self.rng.randint(50, 500)
                length += began_ms
                for host in self.world.hosts:
                    if host is not car and host.voter is not None:
                        self.soon(f"{host.name} restarts", self.kill, host, 1, us=(began_ms - 1) * MS)
                self.apart(car.name, ms=length)
            case _:
                self.apart(car.name, hears=outage == MUTE, is_heard=outage == DEAF, ms=length)
        self.over_us = self.kernel.now + length * MS
        for front in self.world.sidecars:
            every = READ_MS if front is car else 4 * READ_MS
            for ms in range(TTL_MS - 3 * MARGIN_MS, length + 200, every):
                self._later(front, ms, "reader gets", self._read, front)
        for other in self.others(car.name):
            for before_ms in (30, 3, -4):
                jitter = self.rng.randint(-2, 2)
                self._later(other, length - before_ms + jitter, "challenges", self._challenge, other)

    def _later(self, car: Sidecar, ms: int, label: str, run: Callable[..., None], *args: Sidecar) -> None:
        self.kernel.arrive(max(1, ms) * MS, car, 0, f"{car.name} {label}", run, args)

    def _read(self, front: Sidecar) -> None:
        front.front.get(TASK, lambda *_: None)

    def _challenge(self, car: Sidecar) -> None:
        if car.stand(TASK, "challenge") is not None:
            self.hit("challenged at the edge")

    def owns(self, hand: Hand) -> None:
        if self.struck is not None and not self.successor and hand.car is not self.struck.car:
            self.successor = hand.car.name if self.kernel.now < self.over_us + 200 * MS else ""

    def read(self, car: Sidecar, task: str, upto: int, fresh: bool) -> None:
        if self.struck is not None and car is self.struck.car and self.kernel.now < self.over_us + 200 * MS:
            self.hit("fresh read of the struck owner" if fresh else "read of the struck owner, not fresh")


def sweep(seed: int) -> list[Edge]:
    """Every outage, of every length around the edges."""
    first = TTL_MS - 2 * MARGIN_MS + seed * 20 % STEP_MS + seed // 2 % 20
    lengths = range(first, TTL_MS + 2 * MARGIN_MS + 1, STEP_MS)
    return [
        Edge(outage, length, bound=(seed + at) % 2 == 0) for outage in OUTAGES for at, length in enumerate(lengths)
    ]


def story(seed: int) -> tuple[int, Counter[str]]:
    """A world for each point."""
    fired, edges = Counter[str](), sweep(seed)
    for edge in edges:
        told = LeaseEdges(seed, edge).run()
        if told.struck is not None:
            told.hit(f"{edge.outage}: {TAKEN if told.successor else SURVIVED}")
        fired += told.fired
    return len(edges), fired


SCENARIO = Scenario(
    6, "pauses and voter restarts around TTL ± margin (no stale fresh read, no double effect)", "lease_edges",
    story,
    (*OUTAGES,
     *(f"{outage}: {end}" for outage in OUTAGES if outage != DEAF for end in (SURVIVED, TAKEN)),
     f"{DEAF}: {SURVIVED}", "challenged at the edge", "fresh read of the struck owner",
     "read of the struck owner, not fresh"),
    3,
)  # fmt: skip


def test_around_the_edges_of_a_lease_no_fresh_read_is_stale_and_no_effect_begins_twice() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert sum(happened.fired[outage] for outage in OUTAGES) > 0.95 * happened.worlds
    # Whom the voters hear nobody takes over from, however deaf it is.
    assert not happened.fired[f"{DEAF}: {TAKEN}"]
