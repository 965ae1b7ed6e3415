"""The network: it loses, repeats, delays and reorders messages, and keeps hosts apart in one direction or both.

Requests reach whichever life of a process is there; an answer reaches only the life that asked. Connections (a
client's stream, an agent's) deliver in order or break. This file must not know what messages say. The failure it
prevents: a rule that needs the network to be kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.simulation.kernel import MS, Kernel, Process
from tests.simulation.options import Options

LOCAL_US = 20


class Message(NamedTuple):
    """What is about to be sent; see ``Network.send``."""

    sender: Process
    to: Process
    life: int
    label: str
    run: Callable[..., None]
    args: tuple[Any, ...]


class Network:
    """Everything that is under way.

    Attributes:
        apart: pairs (from, to) of names between which nothing passes, with how many partitions say so.
        lag_us: by how much everything is late that is sent to a name.
        faulty: whether messages are lost, repeated and delayed at all.
        fate: decides over a message instead of chance: after how long each of its copies arrives, in microseconds
            (none: it is lost), or None where chance shall decide.
    """

    def __init__(self, kernel: Kernel, options: Options) -> None:
        self.apart: dict[tuple[str, str], int] = {}
        self.lag_us: dict[str, int] = {}
        self.faulty = True
        self.fate: Callable[[Message], Sequence[int] | None] | None = None
        self._kernel, self._options = kernel, options

    def send(
        self, sender: Process, to: Process, life: int, label: str, run: Callable[..., None], *args: Any
    ) -> None:
        """A message that may be lost: ``run(*args)`` happens where it arrives, as often as it arrives.

        Args:
            sender: who sends; it may be killed before it has.
            to: who gets it.
            life: the life that must still be there to get it; 0 for any.
            label: for the trace.
            run: what its arrival does.
        """
        kernel = self._kernel
        kernel.effect(sender)
        if self.apart and self.apart.get((sender.name, to.name)):
            kernel.fired["partition kept a message"] += 1
            return
        if self.fate is not None:
            fate = self.fate(Message(sender, to, life, label, run, args))
            if fate is not None:
                for delay in fate:
                    kernel.arrive(delay, to, life, label, run, args)
                return
        if sender is to:
            kernel.arrive(LOCAL_US, to, life, label, run, args)
            return
        chance = kernel.rng.random
        delay = 300 + int(chance() * 3_000)
        if self.lag_us:
            delay += self.lag_us.get(to.name, 0)
        if self.faulty:
            options = self._options
            what = chance()
            if what < options.loss:
                kernel.fired["message lost"] += 1
                return
            what -= options.loss
            if what < options.repeat:
                kernel.fired["message repeated"] += 1
                kernel.arrive(delay + int(chance() * options.slow_ms * MS), to, life, label, run, args)
            elif what - options.repeat < options.slow:
                kernel.fired["message delayed"] += 1
                delay += int(chance() * options.slow_ms * MS)
        kernel.arrive(delay, to, life, label, run, args)

    def separate(self, one: str, other: str, *, count: int) -> None:
        """Begin (1) or end (-1) keeping what ``one`` sends from ``other``."""
        left = self.apart.get((one, other), 0) + count
        if left > 0:
            self.apart[one, other] = left
        else:
            self.apart.pop((one, other), None)

    def reaches(self, sender: Process, to: Process) -> bool:
        """Whether anything that is sent can arrive now."""
        return sender is to or not self.apart.get((sender.name, to.name))


class Connection:
    """Messages in order from one process to a life of another, until it breaks.

    Args:
        network: what it passes over.
        sender: who sends.
        to: who gets.
        on_break: told at ``to``, once, that it has ended, with whether the sender ended it.
    """

    def __init__(
        self, network: Network, kernel: Kernel, sender: Process, to: Process, on_break: Callable[[bool], None]
    ) -> None:
        self.open = True
        self._network, self._kernel, self._sender, self._to = network, kernel, sender, to
        self._life, self._sender_life = to.life, sender.life
        self._on_break = on_break
        self._last = 0

    def send(self, label: str, run: Callable[..., None], *args: Any) -> bool:
        """Send in order; False (and broken) where nothing passes any more."""
        if not self.open:
            return False
        kernel = self._kernel
        kernel.effect(self._sender)
        if not self._network.reaches(self._sender, self._to) or self._sender.life != self._sender_life:
            self.close(ended=False)
            return False
        self._arrive(label, self._pass, run, args)
        return True

    def close(self, *, ended: bool) -> None:
        """It ends, by its sender's wish or because something between them broke."""
        if self.open:
            self.open = False
            self._arrive(f"{self._sender.name}>{self._to.name} end", self._on_break, ended)

    def drop(self) -> None:
        """The receiver goes away: nothing arrives any more."""
        self.open = False
        self._life = -1

    def _arrive(self, label: str, run: Callable[..., None], *args: Any) -> None:
        kernel = self._kernel
        self._last = max(self._last + 1, kernel.now + 200 + int(kernel.rng.random() * 2_000))
        kernel.arrive(self._last - kernel.now, self._to, self._life, label, run, args)

    def _pass(self, run: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self._life > 0:
            run(*args)
