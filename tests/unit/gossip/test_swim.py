"""A few members, step by step: who is found, who is probed how, and who is suspected."""

from bridge.gossip.member import State
from bridge.gossip.message import Kind, Message, News, build
from bridge.gossip.roster import Moved
from bridge.gossip.swim import Gossip
from tests.unit.gossip.circle import PERIOD, alone, ping, sends, settled
from tests.unit.gossip.records import told


def live_among(me: Gossip, *others: str, seconds: range) -> list[str]:
    """Others answer every ping; to whom it sent what."""
    sent: list[str] = []
    for name in others:
        me.receive(ping(name), seconds[0] * PERIOD, 1)
    for second in seconds:
        for send in sends(me.tick(second * PERIOD, second)):
            sent.append(send.to)
            if send.seq:
                me.receive(build(Message(Kind.ACK, send.to, "me", seq=send.seq)), second * PERIOD, 1)
    return sent


def test_members_find_each_other_by_one_seed_and_then_cost_two_messages_a_period() -> None:
    circle = settled("a", "b", "c", "d", "e")
    circle.run(10 * PERIOD)
    kinds = circle.kinds()
    assert kinds.count("ping") == kinds.count("ack") == 50
    assert kinds.count("sync") == 5
    assert len(kinds) == 105
    assert circle.seen == []


def test_a_seed_is_greeted_for_ever_until_it_lives() -> None:
    me = alone("http://me:8473/", "http://s:8473/")
    for second in range(100):
        (send,) = sends(me.tick(second * PERIOD, second))
        assert (send.to, send.url, send.message["kind"], send.message["to"]) == ("", "http://s:8473", "sync", "")
        assert send.message["told"][0][0] == "me"
        assert me.due_ms <= (second + 1) * PERIOD
    # Somebody else is there now: greetings become rare, and do not end.
    greeted = live_among(me, "other", seconds=range(100, 160))
    assert 5 <= greeted.count("") <= 7
    # And where the seed itself is there, it is greeted no more.
    assert "" not in live_among(me, "other", "s", seconds=range(160, 190))


def test_who_is_alone_without_seeds_sends_nothing_and_beats_once_in_a_period() -> None:
    me = alone()
    assert me.quiet
    for second in range(1, 30):
        assert me.due_ms <= second * PERIOD
        assert me.tick(second * PERIOD, 1) == []


def test_who_dies_is_suspected_first_by_one_and_then_dead_for_all() -> None:
    circle = settled("a", "b", "c", "d", "e")
    circle.down["e"] = None
    circle.run(4 * PERIOD)
    assert set(circle.states("e").values()) == {State.SUSPECT}
    kinds = circle.kinds()
    assert {"ask", "nack"} < {*kinds}
    circle.run(30 * PERIOD)
    assert set(circle.states("e").values()) == {State.DEAD}
    assert {circle.members[name].slowness for name in "abcd"} == {0}  # scouts said that it was not their fault
    assert sorted(name for name, effect in circle.seen if effect == Moved("e", State.SUSPECT, State.DEAD)) == [
        *"abcd"
    ]


def test_who_does_not_hear_one_member_is_pinged_by_others_and_not_suspected() -> None:
    circle = settled("a", "b", "c", "d")
    circle.passes = lambda sender, send: {sender, send.to} != {"a", "b"}
    circle.run(30 * PERIOD)
    assert circle.kinds().count("ask") >= 10
    assert circle.seen == []
    assert {member.slowness for member in circle.members.values()} == {0}


def test_one_that_hears_nothing_accuses_all_and_nobody_is_held_for_dead_by_another() -> None:
    circle = settled("a", "b", "c", "d", "e")
    circle.passes = lambda _sender, send: send.to != "e"
    circle.run(60 * PERIOD)
    assert set(circle.states("e").values()) == {State.DEAD}  # nobody gets an answer from it
    dead = [
        (name, effect) for name, effect in circle.seen if isinstance(effect, Moved) and effect.after is State.DEAD
    ]
    assert {effect.name for name, effect in dead if name != "e"} == {"e"}
    assert circle.members["e"].slowness == 8  # it takes itself for slow, not the others for dead
    circle.passes = lambda _sender, _send: True
    circle.run(30 * PERIOD)
    assert all(set(circle.states(name).values()) == {State.ALIVE} for name in "abcde")


