"""What the voters' disks have, as checkers count it: by their own reading of which voters a journal names.

A set of voters goes out of force at the change that replaces it; a change that is not committed needs both. This
file must not use the rules of ``bridge.voterset``: it judges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.journal import Entry
from bridge.quorum import VoterView
from tests.simulation.disk import Stored
from tests.simulation.membership import named_in

if TYPE_CHECKING:
    from tests.simulation.world import World

Set = tuple[str, ...]


def durable(world: World, identity: str, task: str) -> Stored:
    """A journal on a voter's disk; of a lost disk, what was on it: that is what it had said yes to."""
    voter = world.voter_hosts[identity].voter
    assert voter is not None
    if voter.disk.identity == identity:
        return voter.durable(task)
    return voter.disk.graves[identity].get(task) or Stored(VoterView.empty(task))


def required(log: Sequence[Entry], known: int, seq: int) -> list[tuple[Set, int]]:
    """The voter sets of which a majority must have something, and up to where, for ``seq`` to be committed.

    Args:
        log: the owner's journal.
        known: position that was committed before.
        seq: that is called committed now.
    """
    force: tuple[Set, int] | None = None
    needed: list[tuple[Set, int]] = []
    for entry in log:
        named = named_in(entry)
        if named is None:
            continue
        if entry.seq > known and force is not None:
            needed.append((force[0], min(seq, entry.seq)))
        force = (named, seq)
    return needed if force is None else [*needed, force]


def _has(stored: Stored, at: int, digest: str) -> bool:
    # A tombstone stands for all that was there, and it has a committed end.
    return stored.view.purged or stored.hash_at(at) == digest


def missing(world: World, task: str, log: Sequence[Entry], known: int, seq: int) -> str:
    """What is missing for ``seq`` to be committed; "" if nothing is."""
    for voters, at in required(log, known, seq):
        have = [each for each in voters if _has(durable(world, each, task), at, log[at - 1].hash)]
        if 2 * len(have) <= len(voters):
            return f"entry {at} is on the disks of {have}, of {voters}"
    return ""
