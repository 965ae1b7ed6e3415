"""A member of the cluster: SWIM with Lifeguard. Beats and messages in; messages, moves and news out.

Each period one other member is pinged; one that does not answer is pinged by others; one that answers nobody is
accused, and has time to refute. News rides on all of it, and is sent around while there is some. So each member
sends the same few messages whatever the cluster's size. What Lifeguard adds: a member that misses answers takes
itself for slow and gives everybody more time (``Slowness``); an accusation weighs little until others find the
same (``Pace.suspicion_ms``); and whoever is accused is told so with the next message that it is sent (``post``).

The shell calls ``tick`` whenever ``due_ms`` has come, hands in what arrives, sends what comes out and loses as
much of it as it likes. Every call brings the time of a monotonic clock and a drawn number. What must not be lost
is one thing: ``StoreLife``.

Nothing here decides who owns what: that is the voters'. The failures this prevents are those of routing and
patience: a living member that is held for dead, a dead one that is asked, a healed partition that nobody notices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bridge.gossip.draws import Draws
from bridge.gossip.effect import Effect
from bridge.gossip.exchange import Exchange
from bridge.gossip.hearsay import Hearsay
from bridge.gossip.member import ACCUSERS_MAX, Accusation, State, Told
from bridge.gossip.message import NO_NEWS, WAIT_MS_MAX, Kind, Message, News, parse
from bridge.gossip.owners import OwnerView, Tenure
from bridge.gossip.pace import Pace
from bridge.gossip.post import COMPARED, Post
from bridge.gossip.probe import NACK_AT_PERCENT, Prober, Relay, Relays, Step
from bridge.gossip.roster import Roster
from bridge.journal import Fence


class Gossip:
    """One member in one life.

    Args:
        me: what it says of itself first, its life higher than any that it stored.
        seeds: peer URLs of members that may know others.
        now_ms: a monotonic clock's.
        drawn: 64 random bits.
        pace: how fast things go.
        cluster: whose members hear each other.
    """

    def __init__(
        self,
        me: Told,
        seeds: Sequence[str],
        now_ms: int,
        drawn: int,
        *,
        pace: Pace | None = None,
        cluster: str = "",
    ) -> None:
        draws, self._pace, self._cluster = Draws(drawn), pace or Pace(), cluster
        self._known = Hearsay(me, self._pace, now_ms)
        # An answer to an earlier life's ping must not pass for an answer to this one's.
        self._post = Post(self._known, self._pace, cluster, draws.below(1 << 32))
        self._exchange = Exchange(me.name, self._known.roster, self._known.owners)
        self._prober, self._relays = Prober(), Relays()
        self._seeds = [seed.rstrip("/") for seed in seeds if seed.rstrip("/") != me.peer_url.rstrip("/")]
        self._beat_ms = now_ms
        # Members that were started together do not do everything at the same moment.
        self._probe_ms = now_ms + draws.below(self._pace.period_ms)
        self._compare_ms = now_ms + draws.below(self._pace.compare_ms)
        self._revive_ms = now_ms + draws.below(self._pace.revive_ms)
        self._spread_ms = self._retry_ms = now_ms
        self._facts = me

    @property
    def me(self) -> Told:
        """What it says of itself."""
        return self._known.me

    @property
    def roster(self) -> Roster:
        """The members that it knows: to be read."""
        return self._known.roster

    @property
    def owners(self) -> OwnerView:
        """Who owns what, as far as it heard: to be read."""
        return self._known.owners

    @property
    def slowness(self) -> int:
        """How slow it takes itself for: 0 while its probes are answered."""
        return self._known.slowness.score

    @property
    def quiet(self) -> bool:
        """Whether everything was passed on: whoever has left may go."""
        return not self._known.spread or not self.roster.alive

    @property
    def due_ms(self) -> int:
        """When ``tick`` is to be called, at the latest: at least once in each period."""
        due = [self._beat_ms + self._pace.period_ms]
        if not self.quiet:
            due.append(self._spread_ms)
        if not self.me.left:
            due += [self._prober.due_ms if self._prober.running else self._probe_ms, self._compare_ms]
            due += [self._retry_ms] if self._seeds else []
            due += [self._revive_ms] if self.roster.dead else []
            due += [relay] if (relay := self._relays.due_ms()) is not None else []
        return min(due)

    # What the shell brings.

    def tick(self, now_ms: int, drawn: int) -> list[Effect]:
        """Time passed."""
        draws = Draws(drawn)
        self._wake(now_ms)
        if not self.me.left:
            self._known.moved(self.roster.overdue(now_ms))
            for relay in self._relays.overdue(now_ms):
                self._post.send(Kind.NACK, relay.asker, seq=relay.seq)
            if self._prober.elapsed(now_ms):
                self._probe_moved(now_ms, draws)
            if now_ms >= self._probe_ms and not self._prober.running:
                self._probe(now_ms, draws)
            self._look_further(now_ms, draws)
        if now_ms >= self._spread_ms and not self.quiet:
            self._spread_ms = now_ms + self._pace.spread_ms
            for name in self.roster.alive.some(self._pace.spread_to, draws):
                self._post.send(Kind.TELL, name)
        return self._done()

    def receive(self, value: object, now_ms: int, drawn: int) -> list[Effect]:
        """A message arrived.

        Args:
            value: as ``jsontext.parse`` returns it.
            now_ms: the clock.
            drawn: 64 random bits.

        Raises:
            MalformedGossip: it is none; nothing was changed.
            ForeignGossip: it is for somebody else; nothing was changed.
        """
        message = parse(value, self.me.name, self._cluster)
        draws, known, sender = Draws(drawn), self._known, message.sender
        before = self.roster.state(sender)
        compared = message.kind in COMPARED
        news = [known.told(told, now_ms, draws, compared=compared) for told in message.news.told]
        news += [known.accused(name, accused, now_ms, draws) for name, accused in message.news.accused]
        news += [
            known.owned(record, first_hand=record.owner == sender, compared=compared)
            for record in message.news.owned
        ]
        if sender != self.me.name and (message.kind is Kind.PING or not self.me.left):
            self.roster.answered(sender, now_ms)
            self._HANDLERS[message.kind](self, message, now_ms, draws)
            back = before is State.DEAD and self.roster.state(sender) is State.ALIVE
            if back or (message.more and any(news)):
                # Two sides of a partition have much to tell each other; and so has whoever could not send it all.
                self._post.post(self._exchange.sync(sender))
        return self._done()

    def refused(self, seq: int, now_ms: int, drawn: int) -> list[Effect]:
        """Nobody was at the address that a ping was sent to: the shell need not wait to be sure of that."""
        if self._prober.refused(seq):
            self._probe_moved(now_ms, Draws(drawn))
        if (relay := self._relays.refused(seq)) is not None:
            self._post.send(Kind.NACK, relay.asker, seq=relay.seq)
        return self._done()

    def say(self, told: Told) -> None:
        """This member is otherwise than it said. Its facts count, not who it is nor whether it leaves.

        How much capacity is left is told soon, that there is none, or some again, at once.
        """
        me = self.me
        self._facts = told._replace(name=me.name, incarnation=me.incarnation, session=me.session, left=me.left)
        small = (self._facts.capacity > 0) == (me.capacity > 0)
        if self._facts != (me._replace(capacity=self._facts.capacity) if small else me):
            self._known.speak(self._facts, me.incarnation)

    def leave(self) -> None:
        """Say good-bye; tick on until ``quiet``."""
        self._known.speak(self.me._replace(left=True), self.me.incarnation)

    def announce(self, task: str, fence: Fence, tenure: Tenure) -> None:
        """This member owns a handoff, or does no more (``OwnerView.announce``)."""
        self._known.announce(task, fence, tenure)

    # Probing.

    def _wake(self, now_ms: int) -> None:
        gap, self._beat_ms = now_ms - self._beat_ms, now_ms
        if gap > 2 * self._pace.period_ms:
            # This process stood still. What it waited for may lie unread: nobody is to blame but itself.
            self._prober.give_up()
            self._relays.clear()
            self.roster.slept(gap)
            self._known.slowness.change(1)

    def _probe(self, now_ms: int, draws: Draws) -> None:
        pace, stretched = self._pace, self._known.slowness.stretched
        self._probe_ms = now_ms + stretched(pace.period_ms)
        target = self.roster.next_turn(draws)
        if target is not None:
            self._prober.begin(target, self._post.ping(target), now_ms + stretched(pace.answer_ms), self._probe_ms)

    def _probe_moved(self, now_ms: int, draws: Draws) -> None:
        prober, member = self._prober, self.roster.of(self._prober.target)
        if member is None or self.roster.state(prober.target) not in (State.ALIVE, State.SUSPECT):
            prober.give_up()  # it left meanwhile, or was concluded to be dead
        elif prober.step is Step.INDIRECT:
            prober.ask(self.roster.alive.some(self._pace.scouts, draws, (prober.target,)))
            wait_ms = min(WAIT_MS_MAX, prober.left_ms(now_ms))
            about = News((member.told,))  # a scout may not know it
            for name in prober.scouts:
                self._post.post(Message(Kind.ASK, self.me.name, name, about, prober.seq, prober.target, wait_ms))
        else:
            if prober.scouts or not member.suspected:
                self._known.slowness.change(prober.unheard)
            # With as many accusers as count, one more is no news.
            if member.accusers < ACCUSERS_MAX:
                accusation = Accusation(member.newest, (self.me.name,))
                self._known.accused(prober.target, accusation, now_ms, draws)

    def _look_further(self, now_ms: int, draws: Draws) -> None:
        pace, roster = self._pace, self.roster
        if now_ms >= self._compare_ms:
            self._compare_ms = now_ms + pace.compare_ms
            if self._facts.capacity != self.me.capacity:
                self._known.speak(self.me._replace(capacity=self._facts.capacity), self.me.incarnation)
            for name in roster.alive.some(1, draws):
                self._post.post(self._exchange.sync(name))
        if now_ms >= self._revive_ms:
            self._revive_ms = now_ms + pace.revive_ms
            for name in roster.dead.some(1, draws):
                self._post.ping(name)
        if now_ms >= self._retry_ms:
            self._retry_ms = now_ms + (pace.retry_ms if roster.alive else pace.period_ms)
            living = {member.told.peer_url.rstrip("/") for member, state in roster.all() if state is State.ALIVE}
            for seed in draws.shuffled(seed for seed in self._seeds if seed not in living)[:1]:
                self._post.post(self._exchange.sync(""), seed)

    # What the others ask.

    def _pinged(self, message: Message, _now_ms: int, _draws: Draws) -> None:
        # Whoever accuses it of something that is long refuted has missed its newest word.
        accused = any(name == self.me.name for name, _ in message.news.accused)
        self._post.send(Kind.ACK, message.sender, News((self.me,)) if accused else NO_NEWS, seq=message.seq)

    def _acked(self, message: Message, _now_ms: int, _draws: Draws) -> None:
        if self._prober.acked(message.sender, message.seq):
            self._known.slowness.change(-1)
        if (relay := self._relays.acked(message.sender, message.seq)) is not None:
            self._post.send(Kind.ACK, relay.asker, seq=relay.seq)

    def _asked(self, message: Message, now_ms: int, _draws: Draws) -> None:
        due_ms = now_ms + message.wait_ms * NACK_AT_PERCENT // 100
        if self._relays.begin(self._post.next_seq, Relay(message.sender, message.seq, message.target, due_ms)):
            self._post.ping(message.target)

    def _nacked(self, message: Message, now_ms: int, draws: Draws) -> None:
        if self._prober.nacked(message.sender, message.seq):
            self._probe_moved(now_ms, draws)

    def _told(self, message: Message, _now_ms: int, _draws: Draws) -> None:
        """News was all that it brought."""

    def _synced(self, message: Message, _now_ms: int, _draws: Draws) -> None:
        if (digests := self._exchange.digests(message)) is not None:
            self._post.post(digests)

    def _compared(self, message: Message, _now_ms: int, draws: Draws) -> None:
        self._post.post(self._exchange.offer(message, draws))

    def _offered(self, message: Message, _now_ms: int, _draws: Draws) -> None:
        self._post.post(self._exchange.answer(message))

    _HANDLERS: Final[Mapping[Kind, Callable[[Gossip, Message, int, Draws], None]]] = {
        Kind.PING: _pinged,
        Kind.ACK: _acked,
        Kind.ASK: _asked,
        Kind.NACK: _nacked,
        Kind.TELL: _told,
        Kind.SYNC: _synced,
        Kind.DIGESTS: _compared,
        Kind.OFFER: _offered,
        Kind.ANSWER: _told,
    }

    def _done(self) -> list[Effect]:
        out, self._known.out = self._known.out, []
        return out
