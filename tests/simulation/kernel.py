"""The kernel: one source of chance, one queue of what happens next, processes that can end between two effects.

Nothing in a simulated world happens but by ``Kernel.step``, nothing is chosen but by ``Kernel.rng``, and each step
leaves a line in the trace. So a seed is a world: whatever it finds can be found again. This file must not know
what a sidecar is. The failure it prevents: a broken promise that was seen once and never again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any

MS = 1_000  # virtual time is whole microseconds


class Killed(Exception):
    """The process ends here: what it was about to do next is never done."""


class Process:
    """Something with a memory that a kill empties.

    Attributes:
        name: of the process, the same in every life.
        life: how often it has begun; what was scheduled for an earlier life never happens.
        alive: whether it runs.
        paused_until: it stands still until then, and does what has come meanwhile afterwards.
        mortal: a kill at an effect may hit it.
    """

    def __init__(self, name: str, *, mortal: bool = False) -> None:
        self.name = name
        self.life = 1
        self.alive = True
        self.paused_until = 0
        self.mortal = mortal

    def pause(self, until: int) -> None:
        """Stand still; what comes meanwhile keeps its order."""
        self.paused_until = max(self.paused_until, until)

    def end(self) -> None:
        """Killed: forget everything. Subclasses empty what is theirs."""
        self.alive = False
        self.life += 1
        self.paused_until = 0

    def begin(self) -> None:
        """A new life begins."""
        self.alive = True


class Kernel:
    """Virtual time.

    Attributes:
        rng: the only source of chance.
        now: microseconds since the world began.
        steps: how many events have happened.
        trace: a line for each of them.
        fired: how often each kind of fault really happened.
        fuse: effects until a process is killed at one; 0 for never.
        on_killed: told of a process that was killed at an effect.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0
        self.steps = 0
        self.trace: list[str] = []
        self.fired: Counter[str] = Counter()
        self.fuse = 0
        self.on_killed: Callable[[Process], None] = Process.end
        self._queue: list[tuple[int, int, Process | None, int, str, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def after(self, us: int, process: Process | None, label: str, run: Callable[..., None], *args: Any) -> None:
        """Something happens in this life of a process, ``us`` from now."""
        self._count += 1
        life = 0 if process is None else process.life
        heappush(self._queue, (self.now + us, self._count, process, life, label, run, args))

    def arrive(
        self, us: int, process: Process, life: int, label: str, run: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        """Something reaches a process ``us`` from now: this life of it, or whichever it then has (0)."""
        self._count += 1
        heappush(self._queue, (self.now + us, self._count, process, life, label, run, args))

    def step(self) -> bool:
        """The next thing happens; False if nothing is left."""
        if not self._queue:
            return False
        self.now, count, process, life, label, run, args = heappop(self._queue)
        if process is not None:
            if not process.alive or (life and process.life != life):
                return True
            if process.paused_until > self.now:
                heappush(self._queue, (process.paused_until, count, process, life, label, run, args))
                return True
        self.steps += 1
        self.trace.append(f"{self.now} {label}")
        try:
            run(*args)
        except Killed:
            assert process is not None
            self.note(f"{process.name} killed at an effect")
            self.fired["kill at an effect"] += 1
            self.on_killed(process)
        return True

    def effect(self, process: Process) -> None:
        """A process is about to do something that others can see: between any two of these it may be killed."""
        if self.fuse and process.mortal:
            self.fuse -= 1
            if not self.fuse:
                raise Killed

    def note(self, text: str) -> None:
        """A line in the trace that no event stands for."""
        self.trace.append(f"{self.now} {text}")

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return probability > 0 and self.rng.random() < probability

    def digest(self) -> str:
        """What two runs of one seed must have in common."""
        return sha256("\n".join(self.trace).encode()).hexdigest()
