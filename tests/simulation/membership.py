"""Which voters a world's handoffs have: the real placement, and the journal of the members themselves.

Every host's voter holds the journal of the member list, formed before the world begins. A sidecar places a handoff
by what its own voter holds of it, and names the voters in ``dispatched``. This file must not know how claims and
appends travel. The failure that a shell can add, and that this one must not: to place by a list that was heard of
and is not held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.jsontext import parse_stored, write
from bridge.placement import MEMBERS, MemberList, chosen, in_force, member_list, paired, placed
from bridge.quorum import VoterView
from bridge.voterset import Voters, VoterSets
from tests.simulation.disk import Stored

if TYPE_CHECKING:
    from tests.simulation.voter import Voter
    from tests.simulation.world import World

FORMED = Fence(1, "formed.0")


class Place(NamedTuple):
    """Where a candidate claims.

    Attributes:
        sets: whose majorities it needs.
        names: what a ``dispatched`` of its own says of it.
    """

    sets: tuple[Voters, ...]
    names: dict[str, Any]


def formed(members: Voters) -> Stored:
    """The journal of the list, as it was when all configured voters had met."""
    body = {"task": MEMBERS, "handoff": "0" * 64, "voters": [*members]}
    drafts = [Draft(Kind.DISPATCHED, write(body)), Draft(Kind.CLAIMED, write({"owner": "formed"}))]
    entries = tuple(chain(genesis(MEMBERS), FORMED, 0, drafts))
    tip = tip_of(MEMBERS, entries)
    return Stored(VoterView(FORMED, tip, tip.seq), entries)


def lists_of(stored: Stored) -> list[MemberList]:
    """Every list that a copy of the journal knows to have been committed, oldest first."""
    committed = stored.entries[: stored.view.committed]
    named = [entry.seq for entry in committed if entry.kind in (Kind.DISPATCHED, Kind.VOTERS)]
    return [member_list(committed, seq) for seq in named]


def place(world: World, name: str, task: str, voter: Voter | None, held: Mapping[str, int]) -> Place | None:
    """Where a sidecar would dispatch a task; None where it cannot tell.

    Args:
        world: whose topology counts.
        name: of the sidecar.
        task: public task id.
        voter: of its host, where it has one.
        held: which version of the list each voter has said that it holds.
    """
    if voter is None:
        return Place((("db",),), {"voters": ["db"]})
    if world.options.pair:
        sets = paired(name, (world.names[0], world.names[1]))
        return Place(sets, {"voters": [*sets[-1]]})
    stored = voter.durable(MEMBERS)
    lists = lists_of(stored)
    if not lists:
        return None
    if task == MEMBERS:
        return Place(VoterSets(((),)).follow(stored.entries).needed(stored.view.committed), {})
    lists = in_force(lists, held)
    named = chosen(task, lists[-1].members)
    sets = tuple(each for each in placed(task, lists) if each != named)
    return Place((*sets, named), {"voters": [*named], "list": lists[-1].version})


def known_sets(given: tuple[Voters, ...], stored: Stored) -> tuple[Voters, ...]:
    """The sets to claim at, by a copy of the handoff's journal."""
    return VoterSets(given).follow(stored.entries).needed(stored.view.committed)


def named_in(entry: Entry) -> Voters | None:
    """The voter set that an entry names, read without the rules that are judged."""
    if entry.kind not in (Kind.DISPATCHED, Kind.VOTERS):
        return None
    voters = parse_stored(entry.body or b"{}").get("voters")
    return tuple(voters) if voters else None
