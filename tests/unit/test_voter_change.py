"""A change of voters as it is lived: what each set may do alone, who learns of it, and who dies on the way."""

import random

import pytest

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Draft, Kind, tip_of
from bridge.jsontext import write
from bridge.proposal import Opened
from bridge.proposer import Proposer, Stage
from tests.unit.quorum_world import TASK, World

ABC, DEF = ("a", "b", "c"), ("d", "e", "f")


def naming(*voters: str) -> bytes:
    return write({"voters": voters})


def owned(names: tuple[str, ...] = ABC) -> tuple[World, Proposer]:
    world = World(names)
    owner = world.stand(1)
    world.run()
    assert owner.stage is Stage.OWNING
    return world, owner


def only(world: World, *names: str) -> None:
    """Deliver to these voters; what goes to the others is lost."""
    while world.network:
        message = world.network.pop(0)
        if message.to in ("", *names):
            message.arrive()
        world.check()


@pytest.mark.parametrize("reached", [("a", "b", "c"), ("d", "e", "f"), ("a", "d", "e", "f"), ("a", "b", "c", "d")])
def test_neither_set_alone_commits_a_change_or_anything_behind_it(reached: tuple[str, ...]) -> None:
    world, owner = owned()
    world.change(owner, *DEF)
    world.offer(owner, Kind.EVENT)
    only(world, *reached)
    assert owner.committed == 3
    assert owner.changing
    assert owner.sets == (ABC, DEF)
    world.elapse(owner)
    world.run()
    assert owner.committed == 5
    assert not owner.changing
    assert (owner.voters, owner.sets) == (DEF, (DEF,))


def test_after_the_change_the_new_set_decides_alone() -> None:
    world, owner = owned()
    world.change(owner, *DEF)
    world.run()
    assert {world.disks[name].view.committed for name in DEF} == {4}
    world.offer(owner, Kind.EVENT)
    assert {message.to for message in world.network} == set(DEF)
    only(world, "e", "f")
    assert owner.committed == 5


def test_a_change_is_over_when_a_majority_of_the_new_set_knows_that_it_is_committed() -> None:
    world, owner = owned()
    world.change(owner, *DEF)
    while owner.committed < 4:
        world.network.pop(0).arrive()
    world.network.clear()  # the words of it
    assert owner.changing
    assert {"a", "d"} <= set(owner.voters)
    world.elapse(owner)
    only(world, "d")
    assert owner.changing
    world.elapse(owner)
    only(world, "d", "e")
    assert not owner.changing
    # Now a candidate needs nobody of the old set, which may be gone for good.
    world.now_ms += 1_000
    late = world.stand(2, DEF)
    only(world, *DEF)
    assert late.stage is Stage.OWNING
    assert late.voters == DEF


def test_a_candidate_with_an_old_idea_of_the_voters_collects_the_new_ones_and_adopts_from_them() -> None:
    world, owner = owned()
    world.change(owner, *DEF)
    world.run()
    world.offer(owner, Kind.EVENT)
    world.run()
    assert owner.committed == 5
    assert max(len(world.disks[name].entries) for name in ABC) == 4
    world.now_ms += 1_000
    late = world.stand(2, ABC)
    only(world, *ABC)
    assert late.stage.value == "claiming"
    assert late.log == []
    world.elapse(late)
    world.run()
    assert late.stage is Stage.OWNING
    assert late.log[:5] == owner.log


def test_an_adopted_change_that_nobody_knows_to_be_committed_needs_both_sets() -> None:
    world, owner = owned()
    world.change(owner, *DEF)
    only(world, "a", "d")
    world.now_ms += 1_000
    late = world.stand(2, ABC)
    only(world, "a", "b", "d")
    assert late.stage.value == "claiming"
    assert late.voters == (*ABC, *DEF)
    world.elapse(late)
    only(world, "a", "b", "d", "e")
    assert late.stage is Stage.OWNING
    assert late.committed == 6
    assert [entry.kind for entry in late.log[3:]] == [Kind.VOTERS, Kind.CLAIMED, Kind.EVENT]
    assert not late.changing


