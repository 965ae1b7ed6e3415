"""Where members stand: suspected by one, dead by two and time, back by their own word, forgotten last."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.gossip.draws import Draws
from bridge.gossip.member import Accusation, Incarnation, State
from bridge.gossip.pace import Pace
from bridge.gossip.roster import Moved, Roster
from tests.unit.gossip.records import accused, told

LONG = 10**9


def roster(*names: str, members_max: int = 100) -> Roster:
    known = Roster(told("me"), Pace(), members_max)
    for name in names:
        assert known.hear_told(told(name), 0, Draws(1)) == (True, [Moved(name, None, State.ALIVE)])
    return known


def accuse(known: Roster, name: str, *by: str, word: int = 0, now_ms: int = 0) -> list[Moved]:
    news, moved = known.hear_accused(name, accused(1, word, *by), now_ms)
    assert news
    return moved


def kill(known: Roster, name: str) -> None:
    accuse(known, name, "x", "y", "z")
    assert known.overdue(LONG) == [Moved(name, State.SUSPECT, State.DEAD)]


def test_one_accuser_is_not_enough_and_two_are_after_a_while() -> None:
    known = roster("a", "b", "c", "d")
    assert accuse(known, "a", "b", now_ms=1_000) == [Moved("a", State.ALIVE, State.SUSPECT)]
    assert known.overdue(LONG) == []
    assert accuse(known, "a", "c") == []
    wait = Pace().suspicion_ms(5, 2)
    assert known.overdue(1_000 + wait - 1) == []
    assert known.overdue(1_000 + wait) == [Moved("a", State.SUSPECT, State.DEAD)]
    assert known.dead.names() == ["a"]
    assert known.overdue(LONG) == []


def test_a_third_who_finds_the_same_shortens_the_wait() -> None:
    known = roster("a", "b", "c", "d")
    accuse(known, "a", "b", "c", "d")
    assert known.overdue(Pace().suspicion_ms(5, 3) - 1) == []
    assert known.overdue(Pace().suspicion_ms(5, 3)) != []


def test_who_is_alone_comes_to_a_conclusion_by_itself() -> None:
    known = roster("a", "b")
    accuse(known, "a", "me")
    accuse(known, "b", "me")
    assert len(known.alive) == 0
    assert known.overdue(Pace().suspicion_ms(3, 1) - 1) == []
    assert known.overdue(Pace().suspicion_ms(3, 1)) == [
        Moved("a", State.SUSPECT, State.DEAD),
        Moved("b", State.SUSPECT, State.DEAD),
    ]


def test_only_its_own_newer_word_brings_a_member_back() -> None:
    known = roster("a", "b", "c")
    accuse(known, "a", "b")
    assert known.hear_told(told("a"), 0, Draws(1)) == (False, [])
    assert known.hear_told(told("a", 1, 1), 0, Draws(1)) == (True, [Moved("a", State.SUSPECT, State.ALIVE)])
    accuse(known, "a", "b", "c", word=1)
    known.overdue(LONG)
    assert known.hear_told(told("a", 1, 1), 0, Draws(1)) == (False, [])
    # It restarted: its new life is above everything that was said of the old one.
    assert known.hear_told(told("a", 2, 0), 0, Draws(1)) == (True, [Moved("a", State.DEAD, State.ALIVE)])
    assert known.dead.names() == []


def test_an_old_accusation_is_no_news() -> None:
    known = roster("a", "b")
    known.hear_told(told("a", 1, 5), 0, Draws(1))
    assert known.hear_accused("a", accused(1, 4, "b"), 0) == (True, [])  # known, and refuted
    assert known.state("a") is State.ALIVE
    assert known.hear_accused("a", accused(1, 3, "b"), 0) == (False, [])
    assert known.hear_accused("nobody", accused(1, 3, "b"), 0) == (False, [])


def test_who_leaves_is_not_suspected_and_comes_back_by_a_new_life() -> None:
    known = roster("a", "b")
    assert known.hear_told(told("a", 1, 1, left=True), 0, Draws(1)) == (
        True,
        [Moved("a", State.ALIVE, State.LEFT)],
    )
    assert accuse(known, "a", "b", word=9) == []
    assert known.overdue(LONG) == []
    assert known.hear_told(told("new", left=True), 0, Draws(1)) == (False, [])
    assert known.hear_told(told("a", 2), 0, Draws(1))[1] == [Moved("a", State.LEFT, State.ALIVE)]


def test_who_answers_directly_gets_its_time_anew() -> None:
    known = roster("a", "b", "c")
    accuse(known, "a", "b", "c")
    known.answered("a", 50_000)
    known.answered("b", 50_000)
    assert known.overdue(50_000 + Pace().suspicion_ms(4, 2) - 1) == []
    # While this member stands still nobody's time runs.
    known.slept(7_000)
    assert known.overdue(57_000 + Pace().suspicion_ms(4, 2) - 1) == []
    assert known.overdue(57_000 + Pace().suspicion_ms(4, 2)) != []


def test_everybody_has_its_turn_once_in_each_round() -> None:
    known = roster("a", "b", "c", "d")
    accuse(known, "b", "a")
    kill(known, "d")
    draws = Draws(3)
    turns = [known.next_turn(draws) for _ in range(30)]
    rounds = [{*turns[start : start + 3]} for start in range(3, 30, 3)]
    assert all(each == {"a", "b", "c"} for each in rounds)
    assert len({tuple(turns[start : start + 3]) for start in range(0, 30, 3)}) > 2
    known.hurry("c")
    assert known.next_turn(draws) == "c"
    assert roster().next_turn(draws) is None


def test_the_longest_gone_is_forgotten_first_and_only_where_there_is_no_room() -> None:
    known = roster("a", "b", "c", members_max=4)
    assert known.hear_told(told("d"), 0, Draws(1)) == (False, [])
    known.hear_told(told("b", 1, 1, left=True), 0, Draws(1))
    kill(known, "a")
    assert known.hear_told(told("d"), 0, Draws(1)) == (
        True,
        [Moved("b", State.LEFT, None), Moved("d", None, State.ALIVE)],
    )
    assert known.hear_told(told("e"), 0, Draws(1))[1][0] == Moved("a", State.DEAD, None)
    assert (known.of("a"), known.state("a"), known.dead.names()) == (None, None, [])
    assert [(member.told.name, state) for member, state in known.all()] == [
        (name, State.ALIVE) for name in ("c", "d", "e", "me")
    ]


def test_who_knows_the_same_living_has_the_same_digest() -> None:
    one, other = roster("a", "b", "c"), roster("c", "a")
    assert one.buckets.root != other.buckets.root
    kill(one, "b")
    assert one.buckets.root == other.buckets.root
    accuse(one, "a", "c")
    assert one.buckets.root != other.buckets.root
    accuse(other, "a", "x")
    assert one.buckets.root == other.buckets.root
    one.speak(told("me", 1, 1))
    assert one.buckets.root != other.buckets.root
    assert len(one) == len(other) == 3


def test_a_standby_is_of_the_group_alive_ready_and_has_room() -> None:
    able: dict[str, Any] = {"group": "g", "ready": True, "capacity": 1}
    known = Roster(told("me", **able), Pace())
    others = {
        "a": able,
        "other": able | {"group": "h"},
        "away": able | {"ready": False},
        "drains": able | {"draining": True},
        "full": able | {"capacity": 0},
        "quiet": able,
    }
    for name, said in others.items():
        known.hear_told(told(name, **said), 0, Draws(1))
    accuse(known, "quiet", "a")
    assert known.able("g") == ["a", "me"]


def test_a_member_that_left_says_so_of_itself() -> None:
    known = roster("a")
    known.speak(told("me", 1, 1, left=True))
    assert known.state("me") is State.LEFT


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60_000)), max_size=30))
def test_no_living_member_is_declared_dead_by_one_accuser(said: list[tuple[int, int]]) -> None:
    """Whatever one accuser says, as often as it likes: while others live, its word alone kills nobody."""
    known = roster("a", "b", "liar")
    now = 0
    for word, later in said:
        now += later
        known.hear_accused("a", Accusation(Incarnation(1, word), ("liar",)), now)
        assert known.overdue(now) == []
    assert known.state("a") in (State.ALIVE, State.SUSPECT)
    assert known.overdue(LONG) == []
