"""Choices from a number that the caller drew: the same number and the same state choose the same.

The rules draw nothing themselves. Each input brings one number of 64 random bits; all that has to be chosen while
it is handled is unfolded from it (splitmix64, Steele, Lea, Flood 2014). So a run can be repeated from its seed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


class Draws:
    """What follows from one drawn number.

    Args:
        drawn: 64 random bits.
    """

    def __init__(self, drawn: int) -> None:
        self._state = drawn & _WORD

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound`` - 1."""
        self._state = (self._state + _GOLDEN) & _WORD
        mixed = self._state
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _WORD
        return (mixed ^ mixed >> 31) % bound

    def shuffled(self, things: Iterable[Thing]) -> list[Thing]:
        """All of them in an order of chance."""
        order = list(things)
        for place in range(len(order) - 1, 0, -1):
            other = self.below(place + 1)
            order[place], order[other] = order[other], order[place]
        return order


class Pool:
    """Names to choose from; coming, going and choosing cost the same however many there are."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._places: dict[str, int] = {}

    def add(self, name: str) -> None:
        """A name is in it."""
        if name not in self._places:
            self._places[name] = len(self._names)
            self._names.append(name)

    def discard(self, name: str) -> None:
        """A name is in it no more."""
        place = self._places.pop(name, None)
        if place is not None:
            last = self._names.pop()
            if last != name:
                self._names[place] = last
                self._places[last] = place

    def some(self, count: int, draws: Draws, without: Collection[str] = ()) -> list[str]:
        """At most so many different ones, in an order of chance, none of ``without``."""
        if len(self._names) <= 2 * (count + len(without)):
            return [name for name in draws.shuffled(self._names) if name not in without][:count]
        chosen: list[str] = []
        while len(chosen) < count:  # at least every second draw is a new one
            name = self._names[draws.below(len(self._names))]
            if name not in chosen and name not in without:
                chosen.append(name)
        return chosen

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._names)

    def names(self) -> list[str]:
        """All of them."""
        return list(self._names)
