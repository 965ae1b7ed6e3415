"""Members that hear each other at once, unless a test keeps something from them: virtual time in whole steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.gossip.effect import Effect, Send
from bridge.gossip.member import State, Told
from bridge.gossip.message import Kind, Message, News, build
from bridge.gossip.pace import Pace
from bridge.gossip.swim import Gossip
from bridge.jsontext import parse, write
from tests.unit.gossip.records import told

STEP_MS = 50
PERIOD = Pace().period_ms


class Circle:
    """A few members.

    Args:
        names: of them; the first one is everybody's seed.
        pace: of all.

    Attributes:
        members: by name.
        down: names that neither send nor hear.
        passes: whether a message gets through.
        seen: every effect that was no message, with whose it was.
        sent: every message, with who sent it.
    """

    def __init__(self, *names: str, pace: Pace | None = None) -> None:
        self.now_ms = 0
        self.pace = pace or Pace()
        self.down: dict[str, None] = {}
        self.passes: Callable[[str, Send], bool] = lambda _sender, _send: True
        self.seen: list[tuple[str, Effect]] = []
        self.sent: list[tuple[str, Send]] = []
        self.seed = f"http://{names[0]}:8473"
        self._drawn = 0
        self.members: dict[str, Gossip] = {}
        for name in names:
            self.add(told(name))

    def add(self, me: Told) -> Gossip:
        """A member begins."""
        self.members[me.name] = Gossip(me, [self.seed], self.now_ms, self.draw(), pace=self.pace)
        return self.members[me.name]

    def draw(self) -> int:
        """The next number: each test has always the same."""
        self._drawn += 1
        return self._drawn * 0x9E3779B97F4A7C15

    def run(self, ms: int) -> None:
        """Let time pass."""
        for _ in range(ms // STEP_MS):
            self.now_ms += STEP_MS
            for name in [name for name in self.members if name not in self.down]:
                if self.members[name].due_ms <= self.now_ms:
                    self.carry_out(name, self.members[name].tick(self.now_ms, self.draw()))

    def carry_out(self, name: str, effects: list[Effect]) -> None:
        """What a member wants done is done at once."""
        for effect in effects:
            if isinstance(effect, Send):
                self.sent.append((name, effect))
                self._deliver(name, effect)
            else:
                self.seen.append((name, effect))

    def _deliver(self, name: str, send: Send) -> None:
        to = next((each for each in self.members if send.url == f"http://{each}:8473"), None)
        if to is not None and to not in self.down and self.passes(name, send):
            message: Any = parse(write(send.message))
            self.carry_out(to, self.members[to].receive(message, self.now_ms, self.draw()))

    def states(self, of: str) -> dict[str, State | None]:
        """How a member stands with all others that are there."""
        there = [name for name in self.members if name not in self.down and name != of]
        return {name: self.members[name].roster.state(of) for name in there}

    def kinds(self, since: int = 0) -> list[str]:
        """What was sent."""
        return [send.message["kind"] for _, send in self.sent[since:]]


def settled(*names: str) -> Circle:
    """Members that have known each other for a while."""
    circle = Circle(*names)
    circle.run(20 * PERIOD)
    assert all(set(circle.states(name).values()) == {State.ALIVE} for name in names)
    circle.seen.clear()
    circle.sent.clear()
    return circle


def alone(*seeds: str, now_ms: int = 0) -> Gossip:
    """A member that is told by hand what it hears."""
    return Gossip(told("me", 3), seeds, now_ms, 1)


def sends(effects: list[Effect]) -> list[Send]:
    """What is to be sent."""
    return [effect for effect in effects if isinstance(effect, Send)]


def ping(sender: str, *, seq: int = 1, **news: Any) -> dict[str, Any]:
    """A ping, from somebody who introduces itself."""
    return build(Message(Kind.PING, sender, "me", News(**({"told": (told(sender),)} | news)), seq=seq))
