"""What must be true of a task's life, whatever happened in it: the promises of 5-reconcile.md."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from bridge.a2a.outcomes import Finish, Show
from bridge.a2a.remaking import SUPERSEDED
from tests.unit.a2a.model_agents import Agent, Style, said
from tests.unit.a2a.model_client import answer_of, said_status, squeezed, text_of, trimmed
from tests.unit.a2a.model_scripts import State

if TYPE_CHECKING:
    from tests.unit.a2a.reconcile_cases import Case

Json = dict[str, Any]
#: How often each thing that the promises are about really happened: a case that never happens proves nothing.
HAPPENED: Counter[str] = Counter()


def promise_two(case: Case, outcome: Show | Finish, event: Json | None, rewound: str | None) -> None:
    """Nothing is shown again unless a rewind says so: a replacement is the agent's own, or announced."""
    update = outcome.event.get("artifactUpdate")
    if update is None:
        return
    public = update["artifact"]["artifactId"]
    if public in case.client.artifacts and not update.get("append"):
        own = event is None or not event.get("artifactUpdate", {"append": True}).get("append")
        assert own or rewound == public, "replaced without a record"


def promise_exact(case: Case, outcome: Show | Finish, agent: Agent) -> None:
    """Whenever an artifact is shown, clients then hold exactly what this run has made of it."""
    update = outcome.event.get("artifactUpdate")
    if update is None or not isinstance(outcome, Show):
        return
    public = update["artifact"]["artifactId"]
    if case.client.artifacts[public]["parts"] == [{"text": SUPERSEDED}]:
        HAPPENED["superseded"] += 1
        return
    agent_id = outcome.agent or public
    key = next(key for key, own in agent.state.ids.items() if own == agent_id)
    held, made = said(case.client.artifacts[public]["parts"]), said(agent.state.made[key]["parts"])
    assert held == made, f"clients hold {held}, the run made {made}"


def promise_one(case: Case, agent: Agent) -> None:
    """The client's Task, GetTask and a late subscriber's are one; and it is what the last run made."""
    task = trimmed(case.client.task())
    assert task == trimmed(case.fold.task())
    assert case.late is None or trimmed(case.late.task()) == task
    state = agent.state
    held = [each for each in task["artifacts"] if each["parts"] != [{"text": SUPERSEDED}]]
    assert sorted(map(text_of, held)) == sorted(map(text_of, state.made.values()))
    assert said_status(task["status"]) == state.told[-1]
    if not case.missed:
        # A snapshot does not say which chunk was the last: one that was swallowed before a restart is not known.
        closed = sum(case.client.closed[each["artifactId"]] for each in held)
        assert case.rebuilt or closed >= sum(each["closed"] for each in state.made.values())
        told = [said_status(status) for status in case.shown.statuses]
        if case.deterministic and not case.script.auth and not case.rebuilt:
            assert told == state.told
        _statuses(case, told, state.told)
    if case.deterministic:
        _deterministic(case, state, held)


def _statuses(case: Case, shown: list[list[str]], told: list[list[str]]) -> None:
    # Replayed questions need not be told again, nor statuses without words, except by an agent that repeats itself
    # while its sidecar lives.
    wordless = case.deterministic and not case.rebuilt
    shown, told = (_worded(shown, wordless=wordless), _worded(told, wordless=wordless))
    if case.passed_over:
        left = iter(shown)
        assert all(each in left for each in told)
    else:
        assert shown == told


def _worded(statuses: list[list[str]], *, wordless: bool) -> list[list[str]]:
    return [each for each in statuses if each[0] != "TASK_STATE_INPUT_REQUIRED" and (each[1] or wordless)]


def _deterministic(case: Case, state: State, held: list[Json]) -> None:
    """A deterministic agent's task is an uninterrupted run's."""
    alone, versions = _uninterrupted(case)
    made = alone.state.made
    assert sorted(map(text_of, made.values())) == sorted(map(text_of, held))
    assert alone.state.told == state.told
    if not case.script.auth:
        # However often it was read from its Task, which does not show statuses without words: no word comes twice.
        told = iter(_worded(state.told, wordless=False))
        assert all(each in told for each in _worded(case.client.log, wordless=False))
    if case.missed or case.rebuilt:
        return
    if not case.script.auth:
        assert case.client.log == state.told
        assert not [each for each in case.rewinds if each.status is not None]
    names = [case.script.names.get(key) for key in made]
    if case.style.ids == "uuid" and len({*names}) < len(names):
        return
    assert len(held) == len(case.client.artifacts)
    assert not [each for each in case.rewinds if each.artifact is not None]
    for key in made if case.style.ids == "stable" else ():
        mine = [*case.client.versions.get(key, []), said(case.client.artifacts[key]["parts"])]
        theirs = [*versions.get(key, []), said(made[key]["parts"])]
        assert squeezed(mine) == squeezed(theirs), "a version was shown twice, or not at all"


def _uninterrupted(case: Case) -> tuple[Agent, dict[str, list[Any]]]:
    """The same script told once, with the answers that were given; and the versions its artifacts went through."""
    alone = Agent(random.Random(0), case.script, Style("stable", False, 0))
    versions: dict[str, list[Any]] = {}
    answers = iter(case.answers)
    while not alone.state.ended:
        if alone.state.waiting:
            alone.answer(answer_of(next(answers), 0))
            continue
        before = {key: said(each["parts"]) for key, each in alone.state.made.items()}
        event, _ = alone.step() or ({}, None)
        update = event.get("artifactUpdate")
        if update and not update.get("append") and update["artifact"]["artifactId"] in before:
            key = update["artifact"]["artifactId"]
            versions.setdefault(key, []).append(before[key])
    assert next(answers, None) is None, "a client was asked more than an uninterrupted run asks"
    return alone, versions
