"""All members as one of them knows them: where each stands, whose turn it is to be probed, who is long gone.

A suspect is concluded to be dead when two have accused it and it had its time to refute (``Pace.suspicion_ms``).
With nobody else left who could accuse, one is enough: a member that is alone must still come to a conclusion, and
nobody believes it but itself. Whoever answers this member directly gets its time anew, whatever others say.

Members that are dead or have left stay known, and the dead are tried again for ever, until there are more than
``members_max`` in all: then the longest gone is forgotten. They are not in ``buckets``, so members need not agree
on them, and a newcomer never learns of them. This file must not know what is sent.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.gossip.buckets import Buckets
from bridge.gossip.draws import Draws, Pool
from bridge.gossip.member import (
    ACCUSERS_MAX,
    MEMBER_BUCKETS,
    MOVES,
    Accusation,
    Member,
    News,
    State,
    Told,
    heard,
    merged,
)
from bridge.gossip.pace import Pace

MEMBERS_MAX = 5_000


class Moved(NamedTuple):
    """A member stands otherwise.

    Attributes:
        name: of the member.
        before: how it stood; None where it was unknown.
        after: how it stands; None where it was forgotten.
    """

    name: str
    before: State | None
    after: State | None


class Roster:
    """Every member that is known.

    Args:
        me: what this member says of itself; it is in the table, and stands outside of all that is decided here.
        pace: how fast things go.
        members_max: how many are known in all.

    Attributes:
        buckets: digests of those that live or are suspected.
        alive: those that live, without this one.
        dead: those to be tried again.
    """

    def __init__(self, me: Told, pace: Pace, members_max: int = MEMBERS_MAX) -> None:
        self.buckets = Buckets(MEMBER_BUCKETS)
        self.alive, self.dead = Pool(), Pool()
        self._me, self._pace, self._members_max = me.name, pace, members_max
        self._members: dict[str, Member] = {}
        self._states: dict[str, State] = {}
        self._suspects: dict[str, int] = {}  # since when each has its time to refute
        self._gone: dict[str, None] = {}  # dead or left, the longest gone first
        self._turns: list[str] = []  # who is probed next stands last
        self.speak(me)

    def speak(self, me: Told) -> None:
        """This member says something new of itself."""
        self._members[self._me] = Member(me)
        self._states[self._me] = State.LEFT if me.left else State.ALIVE
        self.buckets.put(self._me, me.incarnation, False)

    def of(self, name: str) -> Member | None:
        """What is known of a member."""
        return self._members.get(name)

    def state(self, name: str) -> State | None:
        """How a member stands; None where it is unknown."""
        return self._states.get(name)

    def all(self) -> list[tuple[Member, State]]:
        """Every member, this one too, in order of their names."""
        return [(self._members[name], self._states[name]) for name in sorted(self._members)]

    def able(self, group: str) -> list[str]:
        """Who could take over a handoff of this group, as far as is known: for the choice of a standby.

        Returns:
            Names in order, this one among them if it could.
        """
        return [
            told.name
            for (told, _), state in self.all()
            if state is State.ALIVE and told.group == group and told.ready and not told.draining and told.capacity
        ]

    def __len__(self) -> int:
        """How many live or are suspected, with this one."""
        return len(self.alive) + len(self._suspects) + 1

    def hear_told(self, told: Told, now_ms: int, draws: Draws) -> tuple[bool, list[Moved]]:
        """A member's word was heard, from itself or from others.

        Returns:
            Whether it is news, and who stands otherwise now.
        """
        known = self._members.get(told.name)
        if known is not None:
            return self._learn(merged(known, Member(told)), now_ms)
        if told.left:
            return False, []  # who is gone before it was known is nobody's news
        moved = []
        if len(self._members) >= self._members_max:
            if not self._gone:
                return False, []
            moved.append(self._forget(next(iter(self._gone))))
        # Its first turn comes at a place of chance: no newcomer is probed by all at once.
        self._turns.insert(draws.below(len(self._turns) + 1), told.name)
        news, also = self._learn(Member(told), now_ms)
        return news, moved + also

    def hear_accused(self, name: str, accused: Accusation, now_ms: int) -> tuple[bool, list[Moved]]:
        """Somebody says that a member does not answer. Of unknown members that is no news."""
        known = self._members.get(name)
        if known is None:
            return False, []
        return self._learn(merged(known, Member(known.told, accused)), now_ms)

    def answered(self, name: str, now_ms: int) -> None:
        """A member was heard directly: whoever accuses it, it has its whole time to refute."""
        if name in self._suspects:
            self._suspects[name] = now_ms

    def slept(self, ms: int) -> None:
        """This member stood still: what others had to say meanwhile was not heard, and their time did not run."""
        self._suspects = {name: since + ms for name, since in self._suspects.items()}

    def overdue(self, now_ms: int) -> list[Moved]:
        """Conclude which suspects are dead."""
        if not self._suspects:
            return []
        enough = min(2, len(self.alive) + 1)
        waits = [self._pace.suspicion_ms(len(self), accusers) for accusers in range(ACCUSERS_MAX + 1)]
        moved = []
        for name, since in list(self._suspects.items()):
            accusers = self._members[name].accusers
            if accusers >= enough and now_ms - since >= waits[accusers]:
                moved += self._stand(name, News.OVERDUE, now_ms)
        return moved

    def next_turn(self, draws: Draws) -> str | None:
        """Whom to probe next: everybody once in each round, in an order that chance makes anew for each round."""
        for _ in range(2):
            while self._turns:
                name = self._turns.pop()
                if name in self.alive or name in self._suspects:
                    return name
            self._turns = draws.shuffled([*self.alive.names(), *self._suspects])
        return None

    def hurry(self, name: str) -> None:
        """Probe this one next."""
        self._turns.append(name)

    def _learn(self, member: Member, now_ms: int) -> tuple[bool, list[Moved]]:
        name = member.told.name
        before = self._members.get(name)
        if member == before:
            return False, []
        self._members[name] = member
        moved = self._stand(name, heard(member), now_ms)
        return True, moved

    def _stand(self, name: str, news: News, now_ms: int) -> list[Moved]:
        before = self._states.get(name)
        after = State.ALIVE if before is None else MOVES[before].get(news, before)
        member = self._members[name]
        if after in (State.ALIVE, State.SUSPECT):
            self.buckets.put(name, member.told.incarnation, member.suspected)
        if after is before:
            return []
        self._states[name] = after
        for pool, state in ((self.alive, State.ALIVE), (self.dead, State.DEAD)):
            if after is state:
                pool.add(name)
            else:
                pool.discard(name)
        self._suspects.pop(name, None)
        self._gone.pop(name, None)
        if after is State.SUSPECT:
            self._suspects[name] = now_ms
        elif after is not State.ALIVE:
            self._gone[name] = None
            self.buckets.drop(name)
        return [Moved(name, before, after)]

    def _forget(self, name: str) -> Moved:
        del self._members[name], self._gone[name]
        self.dead.discard(name)
        return Moved(name, self._states.pop(name), None)
