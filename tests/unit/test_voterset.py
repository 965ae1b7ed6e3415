"""Who counts while the voters change: both sets, until the change itself is committed."""

import pytest

from bridge.errors import BrokenChain
from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.jsontext import write
from bridge.proposal import Began, ClaimAnswered, Lost, OpenJournal, PrefixRead, PreVoted, SendClaim
from bridge.proposer import Proposer
from bridge.quorum import Granted
from bridge.voterset import VoterSets, alone, everyone, has_majority, named_by
from tests.unit.quorum_world import TASK

ABC, DEF = ("a", "b", "c"), ("d", "e", "f")


def naming(*voters: str) -> bytes:
    return write({"voters": voters})


def journal(*named: tuple[Kind, bytes]) -> list[Entry]:
    return chain(genesis(TASK), Fence(1, "s1"), 1, [Draft(kind, body) for kind, body in named])


def test_a_majority_of_every_set() -> None:
    assert has_majority((ABC,), ("a", "c"))
    assert not has_majority((ABC,), ("a", "x"))
    assert not has_majority((("a", "b"),), ("a",))
    assert not has_majority((ABC, ("c", "d", "e")), ("a", "b", "d"))
    assert has_majority((ABC, ("c", "d", "e")), ("a", "c", "d"))
    assert everyone((ABC, ("c", "d"))) == ("a", "b", "c", "d")


def test_the_newest_change_and_the_set_before_it_count_until_it_is_committed() -> None:
    sets = VoterSets((ABC,)).follow(
        journal(
            (Kind.DISPATCHED, naming(*ABC)), (Kind.EVENT, b"{}"), (Kind.VOTERS, naming(*DEF)),
            (Kind.VOTERS, naming("g")),
        )
    )  # fmt: skip
    assert (sets.newest, sets.since, sets.changed) == (("g",), 4, True)
    assert sets.needed(3) == (DEF, ("g",))
    assert sets.needed(4) == (("g",),)


def test_a_dispatch_follows_from_the_given_sets() -> None:
    assert VoterSets((ABC, DEF)).needed(9) == (ABC, DEF)
    sets = VoterSets((ABC, DEF)).follow(journal((Kind.DISPATCHED, naming(*DEF))))
    assert (sets.needed(0), sets.needed(1), sets.changed) == ((ABC, DEF), (DEF,), False)
    unnamed = VoterSets((ABC,)).follow(journal((Kind.DISPATCHED, b"{}"), (Kind.VOTERS, naming(*DEF))))
    assert unnamed.needed(1) == (ABC, DEF)


@pytest.mark.parametrize(
    "body", [b"{}", b'{"voters":[]}', b'{"voters":"a"}', b'{"voters":[1]}', b'{"voters":[""]}', naming("a", "a")]
)
def test_a_change_names_a_set(body: bytes) -> None:
    assert named_by(Kind.DISPATCHED, body) is None
    assert named_by(Kind.EVENT, naming("a")) is None
    with pytest.raises(BrokenChain):
        named_by(Kind.VOTERS, body)
    with pytest.raises(BrokenChain):
        named_by(Kind.VOTERS, None)


def test_only_the_only_voter_commits_by_writing() -> None:
    log = journal((Kind.DISPATCHED, naming("a")), (Kind.VOTERS, naming(*ABC)), (Kind.VOTERS, naming("c")))
    assert alone(log[:1], 1, "a")
    assert not alone(log[:1], 1, "b")  # it catches up on a time when it had no vote
    assert not alone(log[:2], 1, "a")  # the change needs the others too
    assert not alone(log[:2], 2, "a")
    assert not alone(log, 2, "c")
    assert alone(log, 3, "c")
    assert not alone(journal((Kind.DISPATCHED, b"{}")), 1, "a")


def test_a_journal_whose_change_names_no_set_is_nobodys_to_adopt() -> None:
    log = journal((Kind.DISPATCHED, naming("a")), (Kind.VOTERS, b"{}"))
    fence, tip = Fence(2, "s2"), tip_of(TASK, log)
    proposer = Proposer(TASK, fence, (("a",),))
    proposer.handle(Began())
    proposer.handle(PreVoted("a", fence, Granted(tip, 0)))
    proposer.handle(ClaimAnswered("a", fence, Granted(tip, 0)))
    assert proposer.handle(PrefixRead("a", tip, tuple(log))) == [Lost("prefix_gone", fence)]


def test_the_choice_is_made_again_among_all_that_granted_and_the_journal_opened_once() -> None:
    log = journal((Kind.DISPATCHED, naming("a")), (Kind.VOTERS, naming("b")), (Kind.EVENT, b"{}"))
    fence, claims = Fence(2, "s2"), []
    proposer = Proposer(TASK, fence, (("a",),))
    proposer.handle(Began())
    proposer.handle(PreVoted("a", fence, Granted(tip_of(TASK, log[:2]), 1)))
    old: Tip = tip_of(TASK, log[:2])
    proposer.handle(ClaimAnswered("a", fence, Granted(old, 1)))
    claims += proposer.handle(PrefixRead("a", old, tuple(log[:2])))
    assert [(type(claim), getattr(claim, "voter", "")) for claim in claims] == [(SendClaim, "b")]
    proposer.handle(ClaimAnswered("b", fence, Granted(tip_of(TASK, log), 2)))
    assert proposer.handle(PrefixRead("b", tip_of(TASK, log), tuple(log))) == [OpenJournal(tuple(log))]
    assert proposer.voters == ("b",)
