"""What a member knows, and what it makes of what it hears: take it in, pass it on, or answer back.

Everything heard ends in one of the two tables, and goes on to others if it was news. Only what is said of this
member itself is different: of that it knows better. Accused, it speaks anew under a higher incarnation; and where
others know of a word of its own that it never said (its disk is an old copy, or somebody else uses its name), it
speaks above that one, too. The failure this prevents: a member that lives and stays dead in some tables for ever,
because an old verdict and its new life pass each other by.

This file must not know about messages or probes.
"""

from __future__ import annotations

from bridge.gossip.checked import WHOLE_MAX
from bridge.gossip.draws import Draws
from bridge.gossip.effect import Effect, NameTaken, OwnerHeard, StoreLife
from bridge.gossip.member import Accusation, Incarnation, Told
from bridge.gossip.news import Spread
from bridge.gossip.owners import Owned, OwnerView, Tenure
from bridge.gossip.pace import Pace, Slowness
from bridge.gossip.roster import Moved, Roster
from bridge.journal import Fence


class Hearsay:
    """All that one member knows.

    Args:
        me: what it says of itself first.
        pace: how fast things go.
        now_ms: a monotonic clock's.

    Attributes:
        me: what it says of itself now.
        roster: the members.
        owners: who owns what.
        spread: what waits to be passed on.
        slowness: how slow it takes itself for.
        out: what is to be done or known outside, since it was last looked at.
    """

    def __init__(self, me: Told, pace: Pace, now_ms: int) -> None:
        self.me = me
        self.roster, self.owners = Roster(me, pace), OwnerView(me.name)
        self.spread, self.slowness = Spread(), Slowness(pace)
        self.out: list[Effect] = []
        self._pace, self._contest_ms = pace, now_ms
        self.spread.told(me)

    def told(self, told: Told, now_ms: int, draws: Draws, *, compared: bool) -> bool:
        """A member's word was heard; whether it is news.

        Args:
            told: the word.
            now_ms: the clock.
            draws: chance.
            compared: it was found by comparing tables. What is new only here is old to most, and not passed on.
        """
        if told.name == self.me.name:
            self._contest(told, now_ms)
            return False
        known = self.roster.of(told.name) is not None
        news, moved = self.roster.hear_told(told, now_ms, draws)
        self.moved(moved)
        if news and (known or not compared):
            self.spread.told(told)
        return news

    def accused(self, name: str, accused: Accusation, now_ms: int, draws: Draws) -> bool:
        """Somebody does not answer, it was heard, or this member found; whether it is news."""
        if name == self.me.name:
            if accused.incarnation >= self.me.incarnation and not self.me.left:
                self.slowness.change(1)
                self.speak(self.me, accused.incarnation)
            return False
        news, moved = self.roster.hear_accused(name, accused, now_ms)
        self.moved(moved)
        member = self.roster.of(name)
        if news and member is not None and member.accused is not None:
            self.spread.accused(name, member.accused)
            # About so many look for themselves at once, whoever they are and however many there are.
            if moved and draws.below(len(self.roster)) < self._pace.checkers:
                self.roster.hurry(name)
        return news

    def owned(self, record: Owned, *, first_hand: bool, compared: bool) -> bool:
        """Who owns a handoff was heard; whether it is news.

        Args:
            record: what was heard.
            first_hand: its owner said so itself.
            compared: as in ``told``.
        """
        known = self.owners.of(record.task) is not None
        heard = self.owners.hear(record, self.me.incarnation.life, first_hand=first_hand)
        if heard is None:
            return False
        self.out.append(OwnerHeard(heard))
        if known or not compared or heard.owner == self.me.name:
            self.spread.owned(heard)
        return True

    def announce(self, task: str, fence: Fence, tenure: Tenure) -> None:
        """This member owns a handoff, or does no more."""
        self.spread.owned(self.owners.announce(task, fence, tenure, self.me.incarnation.life))

    def speak(self, me: Told, above: Incarnation) -> None:
        """Say something of oneself, in a word that is newer than any before and than ``above``."""
        life, word = max(above, self.me.incarnation)
        # After the last word of a life the next one is not larger than others take: it begins another life.
        said = Incarnation(life, word + 1) if word < WHOLE_MAX else Incarnation(life + 1, 0)
        if said.life > self.me.incarnation.life:
            self.out.append(StoreLife(said.life))
        self.me = me._replace(incarnation=said)
        self.roster.speak(self.me)
        self.spread.told(self.me)

    def moved(self, moved: list[Moved]) -> None:
        """Members stand otherwise now."""
        self.out += moved
        for each in moved:
            if each.after is None:
                self.owners.forget(each.name)
                self.spread.forget(each.name)

    def _contest(self, told: Told, now_ms: int) -> None:
        other = told.incarnation >= self.me.incarnation and told.session != self.me.session
        # Two that live under one name would outbid each other for ever: at least not faster than once a period.
        if other and now_ms >= self._contest_ms and not self.me.left:
            self._contest_ms = now_ms + self._pace.period_ms
            self.out.append(NameTaken(told.session))
            self.speak(self.me, told.incarnation)
