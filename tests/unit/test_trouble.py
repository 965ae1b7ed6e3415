"""What is wrong for a while: told once, at a change, now and then, and at its end."""

from __future__ import annotations

from sidecar.trouble import Trouble


def told(trouble: Trouble, *said: tuple[float, str]) -> list[tuple[float, str, float]]:
    """(when, what, for how long already) of the lines that are due."""
    lines = [(at, what, trouble.wrong(what, at)) for at, what in said]
    return [(at, what, lasted) for at, what, lasted in lines if lasted is not None]


def test_what_stays_as_it_is_is_told_once_a_minute() -> None:
    said = [(100 + each * 0.75, "away") for each in range(200)]
    assert [(at, lasted) for at, _, lasted in told(Trouble(), *said)] == [(100, 0), (160, 60), (220, 120)]


def test_a_change_is_told_but_no_storm_of_them() -> None:
    said = [(each * 0.5, f"{each % 2} away") for each in range(60)]
    assert [at for at, *_ in told(Trouble(), *said)] == [0, 5.5, 11, 16.5, 22, 27.5]
    assert told(Trouble(), (0, "b away"), (6, "b and c away"), (7, "b and c away")) == [
        (0, "b away", 0),
        (6, "b and c away", 6),
    ]


def test_what_is_over_soon_is_never_told() -> None:
    trouble = Trouble(after_s=1.5)
    assert told(trouble, (0, "away"), (0.7, "away"), (1.4, "away")) == []
    assert trouble.over(1.45) is None
    assert told(trouble, (2, "away"), (3, "away"), (3.5, "away")) == [(3.5, "away", 1.5)]


def test_the_end_is_told_once_to_who_heard_of_the_beginning() -> None:
    trouble = Trouble()
    assert trouble.over(1) is None
    trouble.wrong("away", 2)
    trouble.wrong("away", 4)
    assert trouble.over(9) == 7
    assert trouble.over(10) is None
    assert trouble.wrong("away", 11) == 0  # a new one is told, however soon
