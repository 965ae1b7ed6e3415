"""Gossip converges in a logarithm of the cluster, costs the same whatever its size, and buries nobody alive."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from math import log2, log10

import pytest

from bridge.gossip.member import State
from tests.architecture.sources import ROOT
from tests.simulation.gossip.faults import strike
from tests.simulation.gossip.measure import all_well, death, idle, join, owner_change, partition, settled
from tests.simulation.gossip.mutations import MUTATIONS
from tests.simulation.gossip.world import SECOND, World
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.patch import changed

SIZES = (4, 16, 64)
SEEDS = range(5)


@cache
def world_of(count: int) -> World:
    """One quiet cluster of each size; what is done to one of them is over when a test ends."""
    return settled(3, count)


@pytest.mark.parametrize("count", SIZES)
def test_a_quiet_member_sends_the_same_whatever_the_size(count: int) -> None:
    quiet = idle(world_of(count))
    assert quiet.messages == pytest.approx(2.1, abs=0.05)
    assert quiet.bytes < 320
    assert quiet.largest < 300


@pytest.mark.parametrize("count", SIZES)
def test_news_reaches_all_in_a_logarithm_of_rounds(count: int) -> None:
    world = world_of(count)
    for number in range(3):
        heard = owner_change(world, number)
        assert heard.came
        assert heard.seconds * 1_000 / world.pace.spread_ms <= log2(count) + 1
        assert heard.messages < 25
        world.run(5 * SECOND)


@pytest.mark.parametrize("count", SIZES)
def test_a_death_is_concluded_by_all_in_a_logarithm_of_periods_and_its_return_is_seen(count: int) -> None:
    world = world_of(count)
    dead = death(world, count // 2)
    assert dead.came
    shortest = 4 * max(1, log10(count))  # periods that whoever is accused has at least
    assert shortest <= dead.seconds <= shortest + 4 + log2(count)
    assert dead.messages < 15
    back = join(world, count // 2)
    assert back.came
    assert back.seconds < 5
    world.run(5 * SECOND)
    assert world.wrong() == []


@pytest.mark.parametrize("count", SIZES[:2])
def test_a_partition_that_heals_is_noticed_within_the_time_of_a_revival(count: int) -> None:
    """Case 29: noticing failures fast is one thing, forgetting members another."""
    apart, healed = partition(world_of(count), 60)
    assert apart.came
    assert healed.came
    assert healed.seconds <= world_of(count).pace.revive_ms / 1_000 + log2(count)


@pytest.mark.parametrize("loss", [0.05, 0.15])
def test_loss_alone_kills_nobody(loss: float) -> None:
    world = settled(5, 12, loss=loss)
    world.run(40 * SECOND)
    assert world.kernel.fired["message lost"] > 100
    assert not [name for state, name in world.first if state is State.DEAD]


def test_who_hears_late_is_not_buried() -> None:
    """Case 32: a member under heavy load serves, only late."""
    world = settled(6, 8)
    world.lag_us["n0003"] = 2 * SECOND
    world.run(60 * SECOND)
    assert world.nodes[3].gossip.slowness > 0
    assert not [name for state, name in world.first if state is State.DEAD]


def test_after_a_restart_of_all_at_once_everybody_knows_everybody() -> None:
    """Case 30: after a long uptime five members restart within two seconds."""
    world = World(7, 5)
    world.run(30 * SECOND)
    for node in world.nodes:
        strike_word(world, node.name)
    world.run(30 * SECOND)
    for node in world.nodes:
        world.restart(node)
        world.run(2 * SECOND // 5)
    assert world.run(10 * SECOND, lambda: all_well(world))
    assert [node.gossip.me.incarnation.life for node in world.nodes] == [2] * 5


def strike_word(world: World, name: str) -> None:
    """Have a member refute for a while: its words count up."""
    for _ in range(3):
        world.deaf[name] = None
        world.run(6 * SECOND)
        world.heal()
        world.run(4 * SECOND)


def struck(seed: int, *, times: int = 12) -> World:
    """A world in which much went wrong, and then nothing any more."""
    world = World(seed, 6)
    world.run(5 * SECOND)
    strike(world, times)
    return world


def test_when_all_is_healed_nobody_that_lives_is_held_for_anything_else() -> None:
    fired: Counter[str] = Counter()
    for seed in SEEDS:
        world = struck(seed)
        assert world.run(90 * SECOND, lambda: all_well(world)), f"seed {seed}: {world.wrong()}"  # noqa: B023
        assert world.wrong() == []
        fired += world.kernel.fired
    assert {"kill", "restart", "pause", "partition", "deaf", "late", "message lost", "message kept"} <= {*fired}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_that_a_mutation_changes_stands_there_once(mutation: Mutation) -> None:
    assert all(compile(text, module, "exec") for module, text in changed(mutation.edits).items())
    path, _, name = mutation.promise.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_a_seed_is_a_world_in_every_process() -> None:
    script = (
        "from tests.simulation.gossip.test_gossip import struck; w = struck(1, times=4); "
        "print(w.kernel.now, w.kernel.steps, sorted(w.cost.items()), w.nodes[0].gossip.roster.all())"
    )
    seen = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert seen[0] == seen[1]
