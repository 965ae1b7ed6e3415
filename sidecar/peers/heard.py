"""What this host has heard of other sidecars: how long ago they lived, what they say of themselves, who is gone.

The rules are ``bridge.session``'s, for which the voter of this host answers; beside them stands each sidecar's
card, for whoever routes or takes over. Times are by this host's own monotonic clock and count from receipt only.
This file must not send anything. The failure it prevents: a sidecar that looks alive here because another says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bridge.lease import LEASE_MARGIN_MS, LEASE_TTL_MS, Evidence
from bridge.session import Renewal, SessionsHeard
from sidecar.records import SessionCard
from sidecar.store.sessionrow import SessionRow

KEPT_MS = 3_600_000
"""Sessions that are gone are shown for an hour: as evidence, and for people."""

KEPT_MAX = 1_000


@dataclass(slots=True)
class _Known:
    card: SessionCard
    heard_ms: int
    fenced: bool = False
    released: bool = False
    refused: bool = False


class Heard:
    """The sessions that this host knows, its own included. Made for one event loop; ``blocks`` is for any thread.

    Args:
        now_ms: this host's monotonic clock, in milliseconds.
        ttl_ms: how long a renewal lasts.
        margin_ms: what is added to it here, and subtracted by the owner.
        refused_is_dead: who listens no more at its address is gone (``lease.may_claim``).
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        ttl_ms: int = LEASE_TTL_MS,
        margin_ms: int = LEASE_MARGIN_MS,
        *,
        refused_is_dead: bool = False,
    ) -> None:
        self.now_ms, self.ttl_ms, self.margin_ms = now_ms, ttl_ms, margin_ms
        self._rules = SessionsHeard(now_ms(), ttl_ms, margin_ms, refused_is_dead=refused_is_dead)
        self._refused_is_dead = refused_is_dead
        self._known: dict[str, _Known] = {}
        self._newest: dict[str, SessionCard] = {}
        self._listeners: list[Callable[[], None]] = []

    def renewed(self, renewal: Renewal, card: SessionCard) -> bool:
        """A session has renewed; whether the voter of this host stands by it."""
        now = self.now_ms()
        stands = self._rules.renewed(renewal, now)
        if stands:
            self._note(card, now)
        return stands

    def released(self, renewal: Renewal) -> None:
        """A session let go of everything."""
        self._rules.released(renewal, self.now_ms())
        known = self._known.get(renewal.session)
        if known is not None and not known.released:
            known.released = True
            self._tell()

    def blocks(self, holder: str, candidate: str) -> bool:
        """Whether a session stands in the way of another's claim."""
        known = self._known.get(holder)
        evidence = Evidence.REFUSED if known is not None and known.refused else None
        return self._rules.blocks(holder, candidate, self.now_ms(), evidence)

    def refused(self, session: str) -> None:
        """Nobody listens at the address where this session was; if the operator says so, that proves its end."""
        known = self._known.get(session)
        if known is not None and self._refused_is_dead and not known.refused:
            known.refused = True
            self._tell()

    def told(self, card: SessionCard, age_ms: int, *, released: bool = False) -> None:
        """Another host has heard of a session: worth knowing, and nothing that this host's voter answers for."""
        known = self._known.get(card.session)
        at = self.now_ms() - age_ms
        if known is None or known.heard_ms < at:
            self._note(card, at)
        known = self._known.get(card.session)
        if released and known is not None and not known.released:
            known.released = True
            self._tell()

    def on_end(self, listener: Callable[[], None]) -> None:
        """Have a listener called when a session is known to be over, before its lease has run out."""
        self._listeners.append(listener)

    def card(self, session: str) -> SessionCard | None:
        """What a session says of itself, for as long as it lives."""
        known = self._known.get(session)
        if known is None or known.fenced or known.released:
            return None
        silent_ms = self.now_ms() - known.heard_ms
        return known.card if silent_ms < self.ttl_ms + self.margin_ms else None

    def rows(self) -> list[SessionRow]:
        """All that is known, by name and life."""
        now = self.now_ms()
        known = sorted(self._known.values(), key=lambda each: (each.card.name, each.card.incarnation))
        return [_row(each, now) for each in known]

    def _note(self, card: SessionCard, at_ms: int) -> None:
        known = self._known.get(card.session)
        if known is None:
            self._known[card.session] = _Known(card, at_ms)
            self._begun(card)
            self._forget()
        else:
            known.refused = known.refused and at_ms <= known.heard_ms
            known.card, known.heard_ms = card, max(known.heard_ms, at_ms)

    def _begun(self, card: SessionCard) -> None:
        newest = self._newest.get(card.name)
        if newest is None or newest.incarnation < card.incarnation:
            self._newest[card.name] = card
            over = newest
        else:
            over = card if newest.incarnation > card.incarnation else None
        if over is not None and (known := self._known.get(over.session)) is not None:
            known.fenced = True
            self._tell()

    def _forget(self) -> None:
        """Memory does not grow with every restart of a member."""
        since = self.now_ms() - KEPT_MS
        kept = [each for each in self._known.values() if each.heard_ms >= since]
        kept = sorted(kept, key=lambda each: each.heard_ms)[-KEPT_MAX:]
        if len(kept) < len(self._known):
            self._known = {each.card.session: each for each in kept}
            self._newest = {name: card for name, card in self._newest.items() if card.session in self._known}

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def _row(known: _Known, now_ms: int) -> SessionRow:
    card = known.card
    return SessionRow(
        card.session, card.name, card.incarnation, card.group, card.role, card.url, card.peer_url, card.ready,
        card.draining, card.capacity, max(0, now_ms - known.heard_ms), True, False, known.fenced, known.released,
        known.refused,
    )  # fmt: skip
