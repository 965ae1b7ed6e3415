"""What a checker is: one promise, told of everything that happens, that raises as soon as it is broken.

A checker sees the world from outside, all voters and all clients at once, and keeps its own books. It must not use
the rules whose result it judges. What a checker does not override costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from bridge.a2a.extension import Marks
    from bridge.a2a.shown import Shown
    from bridge.journal import Entry
    from bridge.proposal import Event
    from tests.simulation.clients import Client
    from tests.simulation.disk import Stored
    from tests.simulation.exchange import Resumed, Told
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.voter import Asked, Voter
    from tests.simulation.world import World
    from tests.unit.a2a.model_scripts import State

Json = dict[str, Any]


class Broken(AssertionError):
    """A promise was broken."""


class Checker:
    """One promise."""

    name: ClassVar[str] = ""

    def __init__(self, world: World) -> None:
        self.world = world

    def broken(self, what: str) -> Broken:
        """To be raised: the promise and what broke it."""
        return Broken(f"{self.name}: {what}")

    def asked(self, voter: Voter, task: str, asked: Asked, answer: Event) -> None:
        """A voter has decided on a request; its answer leaves once what it rests on is durable."""

    def wrote(self, voter: Voter, task: str, before: Stored, after: Stored) -> None:
        """A voter is about to write."""

    def synced(self, voter: Voter, task: str, stored: Stored) -> None:
        """What a voter wrote is durable."""

    def committed(self, hand: Hand, seq: int) -> None:
        """An owner's rules say that everything up to a position is committed."""

    def owns(self, hand: Hand) -> None:
        """A claim is committed."""

    def acts(self, hand: Hand) -> None:
        """An owner is about to ask its agent for something."""

    def requests(self, hand: Hand, what: str) -> None:
        """An agent is asked for something: begin, attach, follow up, cancel, or do and the key of an effect."""

    def begins(self, hand: Hand, shown: Shown, resumed: Resumed) -> None:
        """An agent is about to be asked to begin a run."""

    def tells(self, marks: Marks) -> None:
        """A run tells what it will do, or has done, outside."""

    def did(self, key: str, aware: bool, times: int) -> None:
        """An effect was done, for the so manieth time, by an agent that tells its intents or by another."""

    def saved(self, number: int, state: Json) -> None:
        """A run has made a checkpoint."""

    def took(self, hand: Hand, told: Told | None, before: int) -> None:
        """An owner has journalled what its agent said (None: what its Task showed), behind position ``before``."""

    def shown(self, car: Sidecar, task: str, entry: Entry) -> None:
        """A client is shown an entry, or a Task that it is part of."""

    def read(self, car: Sidecar, task: str, upto: int, fresh: bool) -> None:
        """A front answers GetTask."""

    def not_found(self, car: Sidecar, task: str) -> None:
        """A front says that a task was purged."""

    def received(self, client: Client, seq: int, event: Json) -> None:
        """A client gets an event."""

    def got(self, client: Client, seq: int, task: Json) -> None:
        """A client gets the answer to GetTask."""

    def compared(self, client: Client, task: Json) -> None:
        """A client has seen the end, and reads the Task."""

    def told(self, task: str, terminal: str, state: State) -> None:
        """A run of which nothing was missed has ended in the entry of this hash."""

    def waited(self) -> None:
        """All is healed but for a majority of hosts that is dead, and the world has had some time."""

    def finished(self) -> None:
        """The world has been healed, and has had its time."""


HOOKS = (
    "asked", "requests", "begins", "saved", "took", "tells", "did", "wrote", "synced", "committed", "owns",
    "acts", "shown", "read", "not_found", "received", "got", "compared", "told", "waited", "finished",
)  # fmt: skip
