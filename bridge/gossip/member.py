"""What is known of one member: what it says of itself, and who accuses it of not answering.

The two are kept apart, and each only grows: the word of the member itself by its *incarnation*, accusations by the
incarnation that they are about. So messages may come late, doubled and in any order, and everybody who has heard
the same knows the same. A member refutes an accusation by speaking once more, under a higher incarnation. That it
leaves it can only say itself: nobody suspects a member of having gone where it said that it would go.

*Death is never told.* Only accusations travel, each under its accuser's name; every member concludes by itself,
after a while, from two of them (``roster``). The failures this prevents: one mistaken accuser that has a living
member taken for dead everywhere, and a dead verdict from the far side of a partition that is believed on the side
where its subject lives.

An incarnation is ``(life, word)``. The life is stored by the member and grows at each start, so a restart refutes
everything that was said before; the word grows within one life and needs no disk. This file must not
know about time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from bridge.gossip import checked

ACCUSERS_MAX = 3
"""More names than that change nothing: the first accuser and the two confirmations that a suspicion waits for."""

MEMBER_BUCKETS = 64
"""Into how many parts members' tables are cut to be compared (``buckets``)."""


class Incarnation(NamedTuple):
    """Which word of a member is newer.

    Attributes:
        life: which life of the member; stored by it, grows with each start.
        word: how often it has spoken anew in that life.
    """

    life: int
    word: int


class Role(StrEnum):
    """What a member is for."""

    VOTER = "voter"  # keeps journals, and may run an agent
    STANDBY = "standby"  # runs an agent, has no vote
    GATEWAY = "gateway"  # clients are at it; it runs nothing


class Told(NamedTuple):
    """What a member says of itself.

    Attributes:
        name: of the member, the same in every life.
        incarnation: which of its words this is.
        session: boot nonce of its life, as in fences.
        role: what it is for.
        group: agents that can continue each other's tasks; "" without an agent.
        url: where A2A clients reach it.
        peer_url: where other members reach it.
        ready: its agent can be used.
        draining: it takes no new work.
        capacity: how many more handoffs it would take.
        left: it has said good-bye.
    """

    name: str
    incarnation: Incarnation
    session: str
    role: Role = Role.STANDBY
    group: str = ""
    url: str = ""
    peer_url: str = ""
    ready: bool = False
    draining: bool = False
    capacity: int = 0
    left: bool = False


class Accusation(NamedTuple):
    """That a member did not answer.

    Attributes:
        incarnation: of the member, as its accusers knew it: only a higher one refutes.
        by: names of accusers, sorted, at most ``ACCUSERS_MAX``.
    """

    incarnation: Incarnation
    by: tuple[str, ...]


class Member(NamedTuple):
    """All that travels about one member."""

    told: Told
    accused: Accusation | None = None

    @property
    def suspected(self) -> bool:
        """Whether it has not refuted yet."""
        return self.accused is not None and self.accused.incarnation >= self.told.incarnation

    @property
    def accusers(self) -> int:
        """How many names accuse it of what it has not refuted."""
        return len(self.accused.by) if self.accused is not None and self.suspected else 0

    @property
    def newest(self) -> Incarnation:
        """The newest of its incarnations that is known, be it only from its accusers."""
        return self.accused.incarnation if self.accused is not None and self.suspected else self.told.incarnation


class State(StrEnum):
    """How a member stands with this one."""

    ALIVE = "alive"  # it answers, or nobody says otherwise
    SUSPECT = "suspect"  # somebody says that it does not answer, and it has not refuted yet
    DEAD = "dead"  # two said so, and it had time enough to refute
    LEFT = "left"  # it said that it leaves


class News(StrEnum):
    """What can be heard of a member, or concluded."""

    SPOKE = "spoke"  # it said something that no accusation is as new as
    ACCUSED = "accused"  # somebody accuses it at the newest incarnation that is known
    OVERDUE = "overdue"  # it did not refute in time (``roster``)
    LEFT = "left"  # it says good-bye


MOVES: Final[Mapping[State, Mapping[News, State]]] = {
    State.ALIVE: {News.ACCUSED: State.SUSPECT, News.LEFT: State.LEFT},
    State.SUSPECT: {News.SPOKE: State.ALIVE, News.OVERDUE: State.DEAD, News.LEFT: State.LEFT},
    State.DEAD: {News.SPOKE: State.ALIVE, News.LEFT: State.LEFT},
    State.LEFT: {News.SPOKE: State.ALIVE},
}
"""Where a member's state goes; what is not named keeps it."""


def newer(one: Told, other: Told) -> Told:
    """The newer of two words of one member; of two lives under one incarnation (a copied disk) always the same."""
    # The rest of the tuple decides only where a member contradicts itself: everybody must take the same word then.
    return max(one, other, key=lambda told: (told.incarnation, told.left, told))


def joined(one: Accusation | None, other: Accusation | None) -> Accusation | None:
    """What two accusations of one member say together."""
    if one is None or other is None:
        return one or other
    if one.incarnation != other.incarnation:
        return max(one, other)
    # The smallest names of a union: bounded, and the same in whatever order the parts came.
    return Accusation(one.incarnation, tuple(sorted({*one.by, *other.by}))[:ACCUSERS_MAX])


def merged(one: Member, other: Member) -> Member:
    """What two members know together of a third: commutative, associative, idempotent."""
    return Member(newer(one.told, other.told), joined(one.accused, other.accused))


def heard(member: Member) -> News:
    """What a member's record says about where it stands."""
    if member.told.left:
        return News.LEFT
    return News.ACCUSED if member.suspected else News.SPOKE


def told_row(told: Told) -> list[Any]:
    """A member's word as it travels: a list of its fields."""
    return [told.name, *told.incarnation, told.session, told.role.value, *told[4:]]


def read_told(value: object) -> Told:
    """A member's word from outside.

    Raises:
        MalformedGossip: not such a list, or a field beyond its bounds.
    """
    said, life, word, session, role, group, url, peer_url, ready, draining, capacity, left, *_ = checked.row(
        value, "told", least=12
    )
    return Told(
        checked.name(said, "name"),
        Incarnation(checked.whole(life, "life"), checked.whole(word, "word")),
        checked.name(session, "session"),
        checked.one_of(Role, role, "role"),
        checked.text(group, "group"),
        checked.address(url, "url"),
        checked.address(peer_url, "peer URL"),
        checked.flag(ready, "ready"),
        checked.flag(draining, "draining"),
        checked.whole(capacity, "capacity"),
        checked.flag(left, "left"),
    )


def accused_row(name: str, accused: Accusation) -> list[Any]:
    """An accusation as it travels."""
    return [name, *accused.incarnation, *accused.by]


def read_accused(value: object) -> tuple[str, Accusation]:
    """Who is accused, and of what, from outside.

    Raises:
        MalformedGossip: not such a list, nobody or too many who accuse, or a field beyond its bounds.
    """
    name, life, word, *by = checked.listed(checked.row(value, "accused", least=4), "accused", 3 + ACCUSERS_MAX)
    incarnation = Incarnation(checked.whole(life, "life"), checked.whole(word, "word"))
    accusers = {checked.name(each, "accuser") for each in by}
    return checked.name(name, "name"), Accusation(incarnation, tuple(sorted(accusers)))
