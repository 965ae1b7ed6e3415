"""How a member's messages go out: with what the addressee must hear, and with news as far as there is room.

Whoever is to answer is told who asks, since it may not know. Whoever is suspected is told so with every message
(Lifeguard's buddy), since it alone can refute it. This file must not know why a message is sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bridge.gossip.effect import Send
from bridge.gossip.hearsay import Hearsay
from bridge.gossip.message import NO_NEWS, Kind, Message, News, build
from bridge.gossip.pace import Pace

INTRODUCED: Final = (Kind.PING, Kind.ASK, Kind.SYNC)
COMPARED: Final = (Kind.OFFER, Kind.ANSWER)
"""These carry what their business is, and no rumours besides."""


class Post:
    """What one member sends.

    Args:
        known: what it knows, and where what it wants done is collected.
        pace: how fast things go.
        cluster: named in every message.
        seq: number of the ping before the first.
    """

    def __init__(self, known: Hearsay, pace: Pace, cluster: str, seq: int) -> None:
        self._known, self._pace, self._cluster = known, pace, cluster
        self._seq = seq

    @property
    def next_seq(self) -> int:
        """Number of the next ping."""
        return self._seq + 1

    def ping(self, target: str) -> int:
        """Ping somebody; the ping's number."""
        self._seq += 1
        self.send(Kind.PING, target, seq=self._seq)
        return self._seq

    def send(self, kind: Kind, to: str, news: News = NO_NEWS, *, seq: int = 0) -> None:
        """Send something small."""
        self.post(Message(kind, self._known.me.name, to, news, seq))

    def post(self, message: Message, url: str = "") -> None:
        """Send a message.

        Args:
            message: its own business.
            url: where to, if it is for nobody in particular.
        """
        known, (told, accused, owned) = self._known, message.news
        to = known.roster.of(message.to)
        url = url or (to.told.peer_url if to is not None else "")
        if not url:
            return  # nobody knows where that is; it will introduce itself
        if message.kind in INTRODUCED:
            told = (known.me, *told)
        if to is not None and to.accused is not None and to.suspected:
            accused = ((message.to, to.accused), *accused)
        if message.kind not in COMPARED:
            more = known.spread.take(self._pace.repeats_of(len(known.roster)))
            told, accused, owned = told + more.told, accused + more.accused, owned + more.owned
        value = build(replace(message, news=News(told, accused, owned)), self._cluster)
        known.out.append(Send(message.to, url, value, message.seq if message.kind is Kind.PING else 0))
