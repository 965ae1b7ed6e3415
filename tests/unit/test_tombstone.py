"""A purged handoff stays finished, whoever asks and however little the others know."""

import pytest

from bridge.journal import NO_FENCE, Draft, Fence, Kind, Tip, chain, genesis
from bridge.proposal import Lost
from bridge.proposer import Stage
from bridge.quorum import Append, Claim, Refusal, Refused, VoterView, decide_append, decide_claim, decide_dispatch
from bridge.tombstone import Tombstone, bury, decide_purge, tombstone_in
from tests.unit.quorum_world import TASK, World

ABC = ("a", "b", "c")
TIP = Tip(Fence(1, "s1"), 4, "hash")
ENDED = VoterView(Fence(2, "s2"), TIP, 4, Fence(2, "s2"), 500)


@pytest.mark.parametrize(("terminal_seq", "committed"), [(0, 4), (4, 3), (2, 1)])
def test_only_a_committed_terminal_may_be_purged(terminal_seq: int, committed: int) -> None:
    assert decide_purge(ENDED._replace(committed=committed), TASK, terminal_seq) is None


def test_a_tombstone_keeps_id_fence_and_last_hash_and_is_made_once() -> None:
    purged = decide_purge(ENDED, TASK, 3)
    assert purged == (
        VoterView(Fence(2, "s2"), TIP, 4, None, 500, purged=True),
        Tombstone(TASK, TIP),
    )
    assert decide_purge(purged[0], TASK, 0) == purged


def test_a_tombstone_refuses_claims_appends_and_dispatches_and_shows_itself() -> None:
    purged = decide_purge(ENDED, TASK, 3)
    assert purged is not None
    view, stone = purged
    new = Fence(9, "s9")
    first = chain(genesis(TASK), new, 1, [Draft(Kind.DISPATCHED, b"{}")])
    append = Append(TASK, new, 0, genesis(TASK).hash, first, 0)
    for answer in (
        decide_claim(view, Claim(TASK, new, "s9"), holder_blocks=False, now_ms=9_000),
        decide_append(view, append, lambda _: None, voters=3),
        decide_dispatch(view, append, lambda _: None, voters=3),
    ):
        assert isinstance(answer, Refused)
        assert tombstone_in(TASK, answer) == stone
    assert tombstone_in(TASK, Refused(Refusal.FENCED, new, TIP, 4)) is None


def test_a_voter_that_missed_the_end_buries_its_copy_on_anothers_word() -> None:
    behind = VoterView(Fence(5, "s5"), Tip(Fence(1, "s1"), 2, "old"), 2)
    buried = bury(behind, Tombstone(TASK, TIP))
    assert buried == VoterView(Fence(5, "s5"), TIP, 4, purged=True)
    assert bury(buried, Tombstone(TASK, Tip(NO_FENCE, 0, "x"))) == buried


def finished() -> World:
    """A handoff that ended while one voter was away."""
    world = World(ABC)
    owner = world.stand(1)
    world.run(away="c")
    world.offer(owner, Kind.COMPLETED)
    world.run(away="c")
    assert owner.committed == 4
    world.now_ms += 1_000
    return world


def test_a_voter_without_the_end_and_a_tombstone_do_not_begin_the_task_again() -> None:
    world = finished()
    assert world.purge("a")
    assert not world.purge("c")
    late = world.stand(2)
    world.run(away="b")
    assert late.stage is Stage.LOST
    assert late.log == []
    assert world.lost == [Lost("purged", Fence(2, "s1"))]


def test_one_tombstone_is_believed_before_a_majority_has_granted() -> None:
    world = finished()
    world.wipe("b", "b2")
    assert world.purge("a")
    world.stand(2)
    world.network = [message for message in world.network if message.to == "a"]
    world.run()
    assert [lost.reason for lost in world.lost] == ["purged"]


def test_an_owner_whose_handoff_was_purged_under_it_is_over() -> None:
    world = finished()
    world.purge("a")
    world.offer(world.candidates[0], Kind.ANSWERED)
    world.run()
    assert [lost.reason for lost in world.lost] == ["purged"]
