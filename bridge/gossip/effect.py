"""What a member's gossip wants done, or wants known: data that the shell carries out. Only shapes live here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridge.gossip.owners import Owned
from bridge.gossip.roster import Moved


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message; it may be lost.

    Attributes:
        to: name of the member; "" for a seed.
        url: its peer URL.
        message: JSON value.
        seq: of a ping, to be told (``refused``) if nobody is at that address; 0 for everything else.
    """

    to: str
    url: str
    message: dict[str, Any]
    seq: int = 0


@dataclass(frozen=True, slots=True)
class StoreLife:
    """Others know of a later life of this member than its disk does: its next life must be above this one."""

    life: int


@dataclass(frozen=True, slots=True)
class NameTaken:
    """Somebody else speaks under this member's name: a copied disk, or a name given twice. For people.

    Attributes:
        session: of the other one.
    """

    session: str


@dataclass(frozen=True, slots=True)
class OwnerHeard:
    """A handoff's owner is known anew."""

    record: Owned


Effect = Send | StoreLife | NameTaken | OwnerHeard | Moved
