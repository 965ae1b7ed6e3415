import pytest

from bridge.errors import InvariantViolation
from bridge.journal import NO_FENCE, Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.proposal import (
    AppendAnswered,
    Began,
    ClaimAnswered,
    Committed,
    Effect,
    Elapsed,
    Lost,
    Opened,
    OpenJournal,
    PrefixRead,
    PreVoted,
    ReadPrefix,
    SendAppend,
    SendClaim,
    SendPreVote,
)
from bridge.proposer import Proposer, Stage
from bridge.quorum import Appended, Claim, Granted, Refusal, Refused

TASK = "t"
ABC = ("a", "b", "c")
FENCE = Fence(2, "s2")
CLAIM = Claim(TASK, FENCE, "s2")
EMPTY = genesis(TASK)
OLD = chain(EMPTY, Fence(1, "s1"), 1, [Draft(kind, b"{}") for kind in (Kind.DISPATCHED, Kind.CLAIMED, Kind.EVENT)])
OLD_TIP = tip_of(TASK, OLD)
OTHER_END = chain(tip_of(TASK, OLD[:2]), Fence(1, "s1"), 1, [Draft(Kind.INPUT, b"{}")])
CLAIMED = Opened(5, [Draft(Kind.CLAIMED, b"{}")])
DISPATCH = Opened(5, [Draft(Kind.DISPATCHED, b"{}"), Draft(Kind.CLAIMED, b"{}")])


def no(reason: Refusal, promised: Fence = NO_FENCE, committed: int = 0) -> Refused:
    return Refused(reason, promised, EMPTY, committed)


def yes(tip: Tip = OLD_TIP, committed: int = 0) -> Granted:
    return Granted(tip, committed)


