"""How journals travel between voters and candidates: in chunks, so that no message grows with a journal.

A chunk is whole entries, in order; a step and its receipts are one entry and so are never split. A ``rewound``
does not travel without the replacement that follows it: a journal may be adopted up to the end of any chunk, and a
record of a replacement that never came would be false. One entry larger than the bound travels alone, so the
largest message is the bound or the largest of these.

Reading a prefix in chunks must end at exactly the granted (seq, hash): between two chunks the voter may have cut
and continued its journal for somebody else. The chain shows it, and then that voter no longer has the prefix. The
failure this prevents: adopting a journal that never stood anywhere, half of one owner's and half of another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bridge.errors import BrokenChain
from bridge.journal import Entry, Kind, Tip, check_link, genesis
from bridge.proposal import PrefixRead, ReadPrefix
from bridge.quorum import VoterView

HEADER_BYTES = 512


class Bounds(NamedTuple):
    """What one message may carry.

    Attributes:
        entries_max: more cost fewer round trips, and a longer transaction at the voter.
        bytes_max: of bodies and headers together.
    """

    entries_max: int = 512
    bytes_max: int = 1 << 20


DEFAULT_BOUNDS = Bounds()


def chunk(log: Sequence[Entry], after: int, bounds: Bounds = DEFAULT_BOUNDS) -> tuple[Entry, ...]:
    """The next entries after a position, as many as fit, and one at least unless none is left."""
    end, size = after, 0
    while end < len(log) and end - after < bounds.entries_max:
        size += HEADER_BYTES + len(log[end].body or b"")
        if size > bounds.bytes_max and end > after:
            break
        end += 1
    while after < end < len(log) and log[end - 1].kind is Kind.REWOUND:
        end += 1
    return tuple(log[after:end])


def holds(view: VoterView, tip: Tip, stored_hash: Callable[[int], str | None]) -> bool:
    """A voter's side: whether it still has exactly the prefix that ends at this tip, and may serve of it."""
    if view.purged or tip.seq > view.tip.seq:
        return False
    return (view.tip.hash if tip.seq == view.tip.seq else stored_hash(tip.seq)) == tip.hash


class Prefix:
    """A candidate's reading of the journal that it chose, from one of the voters that granted exactly that tip.

    Attributes:
        tip: where it must end.
        entries: what was read and verified so far.
    """

    def __init__(self, task: str, tip: Tip, sources: Sequence[str]) -> None:
        self.tip = tip
        self.entries: list[Entry] = []
        self._start = genesis(task)
        self._at = self._start
        self._sources = list(sources)

    @property
    def complete(self) -> bool:
        """Whether it ends where it must; an empty journal does at once."""
        return self._at[1:] == self.tip[1:]

    @property
    def gone(self) -> bool:
        """Whether no voter is left that has it."""
        return not self._sources

    def ask(self) -> ReadPrefix:
        """The read of the next chunk."""
        return ReadPrefix(self._sources[0], self.tip, len(self.entries))

    def awaits(self, event: PrefixRead) -> bool:
        """Whether this is the answer to the last read, and not a late or repeated one."""
        asked = (self._sources[0], self.tip, len(self.entries))
        return (event.voter, event.tip, event.after) == asked

    def take(self, event: PrefixRead) -> None:
        """Add a chunk; if it is not one of this prefix, begin anew at the next source."""
        try:
            for entry in event.entries or ():
                self._at = check_link(self._at, entry)
                self.entries.append(entry)
        except BrokenChain:
            event = PrefixRead(event.voter, event.tip, None)
        past = self._at.seq >= self.tip.seq and not self.complete
        if past or not event.entries:
            self._sources.pop(0)
            self._at, self.entries = self._start, []
