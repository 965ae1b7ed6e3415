"""A handoff moves to other voters, and somebody crashes at each step of it.

A first run counts the steps from the first ``voters`` entry until a majority of the new set knows it as committed:
each append that an owner is about to send, each write of a voter that is durable and not yet answered. Then the
world is lived again for each of these steps and each of those who may die at it: whoever takes the step, and the
owner. Each time the handoff must arrive where it was to go.

In three more worlds of a seed nobody dies, but the owner lapses behind such an entry: it hears nothing for longer
than a lease lasts, and the entry itself reaches no voter, or only one that its next claim does not hear. When it
comes back its run's output is flushed; the change, which was a command and no output, must not be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bridge.journal import Kind
from bridge.proposal import Event, SendAppend, SendClaim
from bridge.voterset import Voters
from tests.simulation.clients import Client
from tests.simulation.disk import Stored
from tests.simulation.hand import Hand
from tests.simulation.kernel import Process
from tests.simulation.membership import named_in
from tests.simulation.network import Message
from tests.simulation.options import TTL_MS, Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.simulation.voter import Asked, Voter

SENDER, WRITER, OWNER = "dies before it sends", "voter dies with its write durable", "owner dies"
NOBODY, OLD, NEW = "no voter", "one old voter", "one new voter"
REACHED = {knows: f"owner lapsed, its change had reached {knows}" for knows in (NOBODY, OLD, NEW)}
LEFT_OUT = "output flushed without the change that it had been proposed with"


class Step(NamedTuple):
    """Who dies, and when.

    Attributes:
        at: which step of the change, from 1; 0 for none.
        owner: the owner dies at it, else whoever takes it.
        down_ms: for how long.
    """

    at: int = 0
    owner: bool = False
    down_ms: int = 0


class VotersChange(Story):
    """The story."""

    def __init__(self, seed: int, step: Step, pace_ms: int = 35) -> None:
        super().__init__(seed, Options(sidecars=5, safety_ms=12_000, pace_ms=pace_ms))
        self.step = step
        self.wanted: Voters = ()
        self.steps = 0
        self.commits_left = seed % 4 + 1
        self.over = False
        self.first = ""

    def begin(self) -> None:
        self.client(self.rng.choice(self.world.sidecars), Client)

    def committed(self, hand: Hand, seq: int) -> None:
        if hand.task == TASK and not self.wanted:
            self.commits_left -= 1
            if self.commits_left == 0:
                self._command(hand)

    def _command(self, hand: Hand) -> None:
        named = [voters for entry in hand.log if (voters := named_in(entry))][-1]
        others = [name for name in self.world.names if name not in named]
        self.wanted = (*self.rng.sample(named, 3 - len(others)), *others)
        self.world.operator.move(TASK, self.wanted)
        self.hit("handoff to be moved")

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        if isinstance(asked, SendAppend) and asked.append.task == TASK:
            change = next((entry for entry in asked.append.entries if entry.kind is Kind.VOTERS), None)
            if change is not None or self.first:
                self.first = self.first or (change.hash if change is not None else "")
                self._take_step(message.sender, SENDER)
        return None

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if task != TASK or not self.first or self.over:
            return
        self._take_step(voter.process, WRITER)
        change = next((entry for entry in stored.entries if entry.kind is Kind.VOTERS), None)
        if change is not None:
            knowing = [host.voter for host in self.world.hosts if host.name in self.wanted]
            told = [
                each for each in knowing if each is not None and each.durable(TASK).view.committed >= change.seq
            ]
            self.over = 2 * len(told) > len(self.wanted)

    def _take_step(self, who: Process, what: str) -> None:
        if self.over:
            return
        self.steps += 1
        if self.steps != self.step.at:
            return
        if not self.step.owner:
            self.hit(what)
            raise self.die_here(self.step.down_ms)
        self.hit(OWNER)
        owner = self.owner()
        if owner is not None:
            self.soon("the owner dies", self.kill, owner.car, self.step.down_ms)

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if isinstance(asked, SendClaim) and task == TASK and self.first and not self.over:
            self.hit("claimed while a change was under way")

    def judge(self) -> None:
        """It is where it was to go."""
        changes = [entry for entry in self.committed_journal() if entry.kind is Kind.VOTERS]
        assert changes, "the handoff never moved"
        assert named_in(changes[-1]) == self.wanted, "it went elsewhere"
        self.hit("moved as first written" if changes[-1].hash == self.first else "moved by a later owner anew")


class LapsedChange(VotersChange):
    """The owner's lease lapses while its change is proposed and not committed; the voters go on hearing it."""

    def __init__(self, seed: int, knows: str) -> None:
        super().__init__(seed, Step(), pace_ms=200)  # so it still talks when its lease has run out
        self.knows = knows
        self.knowing = ""
        self.struck: Hand | None = None
        self.back = False
        self.reached = set[str]()

    def fate(self, message: Message) -> Sequence[int] | None:
        asked = self.asks(message)
        if self.back or not isinstance(asked, SendAppend) or asked.append.task != TASK:
            return None
        change = next((entry for entry in asked.append.entries if entry.kind is Kind.VOTERS), None)
        if change is None:
            return None
        if self.struck is None:
            self._strike(change.hash)
        return None if message.to.name == self.knowing else ()

    def _strike(self, change: str) -> None:
        self.first, self.struck = change, self.owner()
        assert self.struck is not None
        owner, lapsed_ms = self.struck.car.name, self.rng.randint(TTL_MS, 2 * TTL_MS)
        old = [voters for entry in self.struck.log if (voters := named_in(entry))][-2]
        new = [name for name in self.wanted if name not in old]
        able = [name for name in {NOBODY: (), OLD: old, NEW: new}[self.knows] if name != owner]
        self.knowing = self.rng.choice(able) if able else ""
        for name in self.world.names:
            # An old voter that has the change is not heard by the next claim either; a new one is not asked.
            if name != owner and (name != self.knowing or name in old):
                self._separate(name, owner, (4 if name == self.knowing else 1) * lapsed_ms)

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        if task == TASK and self.first in [entry.hash for entry in stored.entries]:
            self.reached.add(voter.disk.identity)

    def owns(self, hand: Hand) -> None:
        if self.struck is None or self.back or hand.task != TASK:
            return
        self.back = True
        if hand.lapse is not None and self.reached == {self.knowing} - {""}:
            self.hit(REACHED[self.knows])
            if self.first not in [entry.hash for entry in hand.log]:
                self.hit(LEFT_OUT)


