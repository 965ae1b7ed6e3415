"""An end is final under every later fence, and counts as committed only through a seal."""

import pytest

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.proposal import Began, ClaimAnswered, Opened, PreVoted, SendAppend
from bridge.proposer import Proposer, Stage
from bridge.quorum import Granted
from bridge.seal import AFTER_END, check_drafts, ended, opening
from tests.unit.quorum_world import TASK, World

ABC = ("a", "b", "c")
FENCE = Fence(2, "s2")


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in AFTER_END])
def test_nothing_that_a_client_could_see_follows_an_end(kind: Kind) -> None:
    for head in ((), (Kind.CLAIMED,)):
        with pytest.raises(InvariantViolation):
            check_drafts(FENCE, head, [*head, kind], end=True)
        with pytest.raises(InvariantViolation):
            check_drafts(FENCE, head, [*head, Kind.FAILED, kind], end=False)


def test_what_a_fence_may_append() -> None:
    assert not check_drafts(FENCE, opening(()), [Kind.DISPATCHED, Kind.CLAIMED, Kind.EVENT], end=False)
    assert check_drafts(FENCE, (), [Kind.EVENT, Kind.REPLY, *AFTER_END], end=False)
    journal = chain(genesis(TASK), Fence(1, "s1"), 1, [Draft(Kind.DISPATCHED, b"{}"), Draft(Kind.CANCELED, b"{}")])
    assert (ended(journal[:1]), ended(journal)) == (False, True)
    assert check_drafts(FENCE, opening(journal), [Kind.CLAIMED, *AFTER_END], end=True)
    with pytest.raises(InvariantViolation):
        check_drafts(FENCE, (), [Kind.CLAIMED], end=False)
    with pytest.raises(InvariantViolation):
        check_drafts(FENCE, opening(journal), [Kind.EVENT], end=True)


def owning() -> Proposer:
    world = World(ABC)
    owner = world.stand(2)
    world.run()
    assert owner.stage is Stage.OWNING
    return owner


def test_entries_that_their_owner_has_chained_itself_are_sent_as_they_are() -> None:
    owner = owning()
    ready = chain(
        tip_of(TASK, owner.log), owner.fence, 7, [Draft(Kind.EVENT, b"{}"), Draft(Kind.COMPLETED, b"{}")]
    )
    sent = owner.handle(Opened(0, ready=ready))
    assert [each.append.entries for each in sent if isinstance(each, SendAppend)] == [tuple(ready)] * 3
    assert owner.log[-2:] == ready
    assert owner.ended


def test_a_fence_opens_with_entries_that_were_ready() -> None:
    world = World(ABC)
    candidate = Proposer(TASK, FENCE, (ABC,))
    candidate.handle(Began())
    for voter in ABC:
        candidate.handle(PreVoted(voter, FENCE, Granted(genesis(TASK), 0)))
    for voter in ABC:
        candidate.handle(ClaimAnswered(voter, FENCE, Granted(genesis(TASK), 0)))
    late = chain(genesis(TASK), FENCE, 7, [Draft(Kind.DISPATCHED, b"{}")])
    with pytest.raises(InvariantViolation):
        candidate.handle(Opened(0, ready=late))
    ready = chain(genesis(TASK), FENCE, 7, [Draft(Kind.DISPATCHED, b"{}"), Draft(Kind.CLAIMED, b"{}")])
    for effect in candidate.handle(Opened(0, ready=ready)):
        world.carry_out(candidate, effect)
    world.run()
    assert candidate.stage is Stage.OWNING
    assert world.disks["c"].entries == ready