def test_a_second_change_waits_for_the_first_and_a_first_one_for_the_claim() -> None:
    world, owner = owned()
    for drafts in (
        [Draft(Kind.VOTERS, naming(*DEF)), Draft(Kind.VOTERS, naming("g"))],
        [Draft(Kind.VOTERS, naming(*DEF)), Draft(Kind.EVENT, b"{}"), Draft(Kind.VOTERS, naming(*ABC))],
    ):
        with pytest.raises(InvariantViolation):
            owner.handle(Opened(1, drafts))
    with pytest.raises(BrokenChain):
        owner.handle(Opened(1, [Draft(Kind.VOTERS, b"{}")]))
    assert len(owner.log) == 3
    world.change(owner, *DEF)
    with pytest.raises(InvariantViolation):
        world.change(owner, "g")
    world.run()
    world.change(owner, "g")
    world.run()
    assert owner.voters == ("g",)
    assert world.disks["g"].view.committed == len(owner.log)
    opening = World(ABC)
    candidate = opening.stand(1)
    while candidate.stage is not Stage.OPENING:
        opening.network.pop(0).arrive()
    with pytest.raises(InvariantViolation):
        opening.change(candidate, *DEF)


def test_a_finished_handoff_is_re_homed() -> None:
    world, owner = owned()
    world.offer(owner, Kind.COMPLETED)
    world.run()
    world.change(owner, *DEF)
    world.run()
    assert not owner.changing
    late = world.stand(2, DEF)
    world.now_ms += 1_000
    world.run()
    assert [entry.kind for entry in late.log[3:]] == [Kind.COMPLETED, Kind.VOTERS, Kind.CLAIMED]


def test_a_voter_that_forgot_is_admitted_under_its_new_id() -> None:
    world, owner = owned()
    world.wipe("b", "b2")
    world.change(owner, "a", "b2", "c")
    world.run()
    assert not owner.changing
    assert world.disks["b2"].view.tip == tip_of(TASK, owner.log)
    world.offer(owner, Kind.EVENT)
    only(world, "b2", "c")
    assert owner.committed == 5


def test_an_only_voter_becomes_three_and_does_not_commit_the_change_by_itself() -> None:
    world, owner = owned(("a",))
    world.change(owner, *ABC)
    only(world, "a")
    assert (owner.committed, world.disks["a"].view.committed) == (3, 3)
    world.elapse(owner)
    world.run()
    assert [world.disks[name].view.committed for name in ABC] == [4, 4, 4]


@pytest.mark.parametrize("after", range(40))
def test_an_owner_that_dies_anywhere_in_a_change_leaves_one_journal(after: int) -> None:
    world, owner = owned()
    world.offer(owner, Kind.EVENT)
    world.change(owner, *DEF)
    for _ in range(min(after, 40)):
        if world.network:
            world.network.pop(0).arrive()
            world.check()
    shown = dict(world.shown)
    late = world.heal()
    assert late.stage is Stage.OWNING
    assert not late.changing
    assert late.voters in (ABC, DEF)
    assert all(late.log[seq - 1] == entry for seq, entry in shown.items())


def test_contests_over_changing_voters_lose_nothing() -> None:
    changes, fences = 0, 0
    pool = (ABC, DEF, ("a", "d", "e"), ("b",), ("c", "d"))
    for seed in range(60):
        rng = random.Random(seed)
        world = World(ABC)
        for action in rng.choices(range(9), weights=[1, 2, 3, 2, 0.5, 1, 14, 14, 14], k=400):
            pick = rng.randrange(1_000)
            owners = [each for each in world.candidates if each.stage is Stage.OWNING and not each.changing]
            if action == 2 and pick % 3 == 0 and owners:
                world.change(owners[pick % len(owners)], *pool[pick % len(pool)])
            world.choose(action, pick)
        owner = world.heal()
        assert owner.stage is Stage.OWNING, f"seed {seed}"
        changes += sum(entry.kind is Kind.VOTERS for entry in world.shown.values())
        fences += len({entry.fence.n for entry in owner.log}) > 2
    assert changes > 30
    assert fences > 10
