"""One random case of the promises: an agent told, killed, told again; a client that folds what it is shown.

    python -m tests.unit.a2a.reconcile_cases N [SEED]

runs N cases and prints the failing seeds. Nothing here uses the rules under test but ``Run`` and ``Shown``
themselves: the client is a fold of its own, the truth is the agents'.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from typing import Any

from bridge.a2a.extension import NO_MARKS, Marks
from bridge.a2a.fold import TaskFold
from bridge.a2a.reconcile import Finish, Outcome, Replay, Rewind, Run, Show, Suspend, drafts
from bridge.a2a.remade import Remade
from bridge.a2a.shown import Shown
from bridge.journal import Draft, Entry, Fence, Kind, chain, tip_of
from bridge.jsontext import write
from tests.unit.a2a.model_agents import Agent, Style
from tests.unit.a2a.model_client import (
    Client,
    Limit,
    answer_of,
    flat,
    view,
)
from tests.unit.a2a.model_promises import HAPPENED, promise_exact, promise_one, promise_two
from tests.unit.a2a.model_scripts import State, divergent, random_script

Json = dict[str, Any]
FAULTS = (AssertionError, LookupError, TypeError, ValueError, AttributeError, StopIteration)


class Case:
    """A task's life."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.deterministic = rng.random() < 0.6
        self.script = random_script(rng, auth=rng.random() < 0.15)
        ids = rng.choice(["stable", "stable", "uuid"] if self.deterministic else ["stable", "uuid", "renamed"])
        self.style = Style(ids, rng.random() < 0.5, rng.choice([0, 0, 0.15, 0.5]))
        self.entries: list[Entry] = []
        self.fence = Fence(1, "s")
        self.client = Client()
        self.late: Client | None = None
        self.fold = TaskFold()
        self.shown = Shown()
        self.answers: list[str] = []
        self.missed = False
        self.passed_over = False  # a snapshot of another run moves past statuses that this run may not have told
        self.rebuilt = False  # replace counts and the place in a repeat are not journalled between steps
        self.rewinds: list[Rewind] = []
        self.finished = False

    def run(self) -> None:
        kills = self.rng.randint(0, 3)
        script = self.script
        for attempt in range(kills + 1):
            HAPPENED["runs"] += 1
            self.style.number = attempt
            self._refold()
            run = Run(self.shown, fresh=attempt == 0, seed=self._seed())
            self._record(Kind.BOUND, {"endpoint": "e", "task": "T", "context": "C", "fresh": True})
            cut = self.shown.cut
            state = State(**copy.deepcopy(cut.state)) if cut and not run.fresh else None
            if attempt and not self.deterministic:
                script = divergent(self.rng, script, state)
            agent = Agent(self.rng, script, self.style, state)
            steps = self.rng.randint(0, 14) if attempt < kills else 10**6
            self.style.polled = self.rng.random() < 0.05
            if self._live(run, agent, steps):
                self._refold()
                promise_one(self, agent)
                return
            HAPPENED["kills"] += 1
            HAPPENED["killed holding"] += any(each.match and each.match.diverged for each in made_by(run))
        raise AssertionError("the last run did not end")

    def _live(self, run: Run, agent: Agent, steps: int) -> bool:
        """One run. True: it reached its end; False: it was killed."""
        if run.owed is not None and agent.state.waiting:
            HAPPENED["owed"] += 1
            agent.answer(run.owed["message"])
        for _ in range(steps):
            if agent.state.waiting:
                assert self.shown.open, "the agent waits for ever"
                agent.answer(self._client_answers())
            if self.style.polled or self.rng.random() < 0.04:
                run = self._restart_sidecar(run, agent)
            else:
                step = agent.step()
                if step is not None:
                    event, saved = step
                    before = copy.deepcopy(event)
                    self._take(run.receive(event, NO_MARKS if saved is None else Marks(saved)), agent, event)
                    assert event == before, "the agent's event was changed"
            if self.finished:
                return True
        return False

    def _restart_sidecar(self, run: Run, agent: Agent) -> Run:
        """The agent lives on; what it says meanwhile is missed, a snapshot of its task makes up for it."""
        HAPPENED["reattached"] += 1
        if self.rng.random() < (0.1 if self.style.polled else 0.6):
            self._refold()
            run = Run(self.shown, fresh=run.fresh, reattached=True, seed=self._seed())
            self.rebuilt = self.rebuilt or not run.fresh
        before = copy.deepcopy(agent.state.made)
        for _ in range(self.rng.randint(0, 4)):
            if agent.step() is None:
                break
            self.missed = True
        self._limits(before, agent.state.made, agent.state.ids)
        self.passed_over = self.passed_over or not (run.fresh or self.deterministic)
        self._take(run.snapshot(agent.task()), agent, None)
        if agent.state.waiting and not self.shown.open and self.shown.questions[-1].answer:
            # Recorded, but the sidecar that should have passed it on is gone.
            agent.answer(self.shown.questions[-1].answer["message"])
        if not self.finished:
            assert run.snapshot(agent.task()) == [], "a snapshot that says nothing new shows nothing"
        return run

    def _limits(self, before: Json, after: Json, ids: dict[str, str]) -> None:
        """A replacement that nobody saw and that begins like what it replaced looks like an older snapshot."""
        earlier = [(key, made["parts"]) for key, made in before.items()]
        if self.rebuilt and self.shown.cut:
            keys = {own: key for key, own in ids.items()}
            earlier += [(keys[each.agent], each.parts()) for each in self.shown.cut.artifacts]
        for key, parts in earlier:
            now, then = flat(after[key]["parts"]), flat(parts)
            if len(now) < len(then) and then[: len(now)] == now:
                raise Limit

    def _client_answers(self) -> Json:
        text = f"<{len(self.answers)}{self.rng.choice('xyz')}>"
        self.answers.append(text)
        body = {"id": f"i{len(self.answers)}", "digest": "0", "message": answer_of(text, len(self.answers))}
        self._record(Kind.INPUT, body)
        return answer_of(text, len(self.answers))

    def _record(self, kind: Kind, body: Json) -> None:
        self.shown.apply(kind, body)
        self._journal([Draft(kind, write(body))])

    def _take(self, outcomes: list[Outcome], agent: Agent, event: Json | None) -> None:
        self._journal(drafts(outcomes))
        rewound: str | None = None
        for outcome in outcomes:
            HAPPENED[type(outcome).__name__] += 1
            if isinstance(outcome, Rewind):
                self.rewinds.append(outcome)
                rewound = outcome.artifact
            elif isinstance(outcome, Show | Finish):
                promise_two(self, outcome, event, rewound)
                self.client.see(outcome.event)
                self.fold.apply(outcome.event)
                if self.late is not None:
                    self.late.see(outcome.event)
                promise_exact(self, outcome, agent)
                rewound = None
            elif isinstance(outcome, Replay):
                agent.answer(outcome.message["message"])
            elif isinstance(outcome, Suspend):
                assert agent.state.waiting
            self.finished = self.finished or isinstance(outcome, Finish)
        if self.late is None and self.client.status and self.rng.random() < 0.1:
            self.late = Client(copy.deepcopy(self.fold.task()))
        if event and outcomes == [] and "artifactUpdate" in event:
            HAPPENED["swallowed"] += 1

    def _refold(self) -> None:
        """Promise three: the journal says what memory says."""
        folded = Shown.fold(self.entries)
        memory = json.loads(json.dumps(view(self.shown)))
        for name, value in view(folded).items():
            assert memory[name] == value, f"{name}: the journal says {value}, memory says {memory[name]}"
        self.shown = folded

    def _journal(self, more: list[Draft]) -> None:
        self.entries += chain(tip_of("T", self.entries), self.fence, 0, more)

    def _seed(self) -> Json:
        return {
            "id": "T",
            "contextId": "C",
            "status": {"state": "TASK_STATE_SUBMITTED"},
            "history": [{"messageId": "u", "role": "ROLE_USER", "parts": [{"text": "go"}]}],
        }


def made_by(run: Run) -> list[Remade]:
    return [*run._made.made.values()] if run._made else []


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    count = int(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failures: list[int] = []
    began = time.monotonic()
    for seed in range(first, first + count):
        try:
            Case(random.Random(seed)).run()
        except Limit:
            HAPPENED["limits"] += 1
        except FAULTS as error:
            failures.append(seed)
            if len(failures) <= 5:
                say(f"seed {seed}: {type(error).__name__}: {error}")
    took = time.monotonic() - began
    say(f"{count} cases from seed {first} in {took:.1f} s ({count / took:.0f}/s), {len(failures)} failed")
    say(f"failed: {failures[:20]} happened: {dict(sorted(HAPPENED.items()))}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