def story(seed: int) -> tuple[int, Counter[str]]:
    """A world for each step and each one who may die at it, for a short time or a long one; three with a lapse."""
    plain = VotersChange(seed, Step()).run()
    plain.judge()
    worlds, fired = 1, plain.fired.copy()
    fired["steps of a change"] += plain.steps
    for at in range(1, plain.steps + 1):
        for owner in (False, True):
            told = VotersChange(seed, Step(at, owner, 20 if (at + seed) % 2 else 1_500)).run()
            assert told.fired[OWNER] + told.fired[SENDER] + told.fired[WRITER] == 1, f"step {at} never came"
            told.judge()
            worlds += 1
            fired += told.fired
    for knows in REACHED:
        lapsed = LapsedChange(seed, knows).run()
        lapsed.judge()
        worlds += 1
        fired += lapsed.fired
    return worlds, fired


SCENARIO = Scenario(
    7, "voter-set change with a crash at every step", "voters_change", story,
    (SENDER, WRITER, OWNER, "claimed while a change was under way", "moved as first written",
     *REACHED.values(), LEFT_OUT, "moved by a later owner anew"),
    2,
)  # fmt: skip


def test_a_handoff_moves_to_other_voters_whoever_crashes_at_whichever_step() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired[SENDER] + happened.fired[WRITER] == happened.fired["steps of a change"]
    assert happened.fired[OWNER] == happened.fired["steps of a change"]
