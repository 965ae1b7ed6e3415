"""A voter that has forgotten what it said yes to is another voter."""

import pytest

from bridge.journal import Fence, Kind, Tip
from bridge.proposal import Began, ClaimAnswered, Elapsed, Lost, PreVoted, ReadPrefix
from bridge.proposer import Proposer, Stage
from bridge.quorum import Granted, Refusal, Refused, VoterView
from bridge.voterid import VoterFile, misdirected, recognised
from tests.unit.quorum_world import TASK, World

ABC = ("a", "b", "c")


@pytest.mark.parametrize(
    ("stored", "restored", "id_"),
    [
        (VoterFile("v1", "here"), False, "v1"),
        (None, False, "v2"),
        (VoterFile("v1", "there"), False, "v2"),
        (VoterFile("v1", "here"), True, "v2"),
    ],
    ids=["same", "empty", "copied", "restored in place"],
)
def test_only_the_very_file_keeps_its_id(stored: VoterFile | None, restored: bool, id_: str) -> None:
    assert recognised(stored, "here", "v2", restored=restored) == VoterFile(id_, "here")


def test_a_request_for_another_id_is_refused_whatever_it_asks() -> None:
    view = VoterView.empty(TASK)
    assert misdirected(view, "v1", "v1") is None
    assert misdirected(view, "v1", "v2") == Refused(Refusal.UNKNOWN_VOTER, view.promised, view.tip, 0)


def test_a_voter_that_came_back_empty_helps_nobody_to_forget() -> None:
    world = World(ABC)
    owner = world.stand(1)
    world.run(away="c")
    assert owner.committed == 3
    world.wipe("b", "b2")
    world.now_ms += 1_000
    late = world.stand(2)
    world.run(away="a")  # only b, which has lost everything, and c, which never had anything
    world.tell(late, Elapsed())
    world.run(away="a")
    assert late.stage is Stage.ASKING
    assert late.log == []
    run_again = world.stand(3)
    world.run()
    assert run_again.stage is Stage.OWNING
    assert run_again.log[:3] == owner.log[:3]


def test_what_a_fence_lost_to_unknown_voters_says_so() -> None:
    world = World(ABC)
    world.wipe("b", "b2")
    world.wipe("c", "c2")
    world.stand(1)
    world.run()
    assert world.lost == [Lost("unknown_voter", Fence(1, "s0"))]


def test_an_owner_counts_a_wiped_voter_no_longer() -> None:
    world = World(ABC)
    owner = world.stand(1)
    world.run(away="c")
    world.wipe("b", "b2")
    world.offer(owner, Kind.EVENT)
    world.run(away="c")
    assert owner.committed == 3
    assert world.disks["b"].entries == []


def test_an_answer_counts_only_under_an_id_that_was_asked() -> None:
    fence = Fence(2, "s2")
    proposer = Proposer(TASK, fence, (ABC,))
    proposer.handle(Began())
    for voter in ("a", "b"):
        proposer.handle(PreVoted(voter, fence, Granted(Tip(Fence(1, "s1"), 3, "x"), 0)))
    stranger = Granted(Tip(Fence(1, "s1"), 9, "y"), 0)
    assert proposer.handle(ClaimAnswered("x", fence, stranger)) == []
    proposer.handle(ClaimAnswered("a", fence, Granted(Tip(Fence(1, "s1"), 3, "x"), 0)))
    effects = proposer.handle(ClaimAnswered("b", fence, Granted(Tip(Fence(1, "s1"), 3, "x"), 0)))
    assert effects == [ReadPrefix("a", Tip(Fence(1, "s1"), 3, "x"))]
