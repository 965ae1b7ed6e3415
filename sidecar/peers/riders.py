"""What travels to voters beside an owner's entries: rows for reads, message keys, what was taken from an inbox.

A row for reads goes to each voter with the first append that says that everything it shows is committed, the
newest such row only. Message keys go with their entries, for as long as some voter does not have those. What an
inbox held is deleted once the entries that took it in are committed, and not before: until then the owner may be
lost, and they with it.

This file must not know what a row shows. The failures it prevents: a row that shows what may still be lost, and a
row of which a voter never hears because the append that brought it was lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge.quorum import Append
from sidecar.records import NO_RIDERS, KeyRow, Riders, TaskView


class Baggage:
    """One owner's.

    Args:
        own: id of the voter of this host, whose inbox it is.

    Attributes:
        view: the newest row of which everything is committed.
    """

    def __init__(self, own: str) -> None:
        self.view: TaskView | None = None
        self._own = own
        self._view_seq = 0
        self._ahead: list[tuple[int, TaskView]] = []
        self._sent: dict[str, int] = {}
        self._keys: list[tuple[int, tuple[KeyRow, ...]]] = []
        self._inbox: list[tuple[int, tuple[int, ...]]] = []
        self._committed = 0

    def take(
        self, seq: int, view: TaskView | None, keys: Sequence[KeyRow] = (), inbox: Sequence[int] = ()
    ) -> None:
        """What comes with entries that end at a position."""
        if view is not None:
            self._ahead.append((seq, view))
        if keys:
            self._keys.append((seq, tuple(keys)))
        if inbox:
            self._inbox.append((seq, tuple(inbox)))

    def committed(self, seq: int) -> None:
        """Everything up to a position is committed."""
        self._committed = seq
        covered = 0
        for at, view in self._ahead:
            if at > seq:
                break
            covered += 1
            self.view, self._view_seq = view, at
        del self._ahead[:covered]

    def to(self, voter: str, append: Append) -> Riders:
        """What goes to a voter with an append."""
        view = self.view if self._sent.get(voter, 0) < self._view_seq <= append.committed else None
        if view is None and not self._keys and not self._inbox:
            return NO_RIDERS
        if view is not None:
            self._sent[voter] = self._view_seq
        end = append.after_seq + len(append.entries)
        keys = tuple(row for seq, rows in self._keys if append.after_seq < seq <= end for row in rows)
        inbox: tuple[int, ...] = ()
        if voter == self._own:
            inbox = tuple(each for seq, ids in self._inbox if seq <= append.committed for each in ids)
        return Riders(view, self._view_seq if view is not None else 0, keys, inbox)

    def lost(self, voter: str) -> None:
        """What was sent last may not have come: the newest row goes again."""
        self._sent.pop(voter, None)

    def arrived(self, riders: Riders) -> None:
        """A voter has taken this."""
        if riders.inbox:
            gone = frozenset(riders.inbox)
            self._inbox = [(seq, ids) for seq, ids in self._inbox if not gone.issuperset(ids)]

    @property
    def keys_left(self) -> bool:
        """Some voter may not have all message keys yet."""
        return bool(self._keys)

    def everybody_has(self, seq: int) -> None:
        """All voters have acknowledged a position: the keys up to there are theirs."""
        if self._keys and self._keys[0][0] <= seq:
            self._keys = [each for each in self._keys if each[0] > seq]

    def left(self) -> tuple[int, ...]:
        """What an inbox held that no voter of the handoff has, once it is committed; told once."""
        ready = tuple(each for seq, ids in self._inbox if seq <= self._committed for each in ids)
        self._inbox = [each for each in self._inbox if each[0] > self._committed]
        return ready
