"""A seed is a world: the same in every process, whatever the order of its interpreter's hashes."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.simulation.clocks import HostClock
from tests.simulation.kernel import MS, Kernel, Killed, Process
from tests.simulation.network import Network
from tests.simulation.options import Options
from tests.simulation.world import World

SEEDS = range(40, 52)
PRINT = "from tests.simulation.world import World\nfor s in {}: print(World(s).run().kernel.digest())"


def test_the_same_seed_gives_the_same_trace_in_other_processes_with_other_hashes() -> None:
    here = [World(seed).run().kernel.digest() for seed in SEEDS]
    for hash_seed in ("1", "20"):
        command = [sys.executable, "-c", PRINT.format([*SEEDS])]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        assert there == here
    assert len({*here}) == len(here)


def test_a_process_is_killed_between_two_effects_and_what_it_had_planned_never_happens() -> None:
    kernel, done = Kernel(0), list[str]()
    process = Process("p", mortal=True)

    def two_effects() -> None:
        for name in ("first", "second", "third"):
            kernel.effect(process)
            done.append(name)

    kernel.after(1, process, "effects", two_effects)
    kernel.after(2, process, "later", done.append, "later")
    kernel.fuse = 3
    while kernel.step():
        pass
    assert done == ["first", "second"]
    assert not process.alive
    assert kernel.fired["kill at an effect"] == 1
    assert issubclass(Killed, Exception)


def test_a_paused_process_does_afterwards_what_came_meanwhile_in_order() -> None:
    kernel, done = Kernel(0), list[tuple[int, str]]()
    process = Process("p")
    process.paused_until = 50 * MS
    for at in (10, 20, 60):
        kernel.after(at * MS, process, "x", lambda at=at: done.append((kernel.now // MS, str(at))))
    while kernel.step():
        pass
    assert done == [(50, "10"), (50, "20"), (60, "60")]


def test_clocks_drift_jump_stop_and_begin_anew_with_the_host() -> None:
    kernel = Kernel(0)
    clock = HostClock(kernel, "h", rate=1.5)
    kernel.now = 1_000 * MS
    wall = clock.wall_ms()
    assert clock.ms() == 1_500
    clock.jump(-3_600_000)
    clock.stop(200)
    assert (clock.ms(), clock.wall_ms() - wall) == (1_200, -3_600_000)
    boot = clock.boot
    clock.reboot()
    assert clock.ms() == 0
    assert clock.boot != boot


def test_the_network_loses_repeats_reorders_and_keeps_apart_in_one_direction() -> None:
    kernel, got = Kernel(1), list[int]()
    network = Network(kernel, Options(loss=0.2, repeat=0.2, slow=0.2, slow_ms=100))
    one, other = Process("one"), Process("other")
    for number in range(100):
        network.send(one, other, 0, "m", got.append, number)
    while kernel.step():
        pass
    assert len({*got}) < 100 < len(got) + kernel.fired["message lost"]
    assert len(got) > len({*got})
    assert got != sorted(got)
    network.separate("one", "other", count=1)
    got.clear()
    network.send(one, other, 0, "m", got.append, 1)
    network.send(other, one, 0, "m", got.append, 2)
    network.faulty = False
    network.send(other, one, 0, "m", got.append, 3)
    while kernel.step():
        pass
    assert 1 not in got
    assert 3 in got
