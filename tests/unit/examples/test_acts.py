"""What decides an act: on whom the blow falls, that it never falls too late, and what its traces must be."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from a2a.types import StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent

from examples.demo import client
from examples.demo.act_census import check_fetches
from examples.demo.cast import DRAIN, KILL_AGENT, KILL_BOTH, Blow, Cast, Side
from examples.demo.client import Seen
from examples.demo.display import Plain
from examples.demo.evidence import Evidence
from examples.demo.ledger import check_claims
from examples.demo.stage import FATES, Actor, Stage
from examples.demo.takeover import GRACE_S, Piece, Scene, play, strike
from sidecar.config import Config


class Puppet(Actor):
    """An actor without a process."""

    pid = 0
    status = None

    def __init__(self, name: str) -> None:
        self.name, self.url, self.fate, self.home = name, "http://nowhere", "", None
        self.said: dict[str, list[float]] = {"received": [], "ended": []}
        self.signals: list[int] = []

    def announced(self, what: str) -> list[float]:
        return self.said[what]

    def strike(self, number: signal.Signals) -> float:
        self.signals.append(number)
        self.fate = FATES[number]
        return time.monotonic()

    def stop(self) -> None:
        assert self.fate

    def says(self, what: str) -> None:
        self.said[what].append(time.monotonic())


class EmptyStage(Stage):
    """Nothing has to be waited for."""

    async def ready(self, *actors: Actor) -> None:
        del actors


def set_up(directory: Path, blow: Blow, *, gateway: bool = False) -> tuple[Scene, list[Puppet]]:
    puppets = [Puppet(name) for name in ("g agent A", "g sidecar A", "g agent B", "g sidecar B")]
    sides = Side("A", *puppets[:2]), Side("B", *puppets[2:])
    evidence = Evidence()
    cast = Cast(sides, Puppet("g gateway") if gateway else None)
    return Scene(EmptyStage(directory), Plain(), evidence, evidence.act("one"), cast, blow), puppets


def kept(scene: Scene) -> list[bool]:
    return [check.kept for check in scene.act.checks]


@pytest.mark.parametrize(
    ("blow", "signals"),
    [
        (KILL_AGENT, ([signal.SIGKILL], [])),
        (KILL_BOTH, ([signal.SIGKILL], [signal.SIGKILL])),
        (DRAIN, ([], [signal.SIGTERM])),
    ],
)
def test_the_blow_falls_on_the_side_at_work(
    tmp_path: Path, blow: Blow, signals: tuple[list[int], list[int]]
) -> None:
    scene, (agent_a, sidecar_a, agent_b, sidecar_b) = set_up(tmp_path, blow, gateway=True)
    agent_b.says("received")
    assert strike(scene)
    assert (agent_b.signals, sidecar_b.signals) == signals
    assert (agent_a.signals, sidecar_a.signals) == ([], [])
    assert scene.side is scene.cast.sides[1]


def test_it_never_falls_on_an_agent_that_has_ended(tmp_path: Path) -> None:
    scene, (agent, *_) = set_up(tmp_path, KILL_AGENT)
    agent.says("received")
    agent.says("ended")
    assert not strike(scene)
    assert scene.struck is None
    assert not agent.signals


async def test_a_client_that_was_too_slow_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, (agent_a, _, agent_b, _) = set_up(tmp_path, KILL_AGENT)
    befores: list[int] = []

    async def stream(_: str, text: str, seen: Seen, on_event: Callable[[], None]) -> None:
        agent_a.says("received")
        late = len(befores) == 1
        if late:
            agent_a.says("ended")
        seen.take(status(TaskState.TASK_STATE_WORKING))
        on_event()
        if not late:
            agent_b.says("received")
            async with asyncio.timeout(5):
                while scene.called is None:
                    await asyncio.sleep(0.001)
        seen.take(status(TaskState.TASK_STATE_COMPLETED))
        on_event()

    async def before() -> None:
        befores.append(len(befores))

    monkeypatch.setattr(client, "stream", stream)
    await play(scene, Piece("go", lambda seen: bool(seen.times), lambda seen: None, before))
    assert len(befores) == 2
    assert agent_a.signals == [signal.SIGKILL]
    assert kept(scene) == [True, True, True]
    assert 0 <= scene.act.facts["kill_to_standby_ms"] <= scene.act.facts["kill_to_next_event_ms"]


def status(state: TaskState) -> StreamResponse:
    return StreamResponse(status_update=TaskStatusUpdateEvent(task_id="t", status=TaskStatus(state=state)))


def claims(*owners: str) -> list[dict[str, object]]:
    return [{"n": n, "session": f"s{n}", "owner": owner} for n, owner in enumerate(owners, 1)]


@pytest.mark.parametrize(
    ("gateway", "owners", "right"),
    [
        (False, ("g-sidecar-A", "g-sidecar-B"), True),
        (True, ("g-gateway", "g-sidecar-A", "g-sidecar-B"), True),
        (True, ("g-sidecar-A", "g-sidecar-B"), False),
        (False, ("g-sidecar-A", "g-sidecar-B", "g-sidecar-A"), False),
        (False, ("g-sidecar-B", "g-sidecar-A"), False),
        (False, ("g-sidecar-A",), False),
    ],
)
def test_claims_are_by_whom_they_should_be(
    tmp_path: Path, gateway: bool, owners: tuple[str, ...], right: bool
) -> None:
    scene, (agent, *_) = set_up(tmp_path, KILL_AGENT, gateway=gateway)
    agent.says("received")
    strike(scene)
    check_claims(scene, claims(*owners))
    assert kept(scene) == [right]


def test_a_fence_that_does_not_rise_is_seen(tmp_path: Path) -> None:
    scene, (agent, *_) = set_up(tmp_path, KILL_AGENT)
    agent.says("received")
    strike(scene)
    check_claims(scene, [each | {"n": 1} for each in claims("g-sidecar-A", "g-sidecar-B")])
    assert kept(scene) == [False]


PAGES = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("blow", "twice", "right"),
    [
        (KILL_AGENT, "", [True, True]),
        (KILL_AGENT, "c", [True, True]),
        (KILL_AGENT, "cd", [True, False]),
        (KILL_BOTH, "cd", [True, True]),  # one at the page server, one between agent and journal
        (KILL_BOTH, "d", [True, False]),  # not what was on its way
        (KILL_BOTH, "ccd", [True, False]),  # three times
        (KILL_BOTH, "b", [False, True]),
        (DRAIN, "c", [True, True]),
        (DRAIN, "ac", [False, True]),
    ],
)
def test_fetches_are_counted_alike_in_all_acts(tmp_path: Path, blow: Blow, twice: str, right: list[bool]) -> None:
    scene, _ = set_up(tmp_path, blow)
    urls = [f"http://pages/{name}.html" for name in PAGES]
    check_fetches(scene, urls, Counter([*PAGES, *twice]), covered=2)
    assert kept(scene) == right


def test_the_grace_is_the_products_own() -> None:
    assert {field.name: field.default for field in fields(Config)}["drain_s"] == GRACE_S
