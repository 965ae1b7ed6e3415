"""Everybody finds the same three voters, and nobody places by an old list once a new one is used."""

from itertools import combinations

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.jsontext import write
from bridge.placement import MEMBERS, MemberList, chosen, in_force, member_list, misplaced, paired, placed, usable
from bridge.proposer import Stage
from bridge.quorum import Append, Refusal, Refused, VoterView
from tests.unit.quorum_world import World

SEVEN = tuple("abcdefg")
ONE = Fence(1, "s1")
HELD = MemberList(1, SEVEN)


def test_three_voters_whatever_the_order_of_the_members() -> None:
    for number in range(50):
        task = f"t{number}"
        voters = chosen(task, SEVEN)
        assert len(set(voters)) == 3
        assert chosen(task, SEVEN[::-1]) == voters
    assert {voter for number in range(50) for voter in chosen(f"t{number}", SEVEN)} == set(SEVEN)
    assert sorted(chosen("t", ("a", "b"))) == ["a", "b"]


def test_a_member_that_leaves_moves_only_its_own_tasks() -> None:
    for number in range(50):
        before, after = chosen(f"t{number}", SEVEN), chosen(f"t{number}", SEVEN[:-1])
        assert before == after if "g" not in before else set(before) - {"g"} < set(after)


def test_the_list_is_the_newest_committed_one_of_its_journal() -> None:
    log = chain(
        genesis(MEMBERS),
        ONE,
        1,
        [
            Draft(Kind.DISPATCHED, write({"voters": SEVEN[:3]})),
            Draft(Kind.CLAIMED, b"{}"),
            Draft(Kind.VOTERS, write({"voters": SEVEN})),
        ],
    )
    assert member_list(log, 0) == MemberList(0, ())
    assert member_list(log, 2) == MemberList(1, SEVEN[:3])
    assert member_list(log, 3) == MemberList(3, SEVEN)
    bodies = (
        {"voters": SEVEN[1:], "lost": ["a"]},
        {"voters": SEVEN[2:], "lost": ["b", "a"]},
        {"voters": SEVEN[2:]},
    )
    log += chain(tip_of(MEMBERS, log), ONE, 1, [Draft(Kind.VOTERS, write(body)) for body in bodies])
    assert member_list(log, 4) == MemberList(4, SEVEN[1:], ("a",))
    assert member_list(log, 6) == MemberList(6, SEVEN[2:], ("a", "b"))


def test_a_new_list_is_used_when_no_old_three_has_a_majority_that_never_heard_of_it() -> None:
    for count in range(len(SEVEN) + 1):
        holders = SEVEN[:count]
        blind = any(sum(voter not in holders for voter in three) >= 2 for three in combinations(HELD.members, 3))
        assert usable(HELD, holders) is not blind
    assert not usable(MemberList(1, ("a",)), ())
    assert usable(MemberList(1, ("a",)), ("a",))


def test_members_that_never_vote_again_need_not_hear_of_a_new_list() -> None:
    # Two of five are lost at once: nobody could ever place by the new list, and those who hold it refuse the old.
    old, holders = MemberList(1, SEVEN[:5]), SEVEN[:3]
    assert not usable(old, holders)
    assert usable(old, holders, SEVEN[3:5])
    assert not usable(old, (), SEVEN[3:5])


FIRST, SECOND = MemberList(1, SEVEN[:5]), MemberList(4, (*SEVEN[:4], "e1"), ("e",))
THIRD = MemberList(6, (*SEVEN[:3], "d1", "e2"), ("e", "e1", "d"))


def test_a_list_is_placed_by_once_nobody_can_place_by_the_one_before() -> None:
    held = dict.fromkeys(FIRST.members, 1)
    assert in_force([FIRST], {}) == [FIRST]
    assert in_force([FIRST, SECOND], held) == [SECOND, FIRST]
    assert in_force([FIRST, SECOND], {**held, "a": 4, "b": 4}) == [SECOND, FIRST]
    assert in_force([FIRST, SECOND], {**held, "a": 4, "b": 4, "c": 4}) == [FIRST, SECOND]


