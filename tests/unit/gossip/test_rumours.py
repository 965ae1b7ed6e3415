"""News is passed on so many times, the new before the old, within the room of a message and of the memory."""

import pytest

from bridge.gossip.news import Spread
from bridge.gossip.owners import Tenure
from bridge.gossip.rumours import NEWS_BYTES_MAX, RUMOURS_MAX, Rumours
from tests.unit.gossip.records import accused, owned, told


def waiting(*subjects: str, kept_max: int = 10) -> Rumours[str]:
    rumours: Rumours[str] = Rumours(kept_max)
    for subject in subjects:
        rumours.add(subject, subject.upper(), 10)
    return rumours


def test_each_news_is_told_so_often_and_the_least_told_first() -> None:
    rumours = waiting("a", "b", "c")
    assert rumours.take(20, 3) == (["C", "B"], 0)
    rumours.add("d", "D", 10)
    # What was told less goes first, new before old.
    assert rumours.take(30, 3) == (["D", "A", "C"], 0)
    told = [rumours.take(10, 3)[0] for _ in range(7)]
    assert sorted(record for records in told for record in records) == ["A", "A", "B", "B", "C", "D", "D"]
    assert len(rumours) == 0
    assert rumours.take(100, 3) == ([], 100)


def test_what_was_replaced_is_not_told_any_more() -> None:
    rumours = waiting("a", "b")
    rumours.take(100, 3)
    rumours.add("a", "A2", 10)
    rumours.drop("b")
    rumours.drop("never there")
    assert rumours.take(100, 3) == (["A2"], 90)


def test_the_room_is_kept_but_for_something_that_would_never_fit() -> None:
    rumours = waiting("a")
    rumours.add("big", "BIG", 1_000)
    assert rumours.take(100, 3) == ([], 100)
    assert rumours.take(100, 3, first=True) == (["BIG"], -900)
    assert rumours.take(100, 3) == (["A"], 90)


def test_a_size_that_shrinks_ends_what_was_told_enough() -> None:
    rumours = waiting("a")
    rumours.take(100, 9)
    rumours.take(100, 9)
    assert rumours.take(100, 1) == (["A"], 90)
    assert len(rumours) == 0


def test_memory_is_bounded_and_the_most_told_goes_first() -> None:
    rumours = waiting("a", "b", kept_max=3)
    rumours.take(10, 5)  # b
    rumours.add("c", "C", 10)
    rumours.add("d", "D", 10)
    assert sorted(rumours.take(100, 5)[0]) == ["A", "C", "D"]
    for number in range(9):
        rumours.add(f"n{number}", "N", 10)
    assert len(rumours) == 3


def test_members_come_before_handoffs_but_never_with_all_of_the_room() -> None:
    spread = Spread()
    for number in range(200):
        spread.told(told(f"n{number}"))
        spread.owned(owned(f"t{number}", 1, "a", number))
    spread.accused("x", accused(1, 0, "a"))
    news = spread.take(9)
    assert [name for name, _ in news.accused] == ["x"]
    assert len(news.told) > 10
    assert len(news.owned) > 10
    assert len(spread) == 401


def test_a_members_newest_word_answers_what_was_said_before() -> None:
    spread = Spread()
    spread.accused("x", accused(1, 0, "a"))
    spread.told(told("x", 1, 1))
    assert spread.take(9) == ((told("x", 1, 1),), (), ())
    spread.accused("x", accused(1, 1, "a"))
    spread.forget("x")
    assert len(spread) == 0


@pytest.mark.parametrize("letters", [128])
def test_the_largest_word_goes_alone(letters: int) -> None:
    spread = Spread()
    name = "北" * letters
    spread.told(told(name, group=name, session=name, url="http://" + "北" * 500, peer_url="http://" + "北" * 500))
    spread.owned(owned("t", 1, "a", 1, Tenure.ENDED))
    news = spread.take(9)
    assert (len(news.told), len(news.owned)) == (1, 0)
    assert (NEWS_BYTES_MAX, RUMOURS_MAX) == (4_096, 4_096)
