"""All the news of one member that waits to be passed on, and how much of it each message takes along.

Members come before handoffs, because routing stands on them, but never with all of the room: a cluster that heals
must not keep silent about its tasks.
"""

from __future__ import annotations

from bridge.gossip.member import Accusation, Told, accused_row, told_row
from bridge.gossip.message import News
from bridge.gossip.owners import Owned, owned_row
from bridge.gossip.rumours import NEWS_BYTES_MAX, Rumours
from bridge.jsontext import write

_OF_MEMBERS = NEWS_BYTES_MAX * 3 // 4


class Spread:
    """What waits to be passed on."""

    def __init__(self) -> None:
        self._told: Rumours[Told] = Rumours()
        self._accused: Rumours[tuple[str, Accusation]] = Rumours()
        self._owned: Rumours[Owned] = Rumours()

    def told(self, told: Told) -> None:
        """A member's newest word, which also answers what was said before it."""
        self._told.add(told.name, told, len(write(told_row(told))))
        self._accused.drop(told.name)

    def accused(self, name: str, accused: Accusation) -> None:
        """All that is known of who accuses a member."""
        self._accused.add(name, (name, accused), len(write(accused_row(name, accused))))

    def owned(self, record: Owned) -> None:
        """A handoff's owner."""
        self._owned.add(record.task, record, len(write(owned_row(record))))

    def forget(self, name: str) -> None:
        """Say nothing more about a member."""
        self._told.drop(name)
        self._accused.drop(name)

    def take(self, repeats: int) -> News:
        """What one message takes along; each of it counts as told once more."""
        accused, left = self._accused.take(_OF_MEMBERS, repeats, first=True)
        told, left = self._told.take(left, repeats, first=not accused)
        room = NEWS_BYTES_MAX - _OF_MEMBERS + left
        owned, _ = self._owned.take(room, repeats, first=not accused and not told)
        return News(tuple(told), tuple(accused), tuple(owned))

    def __len__(self) -> int:
        return len(self._told) + len(self._accused) + len(self._owned)
