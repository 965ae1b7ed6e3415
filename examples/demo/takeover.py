"""What both acts have in common: two agents, two sidecars, one client, one SIGKILL, and the clock beside it.

Knows the order of things, not what an agent writes. It prevents an act from measuring something else than it says:
all times come from one monotonic clock that every process on this machine shares.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from examples.demo import client
from examples.demo.client import Seen
from examples.demo.display import Display
from examples.demo.evidence import Act, Evidence, journal_facts
from examples.demo.stage import Actor, Stage

STREAM_S: Final = 20.0
"""A takeover that has not finished the task after this long has failed."""

LOOK_S: Final = 0.005


@dataclass(slots=True)
class Pair:
    """An agent and its standby, each with its sidecar; the client talks to the first sidecar only.

    Attributes:
        agent, standby: the agents.
        sidecar, other: the sidecar beside each.
        url, other_url: their addresses for clients.
    """

    agent: Actor
    standby: Actor
    sidecar: Actor
    other: Actor
    url: str
    other_url: str

    def all(self) -> tuple[Actor, ...]:
        """Everybody."""
        return (self.agent, self.standby, self.sidecar, self.other)

    def cast(self) -> dict[str, str]:
        """Who is how, for the display."""
        left = {"sidecar A": self.sidecar, "agent A": self.agent}
        right = {"sidecar B": self.other, "agent B": self.standby}
        return {
            name: f"pid {actor.pid}" if actor.alive else f"killed (was pid {actor.pid})"
            for name, actor in (left | right).items()
        }


@dataclass(slots=True)
class Scene:
    """One act's stage: everything that its code needs.

    Attributes:
        stage, display, evidence, act: where things run, are shown and are written down.
        pair: agents and sidecars.
        seen: what the client saw.
        killed: monotonic time of the SIGKILL, None before it.
        called: when the standby got the task.
        shown: when the client got its next event.
        moved: set once the takeover is seen at the client.
    """

    stage: Stage
    display: Display
    evidence: Evidence
    act: Act
    pair: Pair
    seen: Seen = field(default_factory=Seen)
    killed: float | None = None
    called: float | None = None
    shown: float | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def since_kill(self, moment: float) -> float:
        """Milliseconds from the SIGKILL to a moment."""
        return round((moment - (self.killed or moment)) * 1000, 1)

    def note(self, who: str, what: str, at: float | None = None) -> None:
        """Write down and show."""
        self.display.note(self.evidence.note(who, what, at))


def cast_pair(stage: Stage, module: str, group: str, *arguments: str) -> Pair:
    """Start two agents of a kind and a sidecar beside each, all at once."""
    agent, agent_url = stage.agent(f"{group} agent A", module, *arguments)
    standby, standby_url = stage.agent(f"{group} agent B", module, *arguments)
    sidecar, url = stage.sidecar(f"{group} sidecar A", agent_url, group)
    other, other_url = stage.sidecar(f"{group} sidecar B", standby_url, group)
    return Pair(agent, standby, sidecar, other, url, other_url)


async def play(scene: Scene, message: str, due: Callable[[Seen], bool], progress: Callable[[Seen], None]) -> None:
    """Stream one task, kill its agent when it is due, and follow the stream to its end.

    Args:
        scene: gets ``seen``, the moments of the takeover and its facts.
        message: what the client asks.
        due: whether it is time to kill.
        progress: shows how far the client is.
    """
    pair, seen = scene.pair, scene.seen
    await scene.stage.ready(*pair.all())
    scene.display.cast(pair.cast())
    scene.note("client", "connects to sidecar A and sends one message")

    def on_event() -> None:
        progress(seen)
        if scene.killed is None and due(seen):
            scene.killed = pair.agent.kill()
            scene.note("agent A", f"SIGKILL to pid {pair.agent.pid}", scene.killed)
            scene.display.cast(pair.cast())
        look_for_event(scene)

    watcher = asyncio.create_task(look_for_call(scene))
    fault = ""
    try:
        async with asyncio.timeout(STREAM_S):
            await client.stream(pair.url, message, seen, on_event)
    except TimeoutError:
        fault = f"not finished after {STREAM_S:.0f} s"
    except Exception as failure:  # noqa: BLE001 - whatever the client met is the finding
        fault = f"{type(failure).__name__}: {failure}"
    finally:
        watcher.cancel()
    scene.note("client", f"stream broke: {fault}" if fault else "stream ended")
    stream = f"{len(seen.times)} events, longest silence {seen.longest_silence():.2f} s"
    scene.act.check("the client's one stream stayed open to the end", not fault, fault or stream)
    judge(scene)


async def look_for_call(scene: Scene) -> None:
    """Wait for the standby to write down that it got the task; returns then."""
    while scene.called is None:
        await asyncio.sleep(LOOK_S)
        if scene.killed is not None:
            killed = scene.killed
            scene.called = next((at for at in scene.pair.standby.received() if at > killed), None)
    scene.act.facts["kill_to_standby_ms"] = scene.since_kill(scene.called)
    scene.note("agent B", f"gets the task, {scene.since_kill(scene.called)} ms after the SIGKILL", scene.called)
    look_for_event(scene)


def look_for_event(scene: Scene) -> None:
    """Note the first event that the client got after the standby was called."""
    if scene.called is None or scene.shown is not None:
        return
    scene.shown = scene.seen.after(scene.called)
    if scene.shown is not None:
        scene.moved.set()
        scene.act.facts["kill_to_next_event_ms"] = scene.since_kill(scene.shown)
        scene.note("client", f"next event, {scene.since_kill(scene.shown)} ms after the SIGKILL", scene.shown)


def judge(scene: Scene) -> None:
    """Whether there was a takeover, and only one."""
    act, pair = scene.act, scene.pair
    runs = (len(pair.agent.received()), len(pair.standby.received()))
    act.facts["messages_to_agents"] = {"A": runs[0], "B": runs[1]}
    act.facts["longest_silence_ms"] = round(scene.seen.longest_silence() * 1000)
    act.check("each agent was called once", runs == (1, 1), f"A {runs[0]}, B {runs[1]}")
    if scene.killed is None:
        seen = "the task ended before it was time to kill"
    elif scene.called is None:
        seen = "agent B never got a message"
    elif scene.shown is None:
        seen = "the client heard nothing more"
    else:
        seen = (
            f"agent B called after {scene.since_kill(scene.called)} ms, "
            f"client's next event after {scene.since_kill(scene.shown)} ms"
        )
    act.check("the standby took over", scene.shown is not None, seen)


async def read_journal(scene: Scene) -> dict[str, Any]:
    """Verify and export the task's journal with the command line, and write down what they say."""
    act, task = scene.act, scene.seen.task_id
    if not task:
        act.check("the journal verifies", kept=False, seen="the client never learnt a task id")
        return {}
    (status, verdict, said), (_, export, _) = await asyncio.gather(
        scene.stage.ask("verify", task, "--json"), scene.stage.ask("export", task)
    )
    act.journal = facts = {"task": task, **journal_facts(export)}
    told = json.loads(verdict) if verdict.strip() else {}
    same = told.get("hash") == facts["hash"]
    act.check(
        "the journal verifies and its export ends in the same hash",
        status == 0 and bool(told.get("ok")) and same,
        said or f"{facts['entries']} entries, chain ends in {facts['hash'][:16]}…",
    )
    fences = [(fence["n"], fence["session"]) for fence in facts["fences"]]
    owners = [str(fence["owner"]) for fence in facts["fences"]]
    grows = len(fences) == 2 and fences[0][0] < fences[1][0] and fences[0][1] != fences[1][1]
    numbers = " → ".join(f"{n} ({owner})" for (n, _), owner in zip(fences, owners, strict=True))
    act.check("ownership moved once, to a higher fence of another session", grows, numbers or "no claim")
    return facts
