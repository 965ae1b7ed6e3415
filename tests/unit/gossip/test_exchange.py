"""Comparing tables costs nothing where they are equal, and otherwise makes them so, in bounded messages."""

from typing import Any

from bridge.gossip.draws import Draws
from bridge.gossip.exchange import TABLE_BYTES_MAX, Exchange
from bridge.gossip.message import Kind, Message, build
from bridge.gossip.owners import Owned, OwnerView, Tenure
from bridge.gossip.pace import Pace
from bridge.gossip.roster import Roster
from bridge.jsontext import write
from tests.unit.gossip.records import accused, owned, told


class Side:
    """One member's tables."""

    def __init__(self, name: str, *names: str) -> None:
        self.name = name
        self.roster, self.owners = Roster(told(name), Pace()), OwnerView(name)
        self.exchange = Exchange(name, self.roster, self.owners)
        for each in names:
            self.hear(told(each))

    def hear(self, *said: Any) -> None:
        for each in said:
            if isinstance(each, Owned) and each.owner == self.name:
                self.owners.announce(each.task, each.fence, each.tenure, each.stamp.life)
            elif isinstance(each, Owned):
                self.owners.hear(each, 1)
            else:
                self.roster.hear_told(each, 0, Draws(1))

    def take(self, message: Message) -> None:
        self.hear(*message.news.told)
        for record in message.news.owned:
            self.owners.hear(record, 1)
        for name, accusation in message.news.accused:
            self.roster.hear_accused(name, accusation, 0)

    def roots(self) -> tuple[int, int]:
        return self.roster.buckets.root, self.owners.buckets.root


def compare(one: Side, other: Side, drawn: int = 1) -> list[Message]:
    """All messages of one comparison."""
    sync = one.exchange.sync("b")
    digests = other.exchange.digests(sync)
    if digests is None:
        return [sync]
    offer = one.exchange.offer(digests, Draws(drawn))
    other.take(offer)
    answer = other.exchange.answer(offer)
    one.take(answer)
    return [sync, digests, offer, answer]


def test_equal_tables_cost_one_small_message() -> None:
    one, other = Side("a", "b", "c"), Side("b", "a", "c")
    (sync,) = compare(one, other)
    assert len(write(build(sync))) < 150


def test_each_side_gets_what_it_lacks() -> None:
    one, other = Side("a", "b", "c", "d"), Side("b", "a", "c", "e")
    one.hear(owned("t", 1, "a", 1), owned("u", 2, "c", 1), told("c", 1, 3))
    other.hear(owned("u", 1, "b", 1), owned("v", 1, "b", 2))  # what it owns itself is announced
    other.roster.hear_accused("a", accused(1, 0, "e"), 0)
    messages = compare(one, other)
    assert [message.kind for message in messages] == [Kind.SYNC, Kind.DIGESTS, Kind.OFFER, Kind.ANSWER]
    assert one.roots()[1] == other.roots()[1]
    assert sorted(member.told.name for member, _ in one.roster.all()) == ["a", "b", "c", "d", "e"]
    assert one.owners.of("v") == owned("v", 1, "b", 2)
    # That it is accused goes to the member itself, which refutes it; its table of itself is not touched by others.
    assert messages[-1].news.accused == (("a", accused(1, 0, "e")),)
    assert not messages[-1].more


def test_only_the_table_that_differs_is_looked_at() -> None:
    one, other = Side("a", "b"), Side("b", "a")
    one.hear(owned("t", 1, "a", 1))
    _, digests, offer, answer = compare(one, other)
    assert (digests.members, offer.members, offer.news.told) == ((), (), ())
    assert answer.news == ((), (), ())
    other.hear(told("c"))
    _, digests, *_ = compare(one, other)
    assert digests.owners == ()


def test_who_takes_somebody_for_living_hears_why_he_is_not() -> None:
    one, other = Side("a", "b", "d", "l", "x"), Side("b", "a", "d", "l", "x")
    other.roster.hear_accused("d", accused(1, 0, "x", "y"), 0)
    other.roster.overdue(10**9)
    other.hear(told("l", 1, 1, left=True))
    compare(one, other)
    assert [str(one.roster.state(name)) for name in "dl"] == ["suspect", "left"]


def test_who_believes_in_an_owner_hears_that_it_ended() -> None:
    one, other = Side("a", "b"), Side("b", "a")
    one.hear(owned("t", 1, "c", 1))
    other.hear(owned("t", 1, "c", 1), owned("t", 1, "c", 2, Tenure.ENDED))
    compare(one, other)
    assert one.owners.of("t") == owned("t", 1, "c", 2, Tenure.ENDED)
    assert len(compare(one, other)) == 1


def test_what_the_other_has_forgotten_is_not_brought_back() -> None:
    one, other = Side("a", "b"), Side("b", "a")
    other.owners = OwnerView("b", 2)
    other.exchange = Exchange("b", other.roster, other.owners)
    one.hear(owned("t1", 1, "c", 1))
    other.hear(*(owned(f"t{number}", 1, "c", number, Tenure.ENDED) for number in range(1, 5)))
    *_, answer = compare(one, other)
    assert other.owners.of("t1") is None
    assert answer.news.owned == ()


def test_messages_are_bounded_and_everything_gets_over_in_the_end() -> None:
    one, other = Side("a", "b"), Side("b", "a")
    one.hear(*(owned(f"task-{number}", 1, "a", number) for number in range(4_000)))
    other.hear(*(owned(f"work-{number}", 1, "b", number) for number in range(4_000)))
    other.hear(*(told(f"m{number}", group="g" * 100) for number in range(300)))
    rounds = 0
    while len(messages := compare(one, other, drawn=rounds)) > 1:
        assert max(len(write(build(message))) for message in messages) < 2 * TABLE_BYTES_MAX + 1_000
        assert rounds == 0 or messages[-1].news != ((), (), ())
        rounds += 1
    assert 4 < rounds < 40
    assert one.roots() == other.roots()


def test_a_bucket_that_is_too_large_goes_in_parts() -> None:
    one, other = Side("a", "b"), Side("b", "a")
    tasks = [f"task-{number}-{'x' * 80}" for number in range(100_000)]
    bucket = one.owners.buckets.bucket_of(tasks[0])
    tasks = [task for task in tasks if one.owners.buckets.bucket_of(task) == bucket]
    one.hear(*(owned(task, 1, "a", 1) for task in tasks))
    *_, offer, answer = compare(one, other)
    assert offer.owners == (bucket,)
    assert 0 < len(other.owners) < len(one.owners)
    assert not answer.more
    rounds = 0
    while len(compare(one, other, drawn=rounds)) > 1:
        rounds += 1
    assert 1 < rounds < 40
    # The other way round, the answer says that there is more.
    third = Side("c", "a")
    third.hear(owned(tasks[0], 9, "c", 1))
    *_, answer = compare(third, one)
    assert answer.more