def test_who_was_lost_after_a_list_was_made_keeps_no_list_from_being_used() -> None:
    # "d" went before it held the second list: with "c", which is slow, it would keep both new lists out for ever.
    assert in_force([FIRST, SECOND], {"a": 4, "b": 4, "c": 1}) == [SECOND, FIRST]
    assert in_force([FIRST, SECOND, THIRD], {"a": 6, "b": 6, "c": 1}) == [FIRST, SECOND, THIRD]
    assert in_force([FIRST, SECOND, THIRD], {"a": 6, "b": 4, "c": 4}) == [THIRD, FIRST, SECOND]


def test_while_old_repeats_may_come_both_lists_voters_are_asked() -> None:
    new = MemberList(2, SEVEN[1:])
    task = next(f"t{number}" for number in range(50) if "a" in chosen(f"t{number}", SEVEN))
    assert placed(task, [HELD]) == (chosen(task, SEVEN),)
    assert placed(task, [HELD, new]) == (chosen(task, SEVEN), chosen(task, new.members))
    unmoved = next(f"t{number}" for number in range(50) if "a" not in chosen(f"t{number}", SEVEN))
    assert len(placed(unmoved, [HELD, new])) == 1


def dispatch(voters: object, version: object, fence: Fence = ONE) -> Entry:
    body = write({"voters": voters, "list": version})
    return chain(genesis("t"), fence, 1, [Draft(Kind.DISPATCHED, body)])[0]


def sent(*entries: Entry, fence: Fence = ONE, committed: int = 0) -> Append:
    return Append("t", fence, 0, genesis("t").hash, entries, committed)


RIGHT = [*chosen("t", SEVEN)]


@pytest.mark.parametrize(("voters", "version"), [(RIGHT, 2), (RIGHT, None), (RIGHT[::-1], 1), (["a"], 1)])
def test_a_dispatch_of_another_list_or_at_other_voters_is_refused(voters: object, version: object) -> None:
    view = VoterView.empty("t")
    wrong = dispatch(voters, version)
    assert misplaced(view, sent(wrong), HELD) == Refused(Refusal.MISPLACED, view.promised, view.tip, 0)
    assert misplaced(view, sent(wrong, committed=2), HELD) is None  # it is catching up
    assert misplaced(view, sent(wrong, fence=Fence(2, "s2")), HELD) is None  # adopted by a later owner


def test_what_is_placed_by_this_list_or_no_dispatch_goes_on() -> None:
    view = VoterView.empty("t")
    right = dispatch(RIGHT, 1)
    assert misplaced(view, sent(right), HELD) is None
    assert misplaced(view, sent(), HELD) is None
    (event,) = chain(genesis("t"), ONE, 1, [Draft(Kind.EVENT, b"{}")])
    assert misplaced(view, sent(event), HELD) is None


def test_a_pairs_only_voter_is_the_other_host() -> None:
    assert paired("a", ("a", "b")) == (("a",), ("b",))
    assert paired("b", ("a", "b")) == (("b",), ("a",))


def test_the_other_host_of_a_pair_takes_over_alone_with_everything_that_was_shown() -> None:
    world = World(("b",))  # A's handoff
    owner = world.stand(1)
    world.run()
    world.offer(owner, Kind.EVENT)
    assert owner.committed == 3  # while B is away, A's handoffs wait for it
    world.run()
    assert owner.committed == 4
    world.now_ms += 1_000
    late = world.stand(2)
    world.run()
    assert late.stage is Stage.OWNING
    assert late.log[:4] == owner.log
    world.offer(owner, Kind.EVENT)
    world.run()
    assert owner.stage is Stage.LOST


def test_two_dispatches_by_two_lists_end_in_one_journal() -> None:
    old, new = ("a", "b", "c"), ("a", "d", "e")
    world = World(old)
    for name in new:
        world.disks.setdefault(name, type(world.disks["a"])(name))
    first = world.stand(1, old)
    world.run()
    assert first.stage is Stage.OWNING
    world.now_ms += 1_000
    second = world.stand(2, old, new)  # knows of no journal: a repeat at a sidecar that places by the new list
    world.run()
    assert second.stage is Stage.OWNING
    assert second.log[:3] == first.log
    assert second.voters == old