def at(stage: Stage, *, voters: tuple[str, ...] = ABC, tip: Tip = OLD_TIP) -> Proposer:
    """A proposer that has come this far with the first voters' help."""
    proposer = Proposer(TASK, FENCE, (voters,))
    helping = voters[: len(voters) // 2 + 1]
    proposer.handle(Began())
    if stage is not Stage.ASKING:
        for voter in helping:
            proposer.handle(PreVoted(voter, FENCE, yes(tip)))
    if stage not in (Stage.ASKING, Stage.CLAIMING):
        for voter in helping:
            proposer.handle(ClaimAnswered(voter, FENCE, yes(tip)))
    if stage in (Stage.ADOPTED, Stage.OPENING) and tip.seq:
        proposer.handle(PrefixRead("a", tip, tuple(OLD)))
    if stage is Stage.OPENING:
        proposer.handle(CLAIMED if tip.seq else DISPATCH)
    assert proposer.stage is stage
    return proposer


def ack(proposer: Proposer, voter: str, seq: int) -> list[Effect]:
    entry = proposer.log[seq - 1]
    known = seq if proposer.voters == (voter,) else 0  # an only voter has committed what it has written
    return proposer.handle(AppendAnswered(voter, proposer.fence, Appended(proposer.fence, seq, entry.hash, known)))


def test_a_candidate_asks_before_it_claims_and_claims_once_a_majority_would_grant() -> None:
    proposer = Proposer(TASK, FENCE, (ABC,))
    assert proposer.handle(Began()) == [SendPreVote(voter, CLAIM) for voter in ABC]
    assert proposer.handle(Began()) == []
    assert proposer.handle(PreVoted("a", FENCE, yes())) == []
    assert proposer.handle(PreVoted("a", FENCE, yes())) == []
    assert proposer.handle(PreVoted("b", Fence(1, "s2"), yes())) == []
    assert proposer.handle(PreVoted("c", FENCE, yes())) == [SendClaim(voter, CLAIM) for voter in ABC]


def test_its_claims_say_which_fence_it_has_seen() -> None:
    proposer, claim = Proposer(TASK, FENCE, (ABC,)), Claim(TASK, FENCE, FENCE.session, Fence(1, "s8"))
    assert proposer.handle(Began(Fence(1, "s8"))) == [SendPreVote(voter, claim) for voter in ABC]
    proposer.handle(PreVoted("a", FENCE, yes()))
    assert proposer.handle(PreVoted("c", FENCE, yes())) == [SendClaim(voter, claim) for voter in ABC]


@pytest.mark.parametrize("stage", [Stage.ASKING, Stage.CLAIMING])
def test_one_refusal_is_no_defeat_but_a_majority_is(stage: Stage) -> None:
    proposer = at(stage)
    answered = PreVoted if stage is Stage.ASKING else ClaimAnswered
    assert proposer.handle(answered("a", FENCE, no(Refusal.HELD))) == []
    assert proposer.handle(answered("b", FENCE, no(Refusal.FENCED, Fence(7, "s7")))) == [
        Lost("fenced", Fence(7, "s7"))
    ]
    for late in (Began(), answered("c", FENCE, yes()), Elapsed(), CLAIMED):
        assert proposer.handle(late) == []


def test_a_voter_that_changes_its_mind_counts_once() -> None:
    proposer = at(Stage.CLAIMING)
    proposer.handle(ClaimAnswered("a", FENCE, no(Refusal.GRANTED_ELSEWHERE)))
    proposer.handle(ClaimAnswered("a", FENCE, yes()))
    proposer.handle(ClaimAnswered("a", FENCE, no(Refusal.GRANTED_ELSEWHERE)))
    proposer.handle(ClaimAnswered("b", FENCE, yes()))
    assert proposer.stage is Stage.CLAIMING
    assert proposer.handle(ClaimAnswered("c", FENCE, yes())) == [ReadPrefix("b", OLD_TIP)]


def test_the_most_advanced_granted_journal_is_adopted_by_fence_then_position() -> None:
    for tips, best in [
        ([Tip(Fence(1, "s"), 9, "x"), Tip(Fence(2, "r"), 3, "y")], "b"),
        ([Tip(Fence(2, "r"), 4, "x"), Tip(Fence(2, "r"), 3, "y")], "a"),
    ]:
        proposer = at(Stage.CLAIMING)
        proposer.handle(ClaimAnswered("a", FENCE, yes(tips[0])))
        assert proposer.handle(ClaimAnswered("b", FENCE, yes(tips[1]))) == [
            ReadPrefix(best, tips["ab".index(best)])
        ]


def test_a_grant_after_the_choice_changes_nothing() -> None:
    proposer = at(Stage.READING)
    later = Tip(Fence(1, "s1"), 9, "later")
    assert proposer.handle(ClaimAnswered("c", FENCE, yes(later))) == []
    assert proposer.handle(PrefixRead("c", later, tuple(OLD))) == []
    assert proposer.handle(PrefixRead("a", OLD_TIP, tuple(OLD))) == [OpenJournal(tuple(OLD))]
    assert proposer.handle(PrefixRead("a", OLD_TIP, tuple(OLD))) == []


@pytest.mark.parametrize(
    "gone",
    [None, (), tuple(OLD[1:]), (*OLD[:2], OLD[2]._replace(at=9)), (*OLD[:2], *OTHER_END), (*OLD, *OTHER_END)],
    ids=["none", "nothing", "head", "forged", "another end", "longer"],
)
def test_exactly_that_prefix_or_the_fence_is_abandoned(gone: tuple[Entry, ...] | None) -> None:
    proposer = at(Stage.READING)
    assert proposer.handle(PrefixRead("a", OLD_TIP, gone)) == [ReadPrefix("b", OLD_TIP)]
    assert proposer.handle(PrefixRead("b", OLD_TIP, gone)) == [Lost("prefix_gone", FENCE)]


def test_an_empty_journal_is_adopted_without_reading_and_opens_with_its_dispatch() -> None:
    proposer = at(Stage.ADOPTED, tip=EMPTY)
    effects = proposer.handle(DISPATCH)
    assert [
        (e.voter, e.append.after_seq, len(e.append.entries)) for e in effects if isinstance(e, SendAppend)
    ] == [
        ("a", 0, 2),
        ("b", 0, 2),
        ("c", 0, 2),
    ]


@pytest.mark.parametrize(
    ("tip", "drafts"),
    [
        (EMPTY, [Draft(Kind.CLAIMED, b"{}")]),
        (EMPTY, [Draft(Kind.DISPATCHED, b"{}")]),
        (OLD_TIP, [Draft(Kind.EVENT, b"{}"), Draft(Kind.CLAIMED, b"{}")]),
        (OLD_TIP, []),
    ],
)
def test_a_fence_opens_with_its_own_claim(tip: Tip, drafts: list[Draft]) -> None:
    proposer = at(Stage.ADOPTED, tip=tip)
    with pytest.raises(InvariantViolation):
        proposer.handle(Opened(5, drafts))


def test_each_voter_is_sent_what_it_surely_lacks() -> None:
    proposer = at(Stage.CLAIMING)
    proposer.handle(ClaimAnswered("a", FENCE, yes(OLD_TIP, 1)))
    proposer.handle(ClaimAnswered("b", FENCE, yes(Tip(Fence(0, "z"), 2, "another"), 1)))
    proposer.handle(PrefixRead("a", OLD_TIP, tuple(OLD)))
    effects = proposer.handle(CLAIMED)
    assert [
        (e.voter, e.append.after_seq, len(e.append.entries)) for e in effects if isinstance(e, SendAppend)
    ] == [
        ("a", 3, 1),  # its granted tip is this journal's
        ("b", 1, 3),  # it differs, so from what it knows to be committed
        ("c", 3, 1),  # unknown: the end, and it will say if that is a gap
    ]


def test_copies_under_an_older_fence_never_count() -> None:
    proposer = at(Stage.OPENING)
    assert [
        effect for effect in ack(proposer, "a", 3) + ack(proposer, "b", 3) if isinstance(effect, Committed)
    ] == []
    assert ack(proposer, "a", 4) == []
    effects = ack(proposer, "b", 4)
    assert effects[0] == Committed(4)
    assert proposer.stage is Stage.OWNING


def test_followers_hear_of_a_commit_even_when_nothing_follows() -> None:
    proposer = at(Stage.OPENING)
    ack(proposer, "a", 4)
    effects = ack(proposer, "b", 4)
    told = [(e.voter, e.append.entries, e.append.committed) for e in effects if isinstance(e, SendAppend)]
    assert told == [("a", (), 4), ("b", (), 4)]
    assert ack(proposer, "a", 4) == []
    assert [e.append.committed for e in ack(proposer, "c", 4) if isinstance(e, SendAppend)] == [4]


def test_appends_are_pipelined_and_each_acknowledgement_commits_what_it_covers() -> None:
    proposer = at(Stage.OPENING, voters=("a",))
    for number in range(3):
        (sent,) = proposer.handle(Opened(number, [Draft(Kind.EVENT, b"{}")]))
        assert isinstance(sent, SendAppend)
        assert (sent.append.after_seq, len(sent.append.entries)) == (4 + number, 1)
    assert ack(proposer, "a", 5) == [Committed(5)]
    assert ack(proposer, "a", 4) == []
    assert ack(proposer, "a", 7) == [Committed(7)]


def test_a_gap_is_filled_from_what_the_voter_knows_to_be_committed() -> None:
    proposer = at(Stage.OPENING)
    for known, expected in ((1, 1), (9, 4)):
        (sent,) = proposer.handle(AppendAnswered("c", FENCE, no(Refusal.GAP, committed=known)))
        assert isinstance(sent, SendAppend)
        assert (sent.voter, sent.append.after_seq, len(sent.append.entries)) == ("c", expected, 4 - expected)


def test_an_owner_is_lost_when_no_majority_can_follow_it() -> None:
    proposer = at(Stage.OPENING)
    newer = Fence(5, "s5")
    assert proposer.handle(AppendAnswered("a", FENCE, no(Refusal.FENCED, newer))) == []
    assert proposer.handle(AppendAnswered("a", Fence(1, "s1"), no(Refusal.FENCED, newer))) == []
    assert proposer.handle(AppendAnswered("c", FENCE, no(Refusal.PURGED, newer))) == [Lost("purged", newer)]


@pytest.mark.parametrize(
    "wrong", [Appended(Fence(1, "s1"), 4, "right"), Appended(FENCE, 4, "another"), Appended(FENCE, 99, "right")]
)
def test_an_acknowledgement_of_something_else_stops_the_process(wrong: Appended) -> None:
    proposer = at(Stage.OPENING)
    right = proposer.log[3].hash
    answer = Appended(wrong.fence, wrong.seq, right if wrong.hash == "right" else wrong.hash)
    with pytest.raises(InvariantViolation):
        proposer.handle(AppendAnswered("a", FENCE, answer))


def test_what_is_unanswered_is_sent_again() -> None:
    assert Proposer(TASK, FENCE, (ABC,)).handle(Elapsed()) == []
    asking = at(Stage.ASKING)
    asking.handle(PreVoted("b", FENCE, yes()))
    assert asking.handle(Elapsed()) == [SendPreVote("a", CLAIM), SendPreVote("c", CLAIM)]
    assert at(Stage.CLAIMING).handle(Elapsed()) == [SendClaim(voter, CLAIM) for voter in ABC]
    assert at(Stage.READING).handle(Elapsed()) == [ReadPrefix("a", OLD_TIP)]
    assert at(Stage.ADOPTED).handle(Elapsed()) == []
    opening = at(Stage.OPENING)
    ack(opening, "b", 4)
    again = [(e.voter, e.append.after_seq) for e in opening.handle(Elapsed()) if isinstance(e, SendAppend)]
    assert again == [("a", 3), ("c", 3)]
    ack(opening, "c", 4)  # commits; the words of it to both are lost
    again = [(e.voter, e.append.after_seq) for e in opening.handle(Elapsed()) if isinstance(e, SendAppend)]
    assert again == [("a", 3), ("b", 4), ("c", 4)]
    heard = Appended(FENCE, 4, opening.log[3].hash, 4)
    assert opening.handle(AppendAnswered("b", FENCE, heard)) == []
    again = [(e.voter, e.append.after_seq) for e in opening.handle(Elapsed()) if isinstance(e, SendAppend)]
    assert again == [("a", 3), ("c", 4)]
    alone = at(Stage.OPENING, voters=("a",))
    assert len(alone.handle(Elapsed())) == 1
    ack(alone, "a", 4)
    assert alone.handle(Elapsed()) == []


def test_only_those_are_asked_again_to_whom_nothing_is_under_way() -> None:
    for stage in (Stage.ASKING, Stage.CLAIMING, Stage.OPENING):
        again = at(stage).handle(Elapsed(("a", "c", "stranger")))
        assert [each.voter for each in again if not isinstance(each, OpenJournal | Committed | Lost)] == ["a", "c"]
    assert at(Stage.READING).handle(Elapsed(("b", "c"))) == []
    assert at(Stage.READING).handle(Elapsed(("a",))) == [ReadPrefix("a", OLD_TIP)]


def test_who_is_not_asked_again_still_gets_what_follows() -> None:
    opening = at(Stage.OPENING)
    opening.handle(Elapsed(("c",)))
    sent = opening.handle(Opened(6, [Draft(Kind.EVENT, b"{}")]))
    assert [(e.voter, e.append.after_seq) for e in sent if isinstance(e, SendAppend)] == [
        ("a", 4),
        ("b", 4),
        ("c", 4),
    ]
