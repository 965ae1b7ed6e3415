"""What all acts have in common: one client, one blow in the middle of the work, and the clock beside it.

Knows the order of things, not what an agent writes. It prevents an act from measuring something else than it says:
all times come from one monotonic clock that every process on this machine shares. And it prevents a blow that
falls too late: if a slow machine lets the client see the middle when the agent has ended already, the client asks
again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from examples.demo import client
from examples.demo.cast import DRAIN, Blow, Cast, Side
from examples.demo.client import Seen
from examples.demo.display import Display
from examples.demo.evidence import Act, Evidence
from examples.demo.stage import Stage

STREAM_S: Final = 60.0
"""A task that is not finished after this long has failed, however slow the machine is."""

GRACE_S: Final = 25.0
"""How long a sidecar may take to drain: the product's own default, ``drain_s``."""

LOOK_S: Final = 0.005
TRIES: Final = 3


@dataclass(slots=True)
class Scene:
    """One act's stage: everything that its code needs.

    Attributes:
        stage, display, evidence, act: where things run, are shown and are written down.
        cast: agents, sidecars, gateway.
        blow: what will be done to the side at work.
        seen: what the client saw.
        began: when the client sent its message.
        side: the one that the blow fell on, None before it.
        struck: monotonic time of the blow, None before it.
        called: when the standby got the task.
        shown: when the client got its next event.
        gone: when the struck sidecar had ended.
        moved: set once the takeover is seen at the client.
    """

    stage: Stage
    display: Display
    evidence: Evidence
    act: Act
    cast: Cast
    blow: Blow
    seen: Seen = field(default_factory=Seen)
    began: float = 0.0
    side: Side | None = None
    struck: float | None = None
    called: float | None = None
    shown: float | None = None
    gone: float | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def since(self, moment: float) -> float:
        """Milliseconds from the blow to a moment."""
        return round((moment - (self.struck or moment)) * 1000, 1)

    def after(self, moment: float) -> str:
        """The same for people."""
        return f"{self.since(moment)} ms after the {self.blow.number.name}"

    def fact(self, what: str, moment: float) -> None:
        """Write down when something was, counted from the blow."""
        self.act.facts[f"{self.blow.fact}_to_{what}_ms"] = self.since(moment)

    def note(self, who: str, what: str, at: float | None = None) -> None:
        """Write down and show."""
        self.display.note(self.evidence.note(who, what, at))


async def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Piece:
    """What is played.

    Attributes:
        message: what the client asks.
        due: whether the client has seen enough for the blow.
        progress: shows how far the client is.
        before: done before each attempt.
    """

    message: str
    due: Callable[[Seen], bool]
    progress: Callable[[Seen], None]
    before: Callable[[], Awaitable[None]] = _nothing


async def play(scene: Scene, piece: Piece) -> None:
    """Stream one task, strike when it is due, and follow the stream to its end.

    Args:
        scene: gets ``seen``, the moments of the takeover and its facts.
        piece: what is asked, and when to strike.
    """
    await scene.stage.ready(*scene.cast.everybody())
    scene.display.cast(scene.cast.states())
    fault = ""
    for _ in range(TRIES):
        await piece.before()
        fault = await follow(scene, piece)
        if scene.struck is not None or fault:
            break
        scene.note("client", "has it all before it was time to strike: once more")
    scene.note("client", f"stream broke: {fault}" if fault else "stream ended")
    stream = f"{len(scene.seen.times)} events, longest silence {scene.seen.longest_silence():.2f} s"
    scene.act.check("the client's one stream stayed open to the end", not fault, fault or stream)
    judge(scene)


async def follow(scene: Scene, piece: Piece) -> str:
    """One message and its stream. Returns what broke it, "" if nothing did."""
    scene.seen, scene.began = Seen(), time.monotonic()
    scene.note("client", f"connects to {scene.cast.door_name} and sends one message", scene.began)
    missed = False

    def on_event() -> None:
        nonlocal missed
        piece.progress(scene.seen)
        if scene.struck is None and not missed and piece.due(scene.seen):
            missed = not strike(scene)
        look_for_event(scene)

    watcher = asyncio.create_task(watch(scene))
    try:
        async with asyncio.timeout(STREAM_S):
            await client.stream(scene.cast.door.url, piece.message, scene.seen, on_event)
        if scene.struck is not None and scene.blow is DRAIN:
            await asyncio.wait({watcher}, timeout=scene.struck + GRACE_S - time.monotonic())
    except TimeoutError:
        return f"not finished after {STREAM_S:.0f} s"
    except Exception as failure:  # noqa: BLE001 - whatever the client met is the finding
        return f"{type(failure).__name__}: {failure}"
    finally:
        watcher.cancel()
    return ""


