"""How long a run takes: one row per mode. Everything else is the same in all of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of a run.

    Attributes:
        rounds: samples of each figure; ways alternate within a round.
        events: of the one long stream.
        streams, steps: of the many streams of the SDK agent.
        seconds, warm_s: of one closed loop.
        takeovers: of each kind.
        starts: of a sidecar until it is ready.
        idle_s: for which an idle process is watched.
        subscriptions, tasks: that are held open.
        waiting: tasks that wait for an answer.
        writers: saturating processes on one store.
        writers_s: for which they write.
        crowd: running tasks of a host that dies.
        paced: steps of a task whose commits come one at a time.
    """

    rounds: int
    events: int
    streams: int
    steps: int
    seconds: float
    warm_s: float
    takeovers: int
    starts: int
    idle_s: float
    subscriptions: int
    tasks: int
    waiting: int
    writers: tuple[int, ...]
    writers_s: float
    crowd: int
    paced: int


FULL = Scale(5, 20_000, 50, 50, 1.5, 0.3, 10, 5, 8.0, 1000, 1000, 10_000, (2, 8), 6.0, 100, 400)
QUICK = Scale(3, 5_000, 20, 10, 0.25, 0.05, 3, 3, 1.2, 100, 100, 300, (2,), 0.8, 20, 60)
SMOKE = Scale(1, 200, 2, 3, 0.1, 0.0, 1, 1, 0.1, 5, 5, 10, (2,), 0.2, 3, 5)
"""For the tests: proves that everything runs, measures nothing."""
