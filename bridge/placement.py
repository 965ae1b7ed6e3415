"""Which voters a new handoff gets: three of the members by rendezvous hash, or the other host of a pair.

The member list is a journal of its own under the reserved task id ``MEMBERS``: its voters are the members, and a
``voters`` entry changes it by the joint rule like any other voter set (``voterset``). Its version is the position
of the entry that named the members. It never comes from gossip.

The failure this prevents: one message dispatched twice, at two sidecars that know different lists, each with a
majority of another three. So a voter refuses a first ``dispatched`` of another version than its own; a new list is
used for placing only when so many hold it that no old three has a majority without one of them; and while repeats
of messages that were placed by the old list may still come, a candidate claims at both lists' voters.

This file must not know who is alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from bridge.journal import Entry, Kind
from bridge.jsontext import parse_stored
from bridge.quorum import Append, Refusal, Refused, VoterView
from bridge.voterset import Voters, VoterSets, everyone

MEMBERS = "members"
VOTERS_PER_HANDOFF = 3


class MemberList(NamedTuple):
    """The durable record of who may vote.

    Attributes:
        version: position of the entry that named them; 0 for a list that was never formed.
        members: ids of all voters.
        lost: ids that no list names any more and that never vote again: the operator's word, which stands in the
            entry that replaced them.
    """

    version: int
    members: Voters
    lost: Voters = ()


def member_list(entries: Iterable[Entry], committed: int) -> MemberList:
    """The list that a voter holds: the newest that its journal of the list names and knows to be committed.

    Raises:
        BrokenChain: a change names nobody.
    """
    known = [entry for entry in entries if entry.seq <= committed]
    sets = VoterSets(((),)).follow(known)
    lost = [parse_stored(entry.body or b"{}").get("lost") for entry in known if entry.kind is Kind.VOTERS]
    gone = everyone([tuple(map(str, each)) for each in lost if isinstance(each, list)])
    return MemberList(sets.since, sets.newest, gone)


def chosen(task: str, members: Sequence[str], count: int = VOTERS_PER_HANDOFF) -> Voters:
    """A task's voters by rendezvous hash: the same for everybody who knows the same members, in any order.

    A member that comes or goes moves only the tasks that it gains or loses.
    """

    def weight(member: str) -> tuple[bytes, str]:
        return sha256(f"{task}\0{member}".encode()).digest(), member

    return tuple(sorted(members, key=weight)[:count])


def placed(task: str, lists: Sequence[MemberList]) -> tuple[Voters, ...]:
    """The voter sets that a candidate for a task claims at when it knows no journal of it.

    Args:
        task: public task id.
        lists: in force now, last, and before it those within whose time a message may have come that is repeated
            now. Usually one.
    """
    return tuple(dict.fromkeys(chosen(task, each.members) for each in lists))


def paired(owner: str, pair: tuple[str, str]) -> tuple[Voters, ...]:
    """The voter sets that one of two hosts claims a handoff at before it dispatches it; the last is to be named.

    Its voter is the other host alone. So either can take over alone with everything, and never both: an owner
    commits only what the other one has. But a message may reach both hosts, and each would dispatch it at the
    other: so the owner's own voter has to grant too, and to take the ``dispatched``, before anything of it counts.
    """
    first, second = pair
    return (owner,), (second if owner == first else first,)


def usable(old: MemberList, holders: Sequence[str], lost: Sequence[str] = ()) -> bool:
    """Whether a list that is committed may be used for placing instead of the old one.

    Args:
        old: the list before.
        holders: members of the old list that are known to hold the new one, and so refuse to be placed by the old.
        lost: members of the old list that never vote again. Two of those at once would otherwise keep everybody
            from dispatching for ever: what is placed by the old list is refused, and the new one is not used.
    """
    behind = sum(member not in holders and member not in lost for member in old.members)
    voters = min(VOTERS_PER_HANDOFF, len(old.members))
    return 2 * min(behind, voters) <= voters


def in_force(lists: Sequence[MemberList], held: Mapping[str, int]) -> list[MemberList]:
    """The lists that a candidate claims by (``placed``); it places by the last of them.

    Repeats of messages that were placed by any list may still come, so all are claimed by: first those that may
    not be used yet, by which others may place already, and the one in force last.

    Args:
        lists: all that are known to have been committed, oldest first; at least one.
        held: which version each member has said that it holds.
    """
    # Who was lost after a list had been made does not hold it either: the newest word of that counts for all.
    count, lost = 1, lists[-1].lost
    while count < len(lists):
        holders = [member for member, version in held.items() if version >= lists[count].version]
        if not usable(lists[count - 1], holders, lost):
            break
        count += 1
    return [*lists[count:], *lists[:count]]


def misplaced(view: VoterView, append: Append, held: MemberList) -> Refused | None:
    """A voter's answer to the first append of a journal that was placed by another list; None where it may go on.

    Asked before ``decide_append``. What is known to be committed, or was adopted from an older owner, was let pass
    when it began: such a journal only catches up here, and the list may have changed since.

    Raises:
        MalformedJson: the body of ``dispatched`` is not JSON.
    """
    first = append.entries[0] if append.entries else None
    if first is None or first.kind is not Kind.DISPATCHED or append.committed or first.fence != append.fence:
        return None
    body = parse_stored(first.body or b"{}")
    right = [*chosen(append.task, held.members)]
    if body.get("list") == held.version and body.get("voters") == right:
        return None
    return Refused(Refusal.MISPLACED, view.promised, view.tip, view.committed)
