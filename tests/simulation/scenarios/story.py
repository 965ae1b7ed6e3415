"""A story: a world in which chosen things go wrong at chosen moments, with every promise watched.

A random world meets a rare order of events once in many thousands; a story brings it about in every seed, and what
chance is left (delays, the agent's pace) varies what happens around it. A story hears all that a checker hears and
decides the fate of messages; it must not touch what a sidecar or a voter has in its memory. The failure it
prevents: a scenario that is believed to be covered and whose fault never fires, so each of them is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bridge.journal import TERMINAL, Entry
from bridge.proposal import ReadPrefix, SendAppend, SendClaim, SendPreVote
from tests.simulation.checkers.promise import Checker
from tests.simulation.clients import Client
from tests.simulation.kernel import MS, Killed, Process
from tests.simulation.network import Message
from tests.simulation.options import Options
from tests.simulation.world import HEALED_MS, World
from tests.unit.a2a.model_scripts import Script, Segment

if TYPE_CHECKING:
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.voter import Asked

TASK = "t0"
REQUESTS = (SendPreVote, SendClaim, ReadPrefix, SendAppend)

#: Progress, a question, more progress, the end: about twenty entries.
LONG = Script(
    (
        Segment(("s1", "s2"), {"p": (("t", "abba", {}), ("d", 1)), "q": (("t", "aab", {}),)}, "why"),
        Segment(("s3",), {"p": (("t", "bab", {}), ("t", "b", {})), "q": (("t", "ab", {}),)}, None),
    ),
    {"p": "name-p", "q": "name-q"},
    ("p",),
    "TASK_STATE_COMPLETED",
)
#: Only a little progress and the end.
SHORT = Script(
    (Segment(("s1",), {"p": (("t", "ab", {}),)}, None),), {"p": "name-p"}, ("p",), "TASK_STATE_COMPLETED"
)


C = TypeVar("C", bound=Client)


class Story(Checker):
    """One task in one world.

    Args:
        seed: of the world.
        options: of the world; what the story itself does comes on top of them.
        script: what the agent tells.

    Attributes:
        down_ms: how long a process stays down that the story kills.
    """

    name = "story"

    def __init__(self, seed: int, options: Options | None = None, script: Script = LONG) -> None:
        super().__init__(World(seed, options or Options(safety_ms=6_000)))
        self.kernel, self.network = self.world.kernel, self.world.network
        self.rng, self.fired = self.kernel.rng, self.kernel.fired
        self.down_ms = 60
        self.held: list[Message] = []
        work = self.world.works[TASK]
        work.scripts, work.deterministic, work.ids, work.checkpoints = [script], True, "stable", 0.3
        self.world.watch.add(self)
        self.kernel.on_killed = self._was_killed
        if type(self).fate is not Story.fate:
            self.network.fate = lambda message: self.fate(message) if self.world.faulty else None

    # --- what a story says ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Before anybody lives: who the clients are."""

    def fate(self, message: Message) -> Sequence[int] | None:
        """When the copies of a message arrive, in microseconds from now; None where chance shall decide."""
        return None

    def run(self) -> Self:
        """Live through the story, then through a time in which everything is well."""
        self.begin()
        self.world.begin()
        self.world._live(self.world.options.safety_ms)
        self.release()
        self.world.heal()
        self.world._live(HEALED_MS)
        self.world.watch.finished()
        return self

    def linger(self, ms: int) -> None:
        """Live on for a while, although every client has what it wanted."""
        until = self.kernel.now + ms * MS
        while self.kernel.now < until and self.kernel.step():
            pass

    # --- who and what -----------------------------------------------------------------------------------------

    def car(self, name: str) -> Sidecar:
        """A sidecar by its name."""
        return next(car for car in self.world.sidecars if car.name == name)

    def others(self, *names: str) -> list[Sidecar]:
        """All sidecars but these."""
        return [car for car in self.world.sidecars if car.name not in names]

    def owner(self) -> Hand | None:
        """Whoever owns the task under the highest fence, as far as it knows."""
        hands = [car.hands[TASK] for car in self.world.sidecars if car.alive and TASK in car.hands]
        return max((hand for hand in hands if hand.owner), key=lambda hand: hand.fence, default=None)

    def client(self, at: Sidecar, kind: type[C], *, after_ms: float = 1) -> C:
        """A client of the task begins at a front."""
        client = kind(self.world, f"client{len(self.world.clients)}", TASK, at)
        self.world.clients.append(client)
        self.kernel.after(int(after_ms * MS), client, f"{client.name} starts", client.start)
        return client

    def end_of(self, entries: Sequence[Entry]) -> Entry | None:
        """The terminal entry among some."""
        return next((entry for entry in entries if entry.kind in TERMINAL), None)

    def committed_journal(self) -> Sequence[Entry]:
        """The task's journal as far as some disk knows it to be committed."""
        journals = [stored.entries[: stored.view.committed] for _, stored in self.world.journals(TASK)]
        return max(journals, key=len)

    def asks(self, message: Message) -> Asked | None:
        """The request to a voter in a message, if it is one."""
        asked = message.args[2] if len(message.args) == 4 else None
        return asked if isinstance(asked, REQUESTS) else None

    # --- what it does -----------------------------------------------------------------------------------------

    def hit(self, fault: str, *, once: bool = False) -> None:
        """Count what really happened."""
        if not once or not self.fired[fault]:
            self.fired[fault] += 1

    def soon(self, label: str, run: Callable[..., Any], *args: Any, us: int = 0) -> None:
        """Once the present event is over, or somewhat later."""
        self.kernel.after(us, None, label, run, *args)

    def kill(self, process: Process, down_ms: int | None = None) -> None:
        """End a process, in whose event this is not, and begin it again after a while."""
        if process.alive:
            self.kernel.note(f"{process.name} is killed")
            process.end()
            self._return_later(process, self.down_ms if down_ms is None else down_ms)

    def die_here(self, down_ms: int | None = None) -> Killed:
        """To be raised in the event of the process that is to end."""
        if down_ms is not None:
            self.down_ms = down_ms
        return Killed()

    def hold(self, message: Message) -> tuple[int, ...]:
        """The fate of a message that is under way until it is released."""
        self.held.append(message)
        return ()

    def release(self, *, copies: int = 1, within_us: int = 1) -> None:
        """All that is held arrives, in any order."""
        for message in self.held:
            for _ in range(copies):
                delay = 1 + int(self.rng.random() * within_us)
                self.kernel.arrive(delay, message.to, message.life, message.label, message.run, message.args)
        self.held = []

    def apart(self, name: str, *, hears: bool = False, is_heard: bool = False, ms: int | None = None) -> None:
        """Keep a host from all others in one direction or both, for a while or until all is well."""
        for other in (host.name for host in self.world.hosts if host.name != name):
            if not hears:
                self._separate(other, name, ms)
            if not is_heard:
                self._separate(name, other, ms)

    def fell(self, car: Sidecar, down_ms: int) -> str:
        """A sidecar falls in one of three ways for so long; says which. Not in its own event."""
        how = self.rng.choice(("killed", "paused", "cut off"))
        match how:
            case "killed":
                self.kill(car, self.rng.choice((30, down_ms)))
            case "paused":
                car.pause(self.kernel.now + down_ms * MS)
            case _:
                self.apart(car.name, ms=down_ms)
        return how

    def _separate(self, one: str, other: str, ms: int | None) -> None:
        self.network.separate(one, other, count=1)
        if ms is not None:
            self.kernel.after(ms * MS, None, "partition ends", self._join, one, other)

    def _join(self, one: str, other: str) -> None:
        if self.world.faulty:  # all is joined at once when everything is healed
            self.network.separate(one, other, count=-1)

    def _was_killed(self, process: Process) -> None:
        process.end()
        self._return_later(process, self.down_ms)

    def _return_later(self, process: Process, down_ms: int) -> None:
        self.kernel.after(down_ms * MS, None, f"{process.name} begins", self.world.faults.restart, process)
