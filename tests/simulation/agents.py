"""Agent processes: the model agents of reconciliation, behind something like A2A.

An agent runs beside a sidecar and knows nothing of it: it begins runs, tells what they do to whoever is attached,
answers GetTask, takes later messages and cancels. Its runs die with its process. It may hang, or its connections
may break. This file must not know journals. What a run means is kept by the model agent itself (``made`` and
``told``), independently of every rule under test.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridge.a2a.extension import Marks
from tests.simulation.doers import NOTHING, Doer, Doing, random_errand
from tests.simulation.exchange import Heard, Resumed, Told
from tests.simulation.kernel import MS, Process
from tests.simulation.network import Connection
from tests.unit.a2a.model_agents import Style
from tests.unit.a2a.model_scripts import Script, divergent, random_script

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.lapse import Lapse
    from tests.simulation.world import World

Json = dict[str, Any]
REQUEST_US = 150


class Work:
    """What a task is about: the same script in every run of a deterministic agent.

    Attributes:
        scripts: what its first run tells, and what others told that had a mind of their own.
        deterministic: later runs tell the same.
        errand: what is to be done outside.
        doer: what tells it.
    """

    def __init__(self, world: World, task: str) -> None:
        rng = world.kernel.rng
        self.scripts = [random_script(rng)]
        self.deterministic = rng.random() < 0.6
        kinds = ["stable", "stable", "uuid"] if self.deterministic else ["stable", "uuid", "renamed"]
        self.ids = rng.choice(kinds)
        self.sends_task = rng.random() < 0.5
        self.checkpoints = rng.choice((0, 0, 0.15, 0.5))
        self.runs = 0
        self.errand = NOTHING
        self.doer: Callable[..., Doer] = Doer
        if world.options.errands:
            self.errand = random_errand(rng, task, aware=self.checkpoints > 0)


class Running:
    """A run at its agent."""

    def __init__(self, model: Doer, name: str, script: int, *, hangs_after: int) -> None:
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

    def begin_run(self, hand: Hand | Lapse, work: Work, resumed: Resumed, heard: Heard) -> None:
        """SendStreamingMessage that begins a run, from a checkpoint where there is one."""
        self._request(hand, "begin", heard, self._begin, work, resumed)

    def attach(self, hand: Hand | Lapse, name: str, heard: Heard) -> None:
        """GetTask and SubscribeToTask."""
        self._request(hand, "attach", heard, self._attach, name)

    def follow_up(self, hand: Hand | Lapse, name: str, message: Json, heard: Heard) -> None:
        """SendStreamingMessage on a run that waits."""
        self._request(hand, "follow up", heard, self._follow_up, name, message)

    def go_ahead(self, hand: Hand | Lapse, name: str, key: str) -> None:
        """The intent that a run has told is recorded."""
        self._kernel.effect(hand.car)
        self._world.watch.requests(hand, f"do {key}")
        self._kernel.arrive(REQUEST_US, self, 0, f"{hand.car.name}>{self.name} go ahead", self._may, (name, key))

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
        elif self._loses():
            self._kernel.arrive(REQUEST_US, car, life, f"{self.name} lost a request", heard.ended, (False,))
        elif car.life == life:
            what(Connection(self._world.network, self._kernel, self, car, heard.ended), heard, *args)

    def _loses(self) -> bool:
        """Whether a request's connection breaks before the agent has read it: who has sent it cannot know that."""
        lost = self._world.faulty and self._world.options.has("request_lost") and self._kernel.chance(0.2)
        self._kernel.fired["request to an agent lost"] += lost
        return lost

    def _begin(self, connection: Connection, heard: Heard, work: Work, resumed: Resumed) -> None:
        rng, world = self._kernel.rng, self._world
        work.runs += 1
        world.runs += 1
        # A checkpoint belongs to what was being told when it was made.
        cut = resumed.cut
        saved = {} if cut is None else copy.deepcopy(cut)
        script: Script = work.scripts[saved.pop("script", 0)]
        saved.pop("number", None)
        whole = saved.pop("whole", True)
        state = Doing(**saved)
        if work.runs > 1 and not work.deterministic:
            script = divergent(rng, script, state if cut is not None else None)
            work.scripts.append(script)
        style = Style(work.ids, work.sends_task, work.checkpoints, number=world.runs)
        model = work.doer(rng, (script, style, state), work.errand, world.outside, resumed.effects)
        if resumed.owed is None and model.state.waiting:
            # Without an answer it stands where it stood before it asked.
            model.state.waiting = False
            model.state.told.pop()
        if resumed.owed is not None and model.state.waiting:
            model.answer(resumed.owed)
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
            if run.model.held is not None:
                # Whether its intent was heard it cannot know: it says so again.
                self._send(run, *run.model.intent())

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
        told = run.model.tell()
        if told is None:
            self._detach(run, ended=True)
            return
        event, marks = told
        if marks.checkpoint is not None:
            marks.checkpoint["script"], marks.checkpoint["whole"] = run.script, run.whole
            self._world.saved(marks.checkpoint)
        self._send(run, event, marks, before, said_before)
        if run.model.state.waiting or run.model.state.ended:
            self._detach(run, ended=True)
        elif run.model.held is None:
            self._go(run)

    def _send(
        self, run: Running, event: Json, marks: Marks, before: dict[str, list[Json]] | None = None, said: int = -1
    ) -> None:
        if marks.effects:
            self._world.watch.tells(marks)
        made, all_said = run.made(), run.model.state.told
        said = len(all_said) if said < 0 else said
        told = Told(event, marks, made if before is None else before, made, all_said, said, run.whole)
        kept = []
        for connection, heard in run.attached:
            if connection.send(f"{self.name} tells", heard.event, told):
                kept.append((connection, heard))
        run.attached = kept

    def _may(self, name: str, key: str) -> None:
        run = self.runs.get(name)
        if run is None or self._dies() or not run.model.go_ahead(key) or self._dies():
            return
        self._go(run)

    def _dies(self) -> bool:
        """Whether it is killed with an intent recorded and nothing done, or something done and no receipt told."""
        dies = self._world.faulty and self._world.options.has("receipt_lost") and self._kernel.chance(0.3)
        if dies:
            self._kernel.fired["killed before its receipt"] += 1
            self._world.faults.kill_agent(self)
        return dies

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