def test_a_slow_answer_counts_and_a_member_that_misses_answers_stretches_its_times() -> None:
    me = alone()
    me.receive(ping("a"), 0, 1)
    begun = [me.tick(second * PERIOD, 1) for second in (1, 2)]
    pings = [send for effects in begun for send in sends(effects) if send.message["kind"] == "ping"]
    assert pings
    me.tick(2_500, 1)
    me.tick(3_600, 1)
    assert (me.roster.state("a"), me.slowness) == (State.SUSPECT, 1)
    # Its next period is twice as long, and an answer brings it back.
    times = [(ms, send.seq) for ms in range(3_700, 6_000, 100) for send in sends(me.tick(ms, 1)) if send.seq]
    ((begun_ms, seq),) = times
    assert begun_ms == 4_600  # the one before began at 2,500: its answer had 1,000, its scouts another 1,000
    me.receive(build(Message(Kind.ACK, "a", "me", seq=seq)), 5_600, 1)
    assert me.slowness == 0


def test_nobody_at_the_address_is_as_good_as_no_answer_only_faster() -> None:
    circle = settled("a", "b", "c")
    circle.down["c"] = None
    me = circle.members["a"]
    while not (pinged := [send for name, send in circle.sent if (name, send.to) == ("a", "c") and send.seq]):
        circle.run(PERIOD // 10)
    circle.down["b"] = None  # so that its answer can be given by hand
    asks = sends(me.refused(pinged[-1].seq, circle.now_ms, 1))
    assert [(ask.to, ask.message["kind"], ask.message["target"]) for ask in asks] == [("b", "ask", "c")]
    assert me.refused(pinged[-1].seq, circle.now_ms, 1) == []
    effects = me.receive(
        build(Message(Kind.NACK, "b", "a", seq=asks[0].message["seq"])), circle.now_ms, circle.draw()
    )
    assert Moved("c", State.ALIVE, State.SUSPECT) in effects
    assert me.slowness == 0


def test_a_scout_pings_answers_and_says_when_it_got_no_answer() -> None:
    me = alone()
    me.receive(ping("asker"), 0, 1)
    ask = Message(Kind.ASK, "asker", "me", News((told("t"),)), seq=77, target="t", wait_ms=500)
    (pinged,) = sends(me.receive(build(ask), 0, 1))
    assert (pinged.to, pinged.message["kind"]) == ("t", "ping")
    (ack,) = sends(me.receive(build(Message(Kind.ACK, "t", "me", seq=pinged.seq)), 10, 1))
    assert (ack.to, ack.message["kind"], ack.message["seq"]) == ("asker", "ack", 77)
    (pinged,) = sends(me.receive(build(ask), 100, 1))
    assert me.due_ms <= 500
    nacks = [send for send in sends(me.tick(500, 1)) if send.message["kind"] == "nack"]
    assert [(nack.to, nack.message["seq"]) for nack in nacks] == [("asker", 77)]
    (pinged,) = sends(me.receive(build(ask), 600, 1))
    (nack,) = sends(me.refused(pinged.seq, 601, 1))
    assert (nack.to, nack.message["kind"]) == ("asker", "nack")
    # Of somebody that nobody introduced, nobody knows where it is.
    assert sends(me.receive(build(Message(Kind.ASK, "asker", "me", seq=78, target="x", wait_ms=5)), 700, 1)) == []
    for number in range(300):
        me.receive(build(Message(Kind.ASK, "asker", "me", seq=number, target="t", wait_ms=60_000)), 800, 1)
    assert sends(me.receive(build(ask), 800, 1)) == []


def test_a_probe_of_somebody_who_leaves_meanwhile_ends_without_a_verdict() -> None:
    me = alone()
    me.receive(ping("a"), 0, 1)
    (send,) = (send for second in (1, 2) for send in sends(me.tick(second * PERIOD, 1)) if send.seq)
    me.receive(ping("b", told=(told("b"), told("a", 1, 1, left=True))), 2_100, 1)
    assert all(send.message["kind"] != "ask" for send in sends(me.tick(2_700, 1)))
    assert me.roster.state("a") is State.LEFT
    assert me.refused(send.seq, 2_800, 1) == []


def test_whoever_stood_still_blames_nobody() -> None:
    circle = settled("a", "b", "c")
    circle.down["a"] = None  # it is stopped; the others go on, and suspect it
    circle.run(10 * PERIOD)
    assert set(circle.states("a").values()) == {State.DEAD}
    del circle.down["a"]
    circle.run(STEP := 50)
    me = circle.members["a"]
    assert me.slowness == 1
    assert {me.roster.state(name) for name in "bc"} == {State.ALIVE}
    circle.run(15 * PERIOD - STEP)
    assert set(circle.states("a").values()) == {State.ALIVE}
    assert {effect.name for name, effect in circle.seen if isinstance(effect, Moved)} == {"a"}
