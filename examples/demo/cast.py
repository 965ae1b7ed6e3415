"""Who is on stage in an act, and what is done to whom: two sides, perhaps a gateway, one blow.

A side is an agent with its sidecar. Which of them gets the task is seen, not assumed: behind a gateway either may.
This file must not know what an agent writes or a client reads. It prevents acts that differ in more than the blow.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from examples.demo.stage import Actor, Home, Stage

Apart = Literal["", "--peers", "--pair"]


@dataclass(frozen=True, slots=True)
class Side:
    """An agent and the sidecar beside it.

    Attributes:
        letter: A or B.
        agent, sidecar: its processes.
    """

    letter: str
    agent: Actor
    sidecar: Actor

    def called(self, since: float) -> list[float]:
        """When its agent received messages, from a moment on."""
        return [at for at in self.agent.announced("received") if at >= since]

    def at_work(self) -> bool:
        """Whether its agent has a run that has not ended."""
        return len(self.agent.announced("received")) > len(self.agent.announced("ended"))


@dataclass(frozen=True, slots=True)
class Blow:
    """What is done to the side at work.

    Attributes:
        number: the signal.
        at: which of its processes get it, in this order.
        fact: begins the names of the times that are measured from it.
        destroys: what the side's sidecar has kept is deleted, too.
    """

    number: signal.Signals
    at: tuple[str, ...]
    fact: str
    destroys: bool = False

    def fall(self, side: Side) -> tuple[float, str]:
        """Send the signal. Returns the monotonic time of the first one, and what was done to whom."""
        actors = [getattr(side, name) for name in self.at]
        times = [actor.strike(self.number) for actor in actors]
        to = ", ".join(
            f"{name} {side.letter} (pid {actor.pid})" for name, actor in zip(self.at, actors, strict=True)
        )
        if self.destroys and side.sidecar.home:
            side.sidecar.stop()
            side.sidecar.home.destroy()
            to += ", and its journals are deleted"
        return times[0], f"{self.number.name} to {to}"


KILL_AGENT: Final = Blow(signal.SIGKILL, ("agent",), "kill")
KILL_BOTH: Final = Blow(signal.SIGKILL, ("sidecar", "agent"), "kill")
"""The sidecar first: nobody is left to say that the agent is gone."""
DESTROY: Final = Blow(signal.SIGKILL, ("sidecar", "agent"), "kill", destroys=True)
"""A host that does not come back: its disk goes with it."""
DESTROY_THE_REST: Final = Blow(signal.SIGKILL, ("sidecar",), "kill", destroys=True)
"""What is left of a host whose agent was killed before."""
DRAIN: Final = Blow(signal.SIGTERM, ("sidecar",), "sigterm")


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody in an act.

    Attributes:
        sides: two of them.
        gateway: what the client talks to; without one it talks to the first side's sidecar.
        beside: an agent that the act needs for comparison, if it does.
        pair: each side is a host, and the only one that keeps what the other takes in.
    """

    sides: tuple[Side, Side]
    gateway: Actor | None = None
    beside: Actor | None = None
    pair: bool = False

    @property
    def door(self) -> Actor:
        """The one that the client knows."""
        return self.gateway or self.sides[0].sidecar

    @property
    def door_name(self) -> str:
        """What people call it."""
        return "the gateway" if self.gateway else "sidecar A"

    def named(self) -> dict[str, Actor]:
        """Everybody by the name that people read."""
        named = {"gateway": self.gateway} if self.gateway else {}
        for side in self.sides:
            named |= {f"sidecar {side.letter}": side.sidecar, f"agent {side.letter}": side.agent}
        return named

    def everybody(self) -> list[Actor]:
        """All processes."""
        return [*self.named().values(), *([self.beside] if self.beside else [])]

    def states(self) -> dict[str, str]:
        """Who is how, for the display."""
        return {
            name: f"{actor.fate} (pid {actor.pid})" if actor.fate else f"pid {actor.pid}"
            for name, actor in self.named().items()
        }

    def stores(self) -> dict[str, str]:
        """Of hosts that share none: the stores that are left, by whose they are."""
        return {
            name: actor.home.store
            for name, actor in self.named().items()
            if actor.home is not None and not actor.fate
        }

    def other(self, side: Side) -> Side:
        """The one that is not this one."""
        return self.sides[1] if side is self.sides[0] else self.sides[0]


def enter(
    stage: Stage, module: str, group: str, *arguments: str,
    gateway: bool = False, apart: Apart = "", beside: Actor | None = None,
) -> Cast:  # fmt: skip
    """Start two agents of a kind, a sidecar beside each, and a gateway if one is wanted, all at once.

    Args:
        stage: where.
        module: the example.
        group: its name, and the first word of everybody's.
        arguments: of the agents.
        gateway: whether the client is to talk to one.
        apart: everybody is a host of its own and is told of the others by this option; else they share a store.
        beside: see ``Cast``.
    """
    at: Sequence[Home | None] = (None, None, None)
    if apart == "--pair":
        at = stage.homes("pair-A", "pair-B", told=apart)
    elif apart:
        at = stage.homes("host-A", "host-B", "host-C", told=apart)
    agents = [stage.agent(f"{group} agent {letter}", module, *arguments) for letter in "AB"]
    first, second = (
        Side(letter, agent, stage.sidecar(f"{group} sidecar {letter}", group, agent, home))
        for letter, agent, home in zip("AB", agents, at[:2], strict=True)
    )
    door = stage.sidecar(f"{group} gateway", group, None, at[2]) if gateway else None
    return Cast((first, second), door, beside, apart == "--pair")
