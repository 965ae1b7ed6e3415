"""Whose majority counts: the voter sets that a journal names, and how one follows the other.

``dispatched`` fixes a handoff's voters, a ``voters`` entry replaces them. While such an entry is not known to be
committed, the set before it and the one that it names count *both*, for every claim and every commit: no majority
of the one is blind to what a majority of the other did. The failures this prevents: two owners, one by the old set
and one by the new; and an entry behind the change that counts before the change itself does.

- A second change waits for the first to be committed. So only a journal's newest change can be open, and whatever
  stands before it may be forgotten.
- A first ``dispatched`` follows in the same way from the sets that its candidate was given, which are more than
  one only while the member list changes (``placement``).
- A voter that leaves a set keeps its copy until the handoff is purged: a candidate with an old idea of the set
  asks it, and must hear of the change and not of an empty journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bridge.errors import BrokenChain, InvariantViolation
from bridge.journal import Draft, Entry, Kind
from bridge.jsontext import parse_stored

Voters = tuple[str, ...]


def has_majority(sets: Sequence[Voters], yes: Sequence[str]) -> bool:
    """Whether ``yes`` holds a majority of every voter set."""
    return all(2 * sum(voter in yes for voter in voters) > len(voters) for voters in sets)


def everyone(sets: Sequence[Voters]) -> Voters:
    """The voters of all sets, each once, in their order."""
    return tuple(dict.fromkeys(voter for voters in sets for voter in voters))


def named_by(kind: Kind, body: bytes | None) -> Voters | None:
    """The voter set that an entry names, if it does.

    Raises:
        BrokenChain: a ``voters`` entry without a set of distinct names (its ``seq`` is 0).
    """
    if kind not in (Kind.DISPATCHED, Kind.VOTERS):
        return None
    named = parse_stored(body or b"{}").get("voters")
    if isinstance(named, list) and named and all(type(each) is str and each for each in named):
        voters = tuple(named)
        if len(everyone((voters,))) == len(voters):
            return voters
    if kind is Kind.DISPATCHED:
        return None  # the sets that the candidate was given stand
    raise BrokenChain(0, "a change of voters that names no set")


class VoterSets:
    """The sets of one journal.

    Args:
        given: what is known without the journal.

    Attributes:
        newest: the set that was named last; the last given one where none was.
        since: position of the entry that named it, 0 where none did.
        changed: that entry is a ``voters`` entry.
    """

    def __init__(self, given: Sequence[Voters]) -> None:
        self.newest = given[-1]
        self.since = 0
        self.changed = False
        self._before = tuple(given)

    def follow(self, entries: Iterable[Entry]) -> VoterSets:
        """Go on through these entries.

        Raises:
            BrokenChain: a ``voters`` entry names no set.
        """
        for entry in entries:
            named = named_by(entry.kind, entry.body)
            if named is not None:
                self._before = (self.newest,) if self.since else self._before
                self.newest, self.since = named, entry.seq
                self.changed = entry.kind is Kind.VOTERS
        return self

    def needed(self, committed: int) -> tuple[Voters, ...]:
        """The sets whose majorities every claim and commit needs, when this much is known to be committed."""
        if self.since and self.since <= committed:
            return (self.newest,)
        return tuple(dict.fromkeys((*self._before, self.newest)))

    def check_change(self, drafts: Sequence[Draft | Entry], committed: int, *, owning: bool) -> None:
        """Check that what is to be appended changes the voters at most once, and when it may.

        Raises:
            InvariantViolation: an earlier change is not committed, or the fence's own ``claimed`` is not.
            BrokenChain: the change names no set.
        """
        changes = [named_by(each.kind, each.body) for each in drafts if each.kind is Kind.VOTERS]
        if changes and (len(changes) > 1 or not owning or self.since > committed):
            raise InvariantViolation(f"a change of voters behind entry {self.since}, committed to {committed}")


def alone(entries: Iterable[Entry], committed: int, me: str) -> bool:
    """A voter's side: whether it is the only voter, so that what it writes is committed (``decide_append``).

    Args:
        entries: all that it has of the journal, with those that it is about to store.
        committed: what it knows to be committed before those.
        me: its id.
    """
    sets = VoterSets(((),)).follow(entries)
    return everyone(sets.needed(committed)) == (me,)
