"""One message at two sidecars at once: the dispatch, every answer and the wish to cancel.

Both fronts stand for a task that neither has heard of; one wins, the other attaches. Later messages reach two
fronts in the same moment, in some worlds while the owner falls or one of the two is cut off. The voters are three
peers, one for all, or a pair. Whatever happens each
message stands in the journal once, and where nothing fails the agent is asked once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bridge.journal import Kind
from bridge.jsontext import parse_stored
from bridge.proposal import Event, SendClaim, SendPreVote
from tests.simulation.clients import Client
from tests.simulation.kernel import MS
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import Story
from tests.simulation.sidecar import Sidecar
from tests.simulation.voter import Asked, Voter

NOTHING, OWNER_FALLS, FRONT_CUT_OFF, CANCELED = "nothing fails", "owner falls", "front cut off", "cancel"
#: Sidecars, voters of a handoff, whether each is the other's: three peers, one voter for all, a pair.
MODES = ((3, 3, False), (3, 1, False), (2, 1, True))


class Doubled(Client):
    """It says everything at two fronts at once."""

    second: Sidecar

    def fronts(self) -> list[Sidecar]:
        """Both."""
        return [self.front, self.second] if self.front is not self.second else [self.front]


class Attached(Client):
    """It sent the same message in the same moment, and leaves the rest to the other."""

    def _answer(self) -> None:
        """The other does."""


class OneMessageTwice(Story):
    """The story."""

    def __init__(self, seed: int) -> None:
        hosts, voters, pair = MODES[seed // 4 % len(MODES)]
        super().__init__(seed, Options(sidecars=hosts, voters=voters, pair=pair, safety_ms=6_000))
        self.what = (NOTHING, OWNER_FALLS, FRONT_CUT_OFF, CANCELED)[seed % 4]
        self.candidates: list[str] = []

    def begin(self) -> None:
        one, other = self.rng.sample(self.world.sidecars, 2)
        client = self.client(one, Doubled)
        client.second = other
        self.client(other, Attached, after_ms=1 + self.rng.random() * 2)
        if self.what == CANCELED:
            self.kernel.after(self.rng.randint(60, 300) * MS, client, "client cancels", client.cancel)

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        if isinstance(asked, SendPreVote | SendClaim) and len(self.candidates) < 2:
            session = asked.claim.candidate
            if session not in self.candidates and self.owner() is None:
                self.candidates.append(session)
                if len(self.candidates) == 2:
                    self.hit("two candidates for one message")

    def received(self, client: Client, seq: int, event: dict[str, Any]) -> None:
        state = event.get("statusUpdate", {}).get("status", {}).get("state")
        if state != "TASK_STATE_INPUT_REQUIRED" or not isinstance(client, Doubled) or self.fired[self.what]:
            return
        # The answer leaves in this very event; it arrives within a few milliseconds.
        us = self.rng.randint(0, 6 * MS)
        owner = self.owner()
        if self.what == OWNER_FALLS and owner is not None:
            self.hit(self.what)
            self.soon("the owner falls", self.fell, owner.car, 1_800, us=us)
        elif self.what == FRONT_CUT_OFF:
            self.hit(self.what)
            front = self.rng.choice(client.fronts())
            self.kernel.after(us, None, "a front is cut off", lambda: self.apart(front.name, ms=1_800))

    def judge(self) -> None:
        """Each message once."""
        entries = self.committed_journal()
        kinds = Counter(entry.kind for entry in entries)
        inputs = Counter(
            parse_stored(entry.body)["id"]
            for entry in entries
            if entry.kind is Kind.INPUT and entry.body is not None
        )
        assert kinds[Kind.DISPATCHED] == 1, "the message stands in the journal more than once"
        assert kinds[Kind.CANCEL] <= 1, "one wish to cancel was written down twice"
        assert not [name for name, times in inputs.items() if times > 1], f"an answer was taken twice: {inputs}"
        if self.what == NOTHING:
            assert self.world.runs == 1, f"the agent was asked {self.world.runs} times"
            self.hit("one call of the agent")


def story(seed: int) -> tuple[int, Counter[str]]:
    """One world."""
    told = OneMessageTwice(seed).run()
    told.judge()
    return 1, told.fired


SCENARIO = Scenario(
    9, "concurrent repeats of one message at two sidecars", "one_message_twice", story,
    ("two candidates for one message", "dispatch met another", "one message at two fronts", "repeat attached",
     "one call of the agent",
     OWNER_FALLS, FRONT_CUT_OFF, "cancel wished", "ended: canceled"),
    40,
)  # fmt: skip


def test_one_message_at_two_sidecars_at_once_is_taken_once() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["two candidates for one message"] > happened.seeds / 2
    assert happened.fired["one call of the agent"] == happened.seeds / 4
    assert happened.fired["one message at two fronts"] > happened.seeds / 2
