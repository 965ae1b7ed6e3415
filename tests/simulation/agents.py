"""Agent processes: the model agents of reconciliation, behind something like A2A.

An agent runs beside a sidecar and knows nothing of it: it begins runs, tells what they do to whoever is attached,
answers GetTask, takes later messages and cancels. Its runs die with its process. It may hang, or its connections
may break. This file must not know journals. What a run means is kept by the model agent itself (``made`` and
``told``), independently of every rule under test.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.a2a.extension import NO_MARKS, Marks
from tests.simulation.kernel import MS, Process
from tests.simulation.network import Connection
from tests.unit.a2a.model_agents import Agent, Style
from tests.unit.a2a.model_scripts import Script, State, divergent, random_script

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.lapse import Lapse
    from tests.simulation.world import World

Json = dict[str, Any]
REQUEST_US = 150


class Told(NamedTuple):
    """What a run says at once, and the truth about it, which only checkers look at.

    Attributes:
        event: StreamResponse.
        marks: what the durability extension says with it.
        made_before, made: content of each artifact before and after it, by the agent's id.
        said: all statuses of the run; of which it had said the first ``said_before`` before it.
        whole: nothing that it told was missed. A Task makes up for what was, but for a replacement that begins
            like what it replaced: that looks like an older Task (a documented limit).
    """

    event: Json
    marks: Marks
    made_before: dict[str, list[Json]]
    made: dict[str, list[Json]]
    said: list[list[str]]
    said_before: int
    whole: bool


class Heard(NamedTuple):
    """What a sidecar hears of a run.

    Attributes:
        begun: the agent's task id.
        snapshot: the agent's Task, None where it has forgotten the run.
        event: an event with what it carries.
        ended: the stream ended; False where it broke.
        refused: nobody is there.
    """

    begun: Callable[[str], None]
    snapshot: Callable[[Json | None], None]
    event: Callable[[Told], None]
    ended: Callable[[bool], None]
    refused: Callable[[], None]


class Work:
    """What a task is about: the same script in every run of a deterministic agent.

    Attributes:
        scripts: what its first run tells, and what others told that had a mind of their own.
        deterministic: later runs tell the same.
    """

    def __init__(self, world: World) -> None:
        rng = world.kernel.rng
        self.scripts = [random_script(rng)]
        self.deterministic = rng.random() < 0.6
        kinds = ["stable", "stable", "uuid"] if self.deterministic else ["stable", "uuid", "renamed"]
        self.ids = rng.choice(kinds)
        self.sends_task = rng.random() < 0.5
        self.checkpoints = rng.choice((0, 0, 0.15, 0.5))
        self.runs = 0


class Running:
    """A run at its agent."""

    def __init__(self, model: Agent, name: str, script: int, *, hangs_after: int) -> None:
        self.model, self.name, self.script = model, name, script
        self.taken: list[str] = []
        self.attached: list[tuple[Connection, Heard]] = []
        self.hangs_after = hangs_after
        self.timer = False
        self.whole = True

    def made(self) -> dict[str, list[Json]]:
        """Content of each artifact, by its id. The model makes new lists, it never changes one."""
        state = self.model.state
        return {state.ids[key]: made["parts"] for key, made in state.made.items()}


class AgentHost(Process):
    """An agent's process.

    Attributes:
        runs: by the agent's own task id.
    """

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.runs: dict[str, Running] = {}
        self._world, self._kernel = world, world.kernel
        self._label = f"{name} goes on"

    def end(self) -> None:
        """Killed: every run is gone and every connection breaks."""
        for run in self.runs.values():
            self._detach(run, ended=False)
        self.runs = {}
        super().end()

    # --- requests of a sidecar --------------------------------------------------------------------------------

    def begin_run(self, hand: Hand | Lapse, work: Work, cut: Json | None, owed: Json | None, heard: Heard) -> None:
        """SendStreamingMessage that begins a run, from a checkpoint where there is one."""
        self._request(hand, "begin", heard, self._begin, work, cut, owed)

    def attach(self, hand: Hand | Lapse, name: str, heard: Heard) -> None:
        """GetTask and SubscribeToTask."""
        self._request(hand, "attach", heard, self._attach, name)

    def follow_up(self, hand: Hand | Lapse, name: str, message: Json, heard: Heard) -> None:
        """SendStreamingMessage on a run that waits."""
        self._request(hand, "follow up", heard, self._follow_up, name, message)

    def cancel(self, hand: Hand | Lapse, name: str) -> None:
        """CancelTask; whether it arrives is not known."""
        self._world.watch.requests(hand, "cancel")
        self._kernel.arrive(REQUEST_US, self, 0, f"{hand.car.name}>{self.name} cancel", self._cancel, (name,))

    def _request(
        self, hand: Hand | Lapse, asked: str, heard: Heard, what: Callable[..., None], *args: Any
    ) -> None:
        car = hand.car
        self._kernel.effect(car)
        self._world.watch.requests(hand, asked)
        label = f"{car.name}>{self.name} {what.__name__}"
        life = car.life
        self._kernel.after(REQUEST_US, None, label, self._take, car, life, heard, what, args)

    def _take(
        self, car: Process, life: int, heard: Heard, what: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        if not self.alive:
            self._kernel.arrive(REQUEST_US, car, life, f"{self.name} refuses", heard.refused, ())
        elif car.life == life:
            what(Connection(self._world.network, self._kernel, self, car, heard.ended), heard, *args)

    def _begin(
        self, connection: Connection, heard: Heard, work: Work, cut: Json | None, owed: Json | None
    ) -> None:
        rng, world = self._kernel.rng, self._world
        work.runs += 1
        world.runs += 1
        # A checkpoint belongs to what was being told when it was made.
        saved = {} if cut is None else copy.deepcopy(cut)
        script: Script = work.scripts[saved.pop("script", 0)]
        saved.pop("number", None)
        whole = saved.pop("whole", True)
        state = State(**saved) if cut is not None else None
        if work.runs > 1 and not work.deterministic:
            script = divergent(rng, script, state)
            work.scripts.append(script)
        style = Style(work.ids, work.sends_task, work.checkpoints, number=world.runs)
        model = Agent(rng, script, style, state)
        if owed is not None and model.state.waiting:
            model.answer(owed)
        hangs = world.faulty and world.options.has("agent_hang") and rng.random() < 0.3
        told = work.scripts.index(script)
        run = Running(model, f"r{world.runs}", told, hangs_after=rng.randint(0, 6) if hangs else -1)
        run.whole = whole
        self.runs[run.name] = run
        run.attached.append((connection, heard))
        connection.send(f"{self.name} has begun", heard.begun, run.name)
        self._go(run)

    def _attach(self, connection: Connection, heard: Heard, name: str) -> None:
        run = self.runs.get(name)
        snapshot = None if run is None else run.model.task()
        connection.send(f"{self.name} shows its task", heard.snapshot, snapshot)
        if run is None:
            return
        run.whole = False
        if run.model.state.waiting or run.model.state.ended:
            connection.close(ended=True)
        else:
            run.attached.append((connection, heard))

    def _follow_up(self, connection: Connection, heard: Heard, name: str, message: Json) -> None:
        run = self.runs.get(name)
        if run is None:
            connection.send(f"{self.name} has forgotten it", heard.snapshot, None)
            return
        if run.model.state.waiting:
            run.model.answer(message)
        run.attached.append((connection, heard))
        self._go(run)

    def _cancel(self, name: str) -> None:
        run = self.runs.pop(name, None)
        if run is not None:
            self._detach(run, ended=True)

    # --- the runs ---------------------------------------------------------------------------------------------

    def _go(self, run: Running) -> None:
        if not run.timer:
            run.timer = True
            pace = self._world.options.pace_ms * MS
            self._kernel.after(pace + int(self._kernel.rng.random() * pace), self, self._label, self._tell, run)

    def _tell(self, run: Running) -> None:
        run.timer = False
        if self.runs.get(run.name) is not run:
            return
        if run.hangs_after == 0 and self._world.faulty:
            self._kernel.fired["agent hung"] += 1
            return
        run.hangs_after -= 1
        before, said_before = run.made(), len(run.model.state.told)
        step = run.model.step()
        if step is None:
            self._detach(run, ended=True)
            return
        event, saved = step
        if saved is not None:
            saved["script"], saved["whole"] = run.script, run.whole
            self._world.saved(saved)
        marks = NO_MARKS if saved is None else Marks(saved)
        told = Told(event, marks, before, run.made(), run.model.state.told, said_before, run.whole)
        kept = []
        for connection, heard in run.attached:
            if connection.send(f"{self.name} tells", heard.event, told):
                kept.append((connection, heard))
        run.attached = kept
        if run.model.state.waiting or run.model.state.ended:
            self._detach(run, ended=True)
            return
        self._go(run)

    def break_connections(self) -> bool:
        """Every stream of it breaks, and every run goes on."""
        broken = False
        for run in self.runs.values():
            broken = broken or bool(run.attached)
            self._detach(run, ended=False)
        return broken

    def _detach(self, run: Running, *, ended: bool) -> None:
        for connection, _ in run.attached:
            connection.close(ended=ended)
        run.attached = []
