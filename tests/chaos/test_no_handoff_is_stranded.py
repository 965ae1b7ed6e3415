"""Every state that a handoff can be left in, under an owner that died and under one that forgot it: work goes on.

The journals are written straight to the store, so no memory of a process helps: only what is durable counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from bridge.handoff import FINAL, Handoff, State
from bridge.journal import Kind
from sidecar.runtime.supervisor import SWEEP_OWN_S
from tests.chaos.written import Journal, write_all
from tests.integration.stage import Stage, wait_for

pytestmark = pytest.mark.chaos
GROUP = "test input"
DONE, ASKED = "questions=0", "questions=1"
Leave = Callable[[Journal, str], Journal]


def running(journal: Journal, url: str) -> Journal:
    return journal.claimed().bound(url, "forgotten").shown("SUBMITTED").shown("WORKING")


def waiting(journal: Journal, url: str) -> Journal:
    asked = running(journal, url).shown("INPUT_REQUIRED", "question 1 of 1?")
    return asked.add(Kind.SUSPENDED, state="TASK_STATE_INPUT_REQUIRED")


def lost(journal: Journal, url: str) -> Journal:
    return running(journal, url).add(Kind.ORPHANED, reason="agent_gone", by="x")


def in_review(journal: Journal, url: str) -> Journal:
    return running(journal, url).add(Kind.REVIEW, reason="no_progress", detail="")


def ended(kind: Kind) -> Leave:
    if kind is Kind.REPLY:
        return lambda journal, url: journal.claimed().bound(url).add(kind, error={"code": -1, "message": "no"})
    if kind is Kind.EXPIRED:
        return lambda journal, url: journal.claimed().add(kind, error={"code": -1, "message": "no"})
    return lambda journal, url: running(journal, url).shown(kind.value.upper(), "so it is", kind)


def answered(leave: Leave) -> Leave:
    return lambda journal, url: leave(journal, url).input("blue")


def canceled(leave: Leave) -> Leave:
    return lambda journal, url: leave(journal, url).add(Kind.CANCEL, by="anonymous", metadata={})


def told(leave: Leave) -> Leave:
    return lambda journal, url: leave(journal, url).add(Kind.ANSWERED, messageId="m", generation=0)


LEFT: dict[str, tuple[str, Leave, State]] = {
    # name: what the client wanted, how it was left, where it must end
    "claimed": (DONE, lambda journal, url: journal.claimed(), State.COMPLETED),
    "bound and not asked": (DONE, lambda journal, url: journal.claimed().bound(url), State.COMPLETED),
    "bound elsewhere": (
        DONE, lambda journal, url: running(journal, "http://127.0.0.1:9"), State.COMPLETED
    ),
    "running": (DONE, running, State.COMPLETED),
    "running, answered": (DONE, told(running), State.COMPLETED),
    "orphaned": (DONE, lost, State.COMPLETED),
    "orphaned and claimed again": (DONE, lambda journal, url: lost(journal, url).claimed(), State.COMPLETED),
    "suspended": (ASKED, waiting, State.SUSPENDED),
    "suspended with an answer": (ASKED, answered(waiting), State.COMPLETED),
    "answer given, outcome unknown": (
        ASKED, lambda journal, url: answered(waiting)(journal, url).bound(url, "forgotten"), State.COMPLETED
    ),
    "review": (DONE, in_review, State.REVIEW),
    "review, resolved": (
        DONE, lambda journal, url: in_review(journal, url).add(Kind.RESOLVED, by="operator"), State.COMPLETED
    ),
    "claimed, to be canceled": (DONE, canceled(lambda journal, url: journal.claimed()), State.CANCELED),
    "running, to be canceled": (DONE, canceled(running), State.CANCELED),
    "orphaned, to be canceled": (DONE, canceled(lost), State.CANCELED),
    "suspended, to be canceled": (ASKED, canceled(waiting), State.CANCELED),
    "review, to be canceled": (DONE, canceled(in_review), State.CANCELED),
    **{f"{state}": (DONE, ended(Kind(state.value)), state) for state in FINAL},
    **{f"{state}, answered": (DONE, told(ended(Kind(state.value))), state) for state in FINAL},
}  # fmt: skip


def left(url: str, session: str) -> dict[str, Journal]:
    return {name: leave(Journal(text, GROUP, "a", session), url) for name, (text, leave, _) in LEFT.items()}


async def all_end(stage: Stage, journals: dict[str, Journal], deadline_s: float) -> None:
    """Everything ends where it must, nothing that is over or waits is touched, and no run is begun twice."""

    async def state(name: str) -> Handoff:
        return Handoff.fold(journals[name].task, await stage.journal(journals[name].task))

    async def arrived() -> bool:
        return all([(await state(name)).state is LEFT[name][2] for name in journals])

    before = {name: await state(name) for name in journals}
    try:
        await wait_for(arrived, deadline_s)
    except AssertionError as late:
        wrong = {
            name: await stage.kinds(journals[name].task)
            for name in journals
            if (await state(name)).state is not LEFT[name][2]
        }
        raise AssertionError(f"stranded: {wrong}") from late
    for name, journal in journals.items():
        after, kinds = await state(name), await stage.kinds(journal.task)
        if before[name].state is LEFT[name][2]:
            assert after.tip == before[name].tip, f"{name} was touched: {kinds}"
        else:
            assert after.attempts - before[name].attempts <= 1, (name, kinds)
    await stage.verify()


def sessions(stage: Stage) -> list[str]:
    with sqlite3.connect(f"file:{stage.store}-sessions?mode=ro", uri=True) as file:
        found = [row[0] for row in file.execute("SELECT session FROM sessions WHERE name = 'a' ORDER BY boot")]
    file.close()
    return found


def test_every_state_is_among_those_that_are_left() -> None:
    found = {journal.handoff().state for journal in left("http://127.0.0.1:9", "s").values()}
    assert found == set(State) - {State.ABSENT, State.DISPATCHED}  # a dispatch and its claim are one append


async def test_nothing_that_a_dead_owner_left_is_stranded(stage: Stage) -> None:
    agent = stage.agent("input")
    await stage.ready(agent)
    journals = left(agent.url, "5" * 32)
    await write_all(stage.store, list(journals.values()))
    stage.sidecar(agent, "a")
    await all_end(stage, journals, 15)
    runs = sum(1 for text, _, end in LEFT.values() if end is State.COMPLETED and text in (DONE, ASKED))
    assert len(agent.journal()) <= runs + 2  # an answered question is asked again, and then answered


async def test_nothing_that_an_owner_has_forgotten_is_stranded(stage: Stage) -> None:
    """The owner lives and renews its session, but nothing in its memory drives these handoffs."""
    agent = stage.agent("input")
    a = stage.sidecar(agent, "a")
    await stage.ready()
    journals = left(agent.url, sessions(stage)[-1])
    await write_all(stage.store, list(journals.values()))
    await all_end(stage, journals, 3 * SWEEP_OWN_S)
    assert a.alive


async def test_nothing_that_came_to_a_gateway_is_stranded(stage: Stage) -> None:
    """A living gateway owns it, has no agent and never will: whoever has one gets what has to be run."""
    agent = stage.agent("input")
    a = stage.gateway("a", group=GROUP)
    stage.sidecar(agent, "b")
    await stage.ready()
    journals = left(agent.url, sessions(stage)[-1])
    await write_all(stage.store, list(journals.values()))
    await all_end(stage, journals, 4 * SWEEP_OWN_S)
    assert a.alive


@pytest.mark.slow
async def test_what_was_left_waits_for_an_agent_that_comes_late(stage: Stage) -> None:
    agent = stage.agent("input")
    await stage.ready(agent)
    agent.kill()
    journals = left(agent.url, "5" * 32)
    await write_all(stage.store, list(journals.values()))
    a = stage.sidecar(agent, "a", group=GROUP)
    await wait_for(lambda: stage.reasons(a))
    ends = [journals[name].task for name, (_, _, end) in LEFT.items() if end is State.CANCELED]
    await wait_for(lambda: _are(stage, ends, State.CANCELED), 15)  # that needs no agent
    waits = journals["orphaned"].task
    assert await _are(stage, [waits], State.ORPHANED)
    await stage.restart(agent)
    await all_end(stage, journals, 15)


async def _are(stage: Stage, tasks: list[str], state: State) -> bool:
    return all([Handoff.fold(task, await stage.journal(task)).state is state for task in tasks])
