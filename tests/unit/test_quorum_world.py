import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.journal import Fence, Kind, tip_of
from bridge.proposal import Elapsed, Lost
from bridge.proposer import Stage
from tests.unit.quorum_world import TASK, World

ABC = ("a", "b", "c")

SCHEDULE = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 1_000)), max_size=150)


@pytest.mark.parametrize("names", [("a",), ABC], ids=len)
@settings(deadline=None, max_examples=150)
@given(schedule=SCHEDULE)
def test_nothing_shown_is_lost_and_a_healed_network_makes_progress(names: Any, schedule: list[Any]) -> None:
    world = World(names)
    for action, pick in [(0, 0), *schedule]:
        world.choose(action, pick)
    shown = dict(world.shown)
    owner = world.heal()
    assert owner.stage is Stage.OWNING
    assert owner.committed == len(owner.log)
    assert all(owner.log[seq - 1] == entry for seq, entry in shown.items())


def test_long_contests_are_really_fought_and_lose_nothing() -> None:
    fences = []
    for seed in range(60):
        rng = random.Random(seed)
        world = World(ABC)
        for action in rng.choices(range(9), weights=[1, 2, 3, 2, 0.5, 1, 14, 14, 14], k=250):
            world.choose(action, rng.randrange(1_000))
        owner = world.heal()
        assert owner.stage is Stage.OWNING, f"seed {seed}"
        fences.append(len({entry.fence.n for entry in owner.log}))
    # The schedules are worth nothing unless several owners wrote to one journal in many of them.
    assert sum(count > 2 for count in fences) > 10


def test_what_a_minority_wrote_is_cut_and_what_a_majority_had_stays() -> None:
    world = World(ABC)
    first = world.stand(1)
    world.run()
    world.offer(first, Kind.EVENT)
    world.network = [message for message in world.network if message.to == "a"]
    world.run()
    stages = [first.stage.value]
    alone = world.disks["a"].view.tip
    assert alone.seq == 4
    world.now_ms += 1_000
    second = world.stand(2)
    world.run(away="a")
    stages.append(second.stage.value)
    world.tell(second, Elapsed())
    world.run()
    assert [disk.view.tip for disk in world.disks.values()] == [tip_of(TASK, second.log)] * 3
    assert alone.hash not in [entry.hash for entry in second.log]
    assert len([seq for seq in world.shown if seq <= 3]) == 3
    world.offer(first, Kind.EVENT)
    world.run()
    stages.append(first.stage.value)
    assert stages == ["owning", "owning", "lost"]
    assert world.lost == [Lost("fenced", Fence(2, "s1"))]