@pytest.mark.parametrize("wrong", ["position", "predecessor", "fence", "order"])
def test_ready_entries_that_do_not_follow_are_refused_and_change_nothing(wrong: str) -> None:
    owner = owning()
    tip, drafts = tip_of(TASK, owner.log), [Draft(Kind.EVENT, b"{}"), Draft(Kind.EVENT, b"[]")]
    right = chain(tip, owner.fence, 7, drafts)
    ready: dict[str, list[Entry]] = {
        "position": chain(tip._replace(seq=tip.seq + 1), owner.fence, 7, drafts),
        "predecessor": chain(genesis(TASK)._replace(seq=tip.seq), owner.fence, 7, drafts),
        "fence": chain(tip, Fence(3, "s3"), 7, drafts),
        "order": right[::-1],
    }
    before = list(owner.log)
    with pytest.raises(BrokenChain):
        owner.handle(Opened(0, ready=ready[wrong]))
    assert (owner.log, owner.stage) == (before, Stage.OWNING)
    assert owner.handle(Opened(0, ready=right))


def only(world: World, *names: str) -> None:
    """Deliver to these voters; what goes to the others is lost."""
    while world.network:
        message = world.network.pop(0)
        if message.to in ("", *names):
            message.arrive()
        world.check()


def ended_on_a_minority() -> World:
    """The first owner's end is on ``a`` alone; the second, which cancels, has its ``claimed`` on ``b`` alone."""
    world = World(ABC)
    first = world.stand(1)
    world.run()
    world.offer(first, Kind.COMPLETED)
    only(world, "a")
    world.now_ms += 1_000
    second = world.stand(2)
    while second.stage is not Stage.OPENING:
        message = world.network.pop(0)
        if message.to != "a":
            message.arrive()
    world.offer(second, Kind.CANCELED)
    only(world, "b")
    assert [disk.entries[-1].kind for disk in world.disks.values()] == [Kind.COMPLETED, Kind.CANCELED, Kind.EVENT]
    world.now_ms += 1_000
    return world


def opened(world: World, n: int, *names: str) -> Proposer:
    candidate = world.stand(n)
    while candidate.stage is not Stage.OPENING:
        message = world.network.pop(0)
        if message.to in ("", *names):
            message.arrive()
    return candidate


def test_an_adopted_end_is_sealed_and_only_then_shown() -> None:
    world = ended_on_a_minority()
    third = opened(world, 3, "a", "c")
    assert third.ended
    assert [entry.kind for entry in third.log[-2:]] == [Kind.COMPLETED, Kind.CLAIMED]
    # Its copy on a second voter would be a majority, if copies of older fences counted.
    assert max(world.shown) == 3
    only(world, "a", "c")
    assert world.shown[4].kind is Kind.COMPLETED
    with pytest.raises(InvariantViolation):
        third.handle(Opened(1, [Draft(Kind.EVENT, b"{}")]))
    world.now_ms += 1_000
    # The one that still has the canceled end has a newer fence than the completed one: the seal outranks it.
    last = opened(world, 4, "b", "c")
    only(world, "b", "c")
    assert last.stage is Stage.OWNING
    assert [entry.kind for entry in last.log[3:]] == [Kind.COMPLETED, Kind.CLAIMED, Kind.CLAIMED]


@pytest.mark.parametrize(("quorum", "end"), [("ab", Kind.CANCELED), ("bc", Kind.CANCELED), ("ac", Kind.COMPLETED)])
def test_after_a_failed_candidate_any_quorum_agrees_on_one_end(quorum: str, end: Kind) -> None:
    world = ended_on_a_minority()
    opened(world, 3, "a", "c")
    world.network.clear()  # it dies before anything of it is written
    world.now_ms += 1_000
    fourth = opened(world, 4, *quorum)
    only(world, *quorum)
    assert fourth.stage is Stage.OWNING
    assert [entry.kind for entry in world.shown.values()][-2:] == [end, Kind.CLAIMED]
    owner = world.heal()
    assert owner.stage is Stage.OWNING
    assert {disk.view.tip.hash for disk in world.disks.values()} == {owner.log[-1].hash}
    assert [entry.kind for entry in owner.log].count(end) == 1
