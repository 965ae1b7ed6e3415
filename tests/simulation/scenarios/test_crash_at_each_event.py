"""A crash at each event of a run, whatever checkpoint there is, and whatever kind of run comes after it.

Not a sample: for each small script every event to crash at, before anybody heard it and once it is durable, who
crashes, every event that a checkpoint may have come with before (or none at all), and every kind of re-run. The
client must end with what GetTask answers, and that must be what the last run made: the checkers see to it. Beyond
that a story asks that a run which repeats itself leaves no trace, and that a task ends as if nothing had befallen
it. A seed is another way to cut the first run's words.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from bridge.a2a.remaking import SUPERSEDED
from bridge.journal import Kind
from tests.simulation.agents import REQUEST_US
from tests.simulation.clients import Client
from tests.simulation.doers import NOTHING, Doer, Doing
from tests.simulation.exchange import Resumed
from tests.simulation.hand import Hand
from tests.simulation.kernel import MS
from tests.simulation.options import Options
from tests.simulation.scenarios.scenario import Scenario, play
from tests.simulation.scenarios.story import TASK, Story
from tests.unit.a2a.model_agents import Agent, Style
from tests.unit.a2a.model_client import answer_of, text_of
from tests.unit.a2a.model_scripts import Script, Segment

Json = dict[str, Any]
#: A question, two artifacts that interleave, one of them replaced by the run itself.
ASKS = Script(
    (
        Segment((), {"p": (("t", "ab", {}),), "q": (("t", "a", {}), ("r",), ("t", "b", {}))}, "why"),
        Segment(("s?",), {"p": (("t", "b?", {}),)}, None),
    ),
    {"p": "name-p", "q": "name-q"},
    ("p",),
    "TASK_STATE_COMPLETED",
)
#: The same words twice, a status without words.
TELLS = Script(
    (Segment(("s1", "", "s1"), {"p": (("t", "aba", {}), ("m", {"k": 1}))}, None),),
    {"p": "name-p"},
    (),
    "TASK_STATE_COMPLETED",
)
KINDS = ("repeats", "rechunks", "renames", "diverges", "hangs")
#: The first cut of the words that makes few events of both scripts.
FIRST_CUT = 21
#: So long after an event was told it is durable, and the next one is not yet told.
DURABLE_MS = 16
#: Who crashes, how long after it was told.
BLOWS = (("agent", 0), ("agent", DURABLE_MS), ("sidecar", 0), ("sidecar", DURABLE_MS), ("both", 0))


class Crash(NamedTuple):
    """One case.

    Attributes:
        at: number of the event of the first run.
        late_ms: how long after it was told.
        who: crashes.
        checkpoint: number of the event that carries one, -1 for none.
        kind: of the runs that follow.
    """

    at: int
    late_ms: int
    who: str
    checkpoint: int
    kind: str


class Telling(Doer):
    """A run whose cuts are its own, and the first of which crashes."""

    def __init__(self, story: CrashAtEvent, *args: Any) -> None:
        super().__init__(*args)
        self.story = story
        self.number, self.events = len(story.models), 0
        self.resumed = self.state != Doing()
        story.models.append(self)
        self.rng = random.Random(story.seed + (self.number if story.crash.kind != "repeats" else 0))

    def step(self) -> tuple[Json, Json | None] | None:
        told = super().step()
        if told is None:
            return None
        event, saved = told[0], None
        if self.number == 0:
            saved = self.checkpoint() if self.events == self.story.crash.checkpoint else None
            if self.events == self.story.crash.at:
                self.story.soon("the crash", self.story.strike, us=self.story.crash.late_ms * MS)
        self.events += 1
        return event, saved


class CrashAtEvent(Story):
    """One case."""

    def __init__(self, seed: int, script: Script, crash: Crash) -> None:
        super().__init__(seed, Options(voters=1, sidecars=2, pace_ms=20, safety_ms=8_000), script)
        self.seed, self.crash = seed, crash
        self.models: list[Telling] = []
        work = self.world.works[TASK]
        work.ids, work.sends_task, work.checkpoints = "stable", False, 0
        if crash.kind == "renames":
            work.ids = "renamed"
        work.deterministic = crash.kind != "diverges"
        work.doer = partial(Telling, self)

    def begin(self) -> None:
        self.client(self.world.sidecars[0], Client)

    def begins(self, hand: Hand, shown: object, resumed: Resumed) -> None:
        if self.models and self.crash.kind == "hangs" and not self.fired["hung"]:
            self.hit("hung")
            self.soon("it will hang", self._hang, hand, us=REQUEST_US + 1)

    def _hang(self, hand: Hand) -> None:
        for run in hand.car.agent.runs.values():
            run.hangs_after = 1

    def strike(self) -> None:
        """The crash, as soon as the present event is over."""
        car = self.world.sidecars[0]
        self.hit("crash")
        if self.crash.who != "sidecar":
            self.kill(car.agent)
        if self.crash.who != "agent":
            self.kill(car)

    def judge(self) -> None:
        """What is asked beyond the promises."""
        (client,) = self.world.clients
        assert self.fired["crash"] == 1
        assert client.done
        assert client.seen.status["state"] == "TASK_STATE_COMPLETED" or self.crash.kind == "diverges"
        entries = self.committed_journal()
        self.fired["run again"] += len(self.models) > 1
        self.fired["from a checkpoint"] += any(each.resumed for each in self.models[1:])
        if self.crash.kind == "diverges":
            return
        held = [each for each in client.seen.artifacts.values() if each["parts"] != [{"text": SUPERSEDED}]]
        assert sorted(map(text_of, held)) == sorted(map(text_of, self._alone().values()))
        if self.crash.who != "sidecar" and self.crash.kind in ("repeats", "rechunks", "hangs"):
            # An agent that says the same again, however it cuts it: nobody saw that there were two.
            assert not [entry for entry in entries if entry.kind is Kind.REWOUND]
            assert len(client.seen.artifacts) == len(held)

    def _alone(self) -> dict[str, Json]:
        """What one run makes that nothing befalls."""
        alone = Agent(random.Random(0), self.world.works[TASK].scripts[0], Style("stable", False, 0))
        answers = iter(self.models[-1].state.answers)
        while not alone.state.ended:
            if alone.step() is None:
                alone.answer(answer_of(next(answers), 1))
        return alone.state.made


def events_of(seed: int, script: Script) -> int:
    """How many events the first run tells."""
    told = 0
    outside: Any = None
    alone = Doer(random.Random(seed), (script, Style("stable", False, 0), Doing()), NOTHING, outside, [])
    while not alone.state.ended:
        if alone.step() is None:
            alone.answer(answer_of("<1>", 1))
        else:
            told += 1
    return told


def cases(seed: int, script: Script) -> Iterator[Crash]:
    """All of them."""
    count = events_of(seed, script)
    for at in range(count):
        for who, late_ms in BLOWS:
            if late_ms and at == count - 1:
                continue  # so long after the end it is none of the run's
            for checkpoint in range(-1, at + 1):
                yield from (Crash(at, late_ms, who, checkpoint, kind) for kind in KINDS)


def story(seed: int) -> tuple[int, Counter[str]]:
    """All cases of both scripts, with the first run's words cut in one way."""
    cut = FIRST_CUT + seed
    worlds, fired = 0, Counter[str]()
    for script in (ASKS, TELLS):
        for crash in cases(cut, script):
            told = CrashAtEvent(cut, script, crash)
            try:
                told.run()
                told.judge()
            except AssertionError as broken:
                broken.add_note(str(crash))
                raise
            worlds += 1
            fired += told.fired
    return worlds, fired


SCENARIO = Scenario(
    8, "crash at each event, each checkpoint, each kind of re-run", "crash_at_each_event", story,
    ("crash", "run again", "from a checkpoint", "event swallowed", "rewound", "answer replayed", "reattached",
     "hung"),
    1,
)  # fmt: skip


def test_a_crash_at_each_event_leaves_the_client_with_the_task() -> None:
    happened = play(SCENARIO, range(SCENARIO.seeds))
    assert not happened.missing(SCENARIO)
    assert happened.fired["crash"] == happened.worlds == 1_235