def strike(scene: Scene) -> bool:
    """Let the blow fall on the side at work; False if none is: then it would show nothing."""
    side = next((each for each in scene.cast.sides if each.called(scene.began) and each.at_work()), None)
    if side is None:
        return False
    scene.side = side
    scene.struck, what = scene.blow.fall(side)
    scene.act.facts["events_at_blow"] = len(scene.seen.times)
    scene.note("demo", what, scene.struck)
    scene.display.cast(scene.cast.states())
    return True


async def watch(scene: Scene) -> None:
    """Look for what only shows in processes; returns when there is nothing more to look for."""
    while scene.called is None or scene.gone is None:
        await asyncio.sleep(LOOK_S)
        if scene.side is None or scene.struck is None:
            continue
        if scene.called is None:
            look_for_call(scene, scene.cast.other(scene.side), scene.struck)
        if scene.gone is None and (scene.blow is not DRAIN or scene.side.sidecar.status is not None):
            scene.gone = time.monotonic()
            if scene.blow is DRAIN:
                scene.fact("exit", scene.gone)
                told = f"exits with {scene.side.sidecar.status}, {scene.after(scene.gone)}"
                scene.note(f"sidecar {scene.side.letter}", told, scene.gone)


def look_for_call(scene: Scene, standby: Side, struck: float) -> None:
    """Note when the standby wrote down that it got the task."""
    scene.called = next(iter(standby.called(struck)), None)
    if scene.called is not None:
        scene.fact("standby", scene.called)
        scene.note(f"agent {standby.letter}", f"gets the task, {scene.after(scene.called)}", scene.called)
        look_for_event(scene)


def look_for_event(scene: Scene) -> None:
    """Note the first event that the client got after the standby was called."""
    if scene.called is None or scene.shown is not None:
        return
    scene.shown = scene.seen.after(scene.called)
    if scene.shown is not None:
        scene.moved.set()
        scene.fact("next_event", scene.shown)
        scene.note("client", f"next event, {scene.after(scene.shown)}", scene.shown)


def judge(scene: Scene) -> None:
    """Whether there was a takeover, and only one."""
    act, cast = scene.act, scene.cast
    runs = {side.letter: len(side.called(scene.began)) for side in cast.sides}
    act.facts["messages_to_agents"] = runs
    act.facts["longest_silence_ms"] = round(scene.seen.longest_silence() * 1000)
    once = all(count == 1 for count in runs.values())
    act.check("each agent was called once", once, ", ".join(f"{name} {count}" for name, count in runs.items()))
    if scene.side is None:
        seen = f"the task ended before it was time to strike, {TRIES} times"
    elif scene.called is None:
        seen = f"agent {cast.other(scene.side).letter} never got a message"
    elif scene.shown is None:
        seen = "the client heard nothing more"
    else:
        seen = (
            f"agent {cast.other(scene.side).letter} called after {scene.since(scene.called)} ms, "
            f"client's next event after {scene.since(scene.shown)} ms"
        )
    act.check("the standby took over", scene.shown is not None, seen)
    if scene.blow is DRAIN and scene.side is not None:
        _judge_drain(scene, scene.side)


def _judge_drain(scene: Scene, side: Side) -> None:
    status = side.sidecar.status
    scene.act.facts["exit_status"] = status
    within = scene.gone is not None and scene.since(scene.gone) <= GRACE_S * 1000
    told = f"exit status {status} after {scene.since(scene.gone)} ms" if scene.gone else "it still runs"
    scene.act.check(f"sidecar {side.letter} ended well within its {GRACE_S:.0f} s", status == 0 and within, told)
    stopped = next((at for at in side.agent.announced("ended") if at >= scene.began), None)
    if stopped is not None:
        scene.fact("run_stopped", stopped)
    told = "it goes on" if stopped is None else scene.after(stopped)
    scene.act.check(f"agent {side.letter} was told to stop its run", stopped is not None, told)
