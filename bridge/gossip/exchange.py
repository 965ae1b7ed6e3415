"""Anti-entropy: two members find where their tables differ and give each other what the other lacks, in bounds.

One sends the roots of its tables; where they differ it is sent the digests of all buckets, offers what it has in
some of those that differ, and is answered with what it lacks there. One small message where nothing differs, four
of bounded size where something does, and again while something was left out and something was new. The failures
this prevents: what every rumour missed stays missing, and a comparison that costs as much as the tables.

This file must not know when to compare, nor what a difference means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bridge.gossip.buckets import Buckets
from bridge.gossip.draws import Draws, Thing
from bridge.gossip.member import Member, State, accused_row, told_row
from bridge.gossip.message import Kind, Message, News
from bridge.gossip.owners import Owned, OwnerView, owned_row
from bridge.gossip.roster import Roster
from bridge.jsontext import write

TABLE_BYTES_MAX = 32_768
"""Of records of each table in one message."""


class Exchange:
    """What one member answers when tables are compared.

    Args:
        me: its name.
        roster: its table of members.
        owners: its table of owners.
    """

    def __init__(self, me: str, roster: Roster, owners: OwnerView) -> None:
        self._me, self._roster, self._owners = me, roster, owners

    def sync(self, to: str) -> Message:
        """Ask whether tables are equal."""
        members, owners = self._roster.buckets, self._owners.buckets
        return Message(Kind.SYNC, self._me, to, members=(members.root,), owners=(owners.root,))

    def digests(self, sync: Message) -> Message | None:
        """The digests of tables that differ, for whoever asked; None where none does."""
        members, owners = self._roster.buckets, self._owners.buckets
        of_members = members.digests() if sync.members != (members.root,) else ()
        of_owners = owners.digests() if sync.owners != (owners.root,) else ()
        if not of_members and not of_owners:
            return None
        return Message(Kind.DIGESTS, self._me, sync.sender, members=of_members, owners=of_owners)

    def offer(self, digests: Message, draws: Draws) -> Message:
        """What is here in buckets that differ: in those that chance chose, as far as there is room."""
        roster, owners = self._roster, self._owners
        in_members, members = _chosen(roster.buckets, digests.members, draws, roster.of, _size_of_member)
        in_owners, owned = _chosen(owners.buckets, digests.owners, draws, owners.of, _size_of_owned)
        return Message(
            Kind.OFFER, self._me, digests.sender, _news(members, owned), members=in_members, owners=in_owners
        )

    def answer(self, offer: Message) -> Message:
        """What whoever offered lacks in the same buckets. What it offered was heard before."""
        roster, owners = self._roster, self._owners
        accused = dict(offer.news.accused)
        sent = {told.name: Member(told, accused.get(told.name)) for told in offer.news.told}
        names = [name for bucket in offer.members for name in roster.buckets.keys(bucket)]
        # Who is gone here is in no bucket: whoever takes it for living has to hear why it is not.
        names += [name for name in sent if roster.state(name) in (State.DEAD, State.LEFT)]
        known = [member for name in names if (member := roster.of(name)) is not None]
        members, more_members = _fitting([each for each in known if _differs(each, sent)], _size_of_member)
        given = {record.task: record for record in offer.news.owned}
        tasks = [task for bucket in offer.owners for task in owners.buckets.keys(bucket)]
        # In the same way: what is over here is in no bucket.
        records = [owners.of(task) for task in dict.fromkeys((*tasks, *given))]
        lacking = [each for each in records if each is not None and each != given.get(each.task)]
        owned, more_owned = _fitting(lacking, _size_of_owned)
        more = more_members or more_owned
        return Message(Kind.ANSWER, self._me, offer.sender, _news(members, owned), more=more)


def _differs(member: Member, sent: dict[str, Member]) -> bool:
    other = sent.get(member.told.name)
    if other is None or other.told != member.told:
        return True
    return member.suspected and member.accused != other.accused


def _news(members: Iterable[Member], owned: Iterable[Owned]) -> News:
    told = tuple(member.told for member in members)
    accused = ((each.told.name, each.accused) for each in members if each.suspected)
    return News(told, tuple((name, each) for name, each in accused if each is not None), tuple(owned))


def _chosen(
    table: Buckets,
    digests: Sequence[int],
    draws: Draws,
    of: Callable[[str], Thing | None],
    size: Callable[[Thing], int],
) -> tuple[tuple[int, ...], list[Thing]]:
    buckets: list[int] = []
    chosen: list[Thing] = []
    room = TABLE_BYTES_MAX
    for bucket in draws.shuffled(table.differing(digests) if digests else ()):
        here = [thing for key in draws.shuffled(table.keys(bucket)) if (thing := of(key)) is not None]
        fitting, left_out = _fitting(here, size, room)
        if left_out and buckets:
            break
        # A bucket that is too large for a message goes in parts, each time another one by chance.
        buckets.append(bucket)
        chosen += fitting
        room -= sum(map(size, fitting))
    return tuple(buckets), chosen


def _fitting(
    things: Sequence[Thing], size: Callable[[Thing], int], room: int = TABLE_BYTES_MAX
) -> tuple[list[Thing], bool]:
    fitting: list[Thing] = []
    for thing in things:
        room -= size(thing)
        if room < 0:
            return fitting, True
        fitting.append(thing)
    return fitting, False


def _size_of_member(member: Member) -> int:
    name, accused = member.told.name, member.accused
    size = len(write(told_row(member.told)))
    return size + (len(write(accused_row(name, accused))) if accused is not None else 0)


def _size_of_owned(record: Owned) -> int:
    return len(write(owned_row(record)))
