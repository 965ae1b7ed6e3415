"""Times follow from the cluster's size, from who accuses, and from how slow a member is itself."""

import pytest

from bridge.gossip.pace import Pace, Slowness

PACE = Pace()


@pytest.mark.parametrize(
    ("members", "accusers", "seconds"),
    [
        (2, 1, 4.0),  # nobody else could confirm it
        (3, 1, 24.0),
        (3, 2, 4.0),
        (10, 1, 24.0),
        (10, 2, 11.4),
        (10, 3, 4.0),
        (10, 0, 24.0),  # its accusers were heard of before it was known
        (100, 1, 48.0),
        (100, 3, 8.0),
        (1_000, 3, 12.0),
    ],
)
def test_a_suspicion_shrinks_with_who_confirms_it_and_grows_with_the_logarithm_of_the_cluster(
    members: int, accusers: int, seconds: float
) -> None:
    assert PACE.suspicion_ms(members, accusers) == pytest.approx(seconds * 1_000, abs=20)


def test_news_is_repeated_about_as_often_as_the_cluster_has_digits() -> None:
    assert [PACE.repeats_of(members) for members in (1, 2, 9, 10, 99, 100, 999, 1_000)] == [
        4,
        4,
        4,
        8,
        8,
        12,
        12,
        16,
    ]


def test_who_misses_answers_gives_others_more_time() -> None:
    slowness = Slowness(PACE)
    slowness.change(-1)
    assert (slowness.score, slowness.stretched(500)) == (0, 500)
    slowness.change(3)
    assert slowness.stretched(500) == 2_000
    slowness.change(100)
    assert slowness.stretched(500) == 4_500
    slowness.change(-1)
    assert slowness.score == 7
