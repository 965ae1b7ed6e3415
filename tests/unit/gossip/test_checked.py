"""Nothing comes in that is of the wrong kind or too much."""

from collections.abc import Callable

import pytest

from bridge.errors import MalformedGossip
from bridge.gossip import checked
from bridge.gossip.member import Role


@pytest.mark.parametrize(
    "take",
    [
        lambda: checked.whole(0, "x") == 0,
        lambda: checked.whole(checked.WHOLE_MAX, "x") == 2**53 - 1,
        lambda: checked.flag(False, "x") is False,
        lambda: checked.text("", "x") == "",
        lambda: checked.text("Ägypten 北京", "x") == "Ägypten 北京",
        lambda: checked.name("n" * 128, "x") == "n" * 128,
        lambda: checked.address("", "x") == "",
        lambda: checked.address("https://[::1]:8473", "x") == "https://[::1]:8473",
        lambda: checked.one_of(Role, "voter", "x") is Role.VOTER,
        lambda: checked.row([1, 2, 3], "x", 2) == [1, 2, 3],
        lambda: checked.listed([], "x", 0) == [],
    ],
)
def test_what_is_within_bounds_is_taken(take: Callable[[], bool]) -> None:
    assert take()


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda: checked.whole(-1, "x"), "whole number"),
        (lambda: checked.whole(2**53, "x"), "whole number"),
        (lambda: checked.whole(True, "x"), "whole number"),
        (lambda: checked.whole(1.0, "x"), "whole number"),
        (lambda: checked.whole(9, "x", 8), "from 0 to 8"),
        (lambda: checked.flag(1, "x"), "neither true nor false"),
        (lambda: checked.text(None, "x"), "printable"),
        (lambda: checked.text("a\nb", "x"), "printable"),
        (lambda: checked.text("\x1b[2J", "x"), "printable"),
        (lambda: checked.text("\ud800", "x"), "printable"),
        (lambda: checked.text("n" * 129, "x"), "at most 128"),
        (lambda: checked.name("", "x"), "empty"),
        (lambda: checked.address("ftp://a", "x"), "no http URL"),
        (lambda: checked.address("http://" + "a" * 512, "x"), "at most 512"),
        (lambda: checked.one_of(Role, "leader", "x"), "voter, standby, gateway"),
        (lambda: checked.one_of(Role, ["voter"], "x"), "none of"),
        (lambda: checked.row((1, 2), "x", 2), "no list"),
        (lambda: checked.row([1], "x", 2), "at least 2"),
        (lambda: checked.listed({}, "x", 2), "no list"),
        (lambda: checked.listed([1, 2, 3], "x", 2), "at most 2"),
    ],
)
def test_what_is_not_is_refused_by_name(take: Callable[[], object], said: str) -> None:
    with pytest.raises(MalformedGossip, match=said) as refused:
        take()
    assert str(refused.value).startswith("x ")
    assert refused.value.code == "malformed_gossip"
