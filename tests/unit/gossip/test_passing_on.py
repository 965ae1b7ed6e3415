"""News reaches everybody, by rumour or by comparing, and bad messages change nothing."""

from typing import Any

import pytest

from bridge.errors import BridgeError
from bridge.gossip.effect import OwnerHeard
from bridge.gossip.member import State
from bridge.gossip.message import Kind, Message, build
from bridge.gossip.owners import Tenure
from bridge.gossip.pace import Pace
from bridge.gossip.roster import Moved
from bridge.journal import Fence
from tests.unit.gossip.circle import PERIOD, Circle, alone, ping, sends, settled
from tests.unit.gossip.records import owned, told


def test_an_owners_announcements_reach_all_within_a_few_rounds() -> None:
    circle = settled(*"abcdefgh")
    circle.members["a"].announce("t", Fence(1, "a1"), Tenure.OWNS)
    circle.run(3 * Pace().spread_ms)
    heard = [(name, effect.record) for name, effect in circle.seen if isinstance(effect, OwnerHeard)]
    assert sorted(heard) == [(name, owned("t", 1, "a", 1)) for name in "bcdefgh"]
    circle.run(10 * PERIOD)
    circle.members["b"].announce("t", Fence(2, "b1"), Tenure.ENDED)
    circle.run(PERIOD)
    assert {str(member.owners.of("t")) for member in circle.members.values()} == {
        str(owned("t", 2, "b", 1, Tenure.ENDED))
    }
    # Then it is quiet again.
    circle.run(5 * PERIOD)
    circle.sent.clear()
    circle.run(5 * PERIOD)
    assert "tell" not in circle.kinds()


def test_what_every_rumour_missed_is_found_by_comparing() -> None:
    circle = settled("a", "b", "c")
    circle.passes = lambda _sender, send: send.to != "c"
    circle.members["a"].announce("t", Fence(1, "a1"), Tenure.OWNS)
    circle.run(3 * PERIOD)
    circle.passes = lambda _sender, _send: True
    circle.run(25 * PERIOD)
    assert circle.members["c"].owners.of("t") is not None
    assert {"digests", "offer", "answer"} < {*circle.kinds()}


def test_what_does_not_fit_into_one_comparison_follows_at_once() -> None:
    circle = Circle("a")
    for number in range(4_000):
        circle.members["a"].announce(f"task-{number}", Fence(1, "a1"), Tenure.OWNS)
    circle.add(told("b"))
    circle.run(100)
    assert circle.kinds().count("offer") > 2
    assert len(circle.members["b"].owners) == 4_000
    # What it learned by comparing was new only to itself: it passes on no more than what it was told as news.
    news = {name: [send.message for who, send in circle.sent if who == name] for name in "ab"}
    rows = {
        name: {
            row[0] for each in messages if each["kind"] not in ("offer", "answer") for row in each.get("owned", ())
        }
        for name, messages in news.items()
    }
    assert rows["b"] <= rows["a"]
    assert len(rows["a"]) < 1_000


def test_a_member_that_is_forgotten_takes_along_what_it_owned() -> None:
    me = alone()
    me.roster._members_max = 3
    me.receive(ping("a", owned=(owned("t", 1, "a", 1),)), 0, 1)
    me.receive(ping("b", told=(told("b"), told("a", 1, 1, left=True))), 0, 1)
    effects = me.receive(ping("c"), 0, 1)
    assert Moved("a", State.LEFT, None) in effects
    assert me.owners.of("t") is None


def test_an_owner_that_hears_of_a_handoff_that_it_does_not_have_says_so_to_all() -> None:
    circle = settled("a", "b", "c")
    lost = owned("t", 1, "a", 9)
    circle.members["b"].owners.hear(lost, 1)
    circle.run(25 * PERIOD)
    found = [circle.members[name].owners.of("t") for name in "abc"]
    assert {record.tenure for record in found if record is not None} == {Tenure.LET_GO}
    assert None not in found


@pytest.mark.parametrize(
    "value",
    [
        None,
        ping("a") | {"v": 2},
        ping("a") | {"to": "you"},
        ping("a") | {"cluster": "other"},
        ping("a") | {"owned": [["t"]]},
        ping("a") | {"told": [[None]]},
        ping("a") | {"seq": "1"},
    ],
)
def test_a_bad_message_changes_nothing(value: Any) -> None:
    me = alone()
    before = (me.me, me.roster.all(), me.roster.buckets.root, me.owners.living(), me.due_ms)
    with pytest.raises(BridgeError):
        me.receive(value, 0, 1)
    assert (me.me, me.roster.all(), me.roster.buckets.root, me.owners.living(), me.due_ms) == before
    assert me.tick(1, 1) == []


def test_who_is_not_known_and_does_not_say_where_it_is_gets_no_answer() -> None:
    me = alone()
    for kind, more in ((Kind.PING, {"seq": 1}), (Kind.SYNC, {"members": (0,), "owners": (0,)})):
        assert sends(me.receive(build(Message(kind, "stranger", "me", **more)), 0, 1)) == []
    assert sends(me.receive(ping("a", told=(told("a", peer_url=""),)), 0, 1)) == []
