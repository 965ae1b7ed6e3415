"""Who is accused speaks anew; who was away comes back; who leaves is left in peace."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.gossip.effect import NameTaken, StoreLife
from bridge.gossip.member import Incarnation, State
from bridge.gossip.message import Kind, Message, build
from bridge.gossip.owners import Tenure
from bridge.gossip.roster import Moved
from bridge.journal import Fence
from tests.unit.gossip.circle import PERIOD, alone, ping, sends, settled
from tests.unit.gossip.records import accused, told


def test_who_is_accused_speaks_anew_and_hears_of_it_with_the_next_message() -> None:
    me = alone()
    (ack,) = sends(me.receive(ping("a", accused=(("me", accused(3, 0, "x")),)), 0, 1))
    assert me.me.incarnation == Incarnation(3, 1)
    assert [row[:3] for row in ack.message["told"]] == [["me", 3, 1], ["a", 1, 0]] or ack.message["told"][0][
        2
    ] == 1
    assert me.slowness == 1
    # Long refuted: whoever still says so is told, and nothing else happens.
    me.tick(1_000, 1)
    (ack,) = sends(me.receive(ping("a", accused=(("me", accused(3, 0, "x")),)), 1_000, 1))
    assert (me.me.incarnation, ack.message["told"][0][2]) == (Incarnation(3, 1), 1)
    # And the other way round: who is suspected is told so.
    me.receive(ping("b", accused=(("a", accused(1, 0, "b")),)), 1_100, 1)
    (ack,) = sends(me.receive(ping("a", told=()), 1_200, 1))
    assert ack.message["accused"][0] == ["a", 1, 0, "b"]


def test_a_life_that_the_disk_has_forgotten_is_outbid_and_stored() -> None:
    me = alone()
    effects = me.receive(ping("a", accused=(("me", accused(9, 4, "x")),)), 0, 1)
    assert StoreLife(9) in effects
    assert me.me.incarnation == Incarnation(9, 5)
    effects = me.receive(ping("a", told=(told("me", 9, 7, session="before"),)), 10, 1)
    assert NameTaken("before") in effects
    assert me.me.incarnation == Incarnation(9, 8)


def test_two_under_one_name_do_not_outbid_each_other_faster_than_once_a_period() -> None:
    me = alone()
    for number in range(50):
        word = me.me.incarnation.word + 1
        me.receive(ping("a", told=(told("me", 3, word, session="copy"),)), number * 10, 1)
    assert me.me.incarnation == Incarnation(3, 2)
    assert (
        me.receive(ping("me", told=(told("me", 3, 9, session="copy"),)), 600, 1) == []
    )  # its own name: no answer
    assert me.receive(ping("me", told=(told("me", 3, 9, session="copy"),)), 2_000, 1) == [NameTaken("copy")]


def test_behind_the_last_word_of_a_life_comes_the_next_life() -> None:
    me = alone()
    effects = me.receive(ping("a", accused=(("me", accused(3, 2**53 - 1, "x")),)), 0, 1)
    assert me.me.incarnation == Incarnation(4, 0)
    assert StoreLife(4) in effects


def test_its_own_words_that_come_back_are_no_contest() -> None:
    me = alone()
    assert me.receive(ping("me", told=(me.me, told("me", 2, 99, session="earlier"))), 0, 1) == []
    assert me.me.incarnation == Incarnation(3, 0)


def test_a_healed_partition_is_noticed_though_all_across_were_dead() -> None:
    circle = settled("a", "b", "c", "d", "e")
    sides = {name: name in "ab" for name in "abcde"}
    circle.passes = lambda sender, send: bool(send.to) and sides[sender] == sides[send.to]
    circle.members["a"].announce("t1", Fence(1, "a1"), Tenure.OWNS)
    circle.members["e"].announce("t2", Fence(1, "e1"), Tenure.OWNS)
    circle.run(120 * PERIOD)
    assert circle.members["a"].roster.state("e") is circle.members["e"].roster.state("a") is State.DEAD
    circle.seen.clear()
    circle.passes = lambda sender, send: bool(send.to)  # not even seeds are greeted
    circle.run(12 * PERIOD)
    assert all(set(circle.states(name).values()) == {State.ALIVE} for name in "abcde")
    assert not [effect for _, effect in circle.seen if isinstance(effect, Moved) and effect.after is State.DEAD]
    for member in circle.members.values():
        assert [record is not None for record in map(member.owners.of, ("t1", "t2"))] == [True, True]


def test_a_restart_is_above_everything_that_was_said_of_the_life_before() -> None:
    circle = settled("a", "b", "c")
    circle.down["c"] = None
    circle.run(40 * PERIOD)
    assert set(circle.states("c").values()) == {State.DEAD}
    del circle.down["c"]
    circle.add(told("c", 2))
    circle.run(2 * PERIOD)
    assert set(circle.states("c").values()) == {State.ALIVE}


def test_what_changes_is_said_to_all_and_what_does_not_is_not() -> None:
    circle = settled("a", "b", "c")
    me = circle.members["a"]
    me.say(me.me)
    assert me.me.incarnation == Incarnation(1, 0)
    me.say(told("other name", 7, 7, session="other", peer_url=me.me.peer_url, ready=True, capacity=5, left=True))
    assert (me.me.name, me.me.incarnation, me.me.session, me.me.left) == ("a", Incarnation(1, 1), "a1", False)
    circle.run(PERIOD)
    for name in "bc":
        member = circle.members[name].roster.of("a")
        assert member is not None
        assert (member.told.ready, member.told.capacity) == (True, 5)
    assert circle.seen == []


def test_how_much_capacity_is_left_is_told_soon_and_that_there_is_none_at_once() -> None:
    me = alone()
    facts = me.me._replace(capacity=5)
    me.say(facts)
    assert me.me.capacity == 5
    for capacity in (4, 3, 2, 3, 2):
        me.say(facts._replace(capacity=capacity))
        assert me.me.capacity == 5
    for second in range(11):
        me.tick(second * PERIOD, 1)
    assert (me.me.capacity, me.me.incarnation.word) == (2, 2)
    me.say(facts._replace(capacity=0))
    assert (me.me.capacity, me.me.incarnation.word) == (0, 3)
    me.say(facts._replace(capacity=0, draining=True))
    assert (me.me.draining, me.me.incarnation.word) == (True, 4)


def test_who_leaves_says_so_and_is_left_in_peace() -> None:
    circle = settled("a", "b", "c", "d")
    me = circle.members["d"]
    me.leave()
    assert not me.quiet
    circle.run(5 * PERIOD)
    assert me.quiet
    assert set(circle.states("d").values()) == {State.LEFT}
    circle.sent.clear()
    circle.run(20 * PERIOD)
    assert not [send for name, send in circle.sent if name == "d" or send.to == "d"]
    # It still answers who asks, refutes nothing and fights for nothing.
    news = {"told": (told("x"), told("d", 9, session="next")), "accused": (("d", accused(5, 0, "x")),)}
    value = ping("x", **news) | {"to": "d"}
    assert [send.message["kind"] for send in sends(me.receive(value, circle.now_ms, 1))] == ["ack"]
    assert (
        sends(me.receive(build(Message(Kind.SYNC, "x", "d", members=(1,), owners=(1,))), circle.now_ms, 1)) == []
    )
    assert me.me.incarnation == Incarnation(1, 1)
    circle.run(5 * PERIOD)
    assert me.quiet


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 4)), max_size=8))
def test_a_member_that_lives_and_answers_is_never_dead_for_what_one_accuser_says(
    said: list[tuple[int, int]],
) -> None:
    circle = settled("a", "b", "c", "d")
    for periods, word in said:
        circle.run(periods * PERIOD)
        for name in "bc":
            value = ping("a", told=(), accused=(("d", accused(1, word, "a")),)) | {"to": name}
            circle.carry_out(name, circle.members[name].receive(value, circle.now_ms, circle.draw()))
    circle.run(40 * PERIOD)
    assert not [effect for _, effect in circle.seen if isinstance(effect, Moved) and effect.after is State.DEAD]
    assert set(circle.states("d").values()) == {State.ALIVE}
