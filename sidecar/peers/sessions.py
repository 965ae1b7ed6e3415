"""This sidecar's session among its voters, and the sessions of the others: the surface of ``store.sessions``.

One session covers all handoffs of the process. It is renewed at every voter that is known, the own one included;
how long what they answered counts is ``bridge.session.OwnSession``'s. A life is numbered by the sidecar's own
store, before anybody hears of it. This file must not know what is owned.

The failures it prevents: an answer that counts although its voter does not stand by the session, and an old life's
number that is used again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from bridge import session as rules
from bridge.voterset import Voters, everyone, has_majority
from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.heard import Heard
from sidecar.ports import RemoteVoter
from sidecar.records import SessionCard
from sidecar.store.sessionrow import Renewal, Session, SessionRow

log = logging.getLogger(__name__)

Rows = list[SessionRow]

INCARNATION, INCARNATION_OF = "incarnation", "incarnation_of"
RELEASE_S = 1.0


class Keeping(Protocol):
    """Small values that outlive the process (``store.kept``)."""

    async def keep(self, name: str, value: str) -> None:
        """Keep a value; durable once this returns."""
        ...

    async def kept(self, name: str) -> str | None:
        """The value that was kept under a name."""
        ...


class OwnFile(Keeping, Protocol):
    """And which file they are in (``bridge.voterid``)."""

    voter_id: str


class ClusterSessions:
    """Implements what ``store.sessions.Sessions`` does, over voters; and ``circle.Life``.

    Args:
        heard: what this host has heard of sessions.
        voters: whoever can be asked, by voter id; it changes as peers become known.
        sets: whose majorities make the session live as a whole; none while there is no member list yet.
        keeping: this sidecar's own store.
        peer_url: where other sidecars reach this one, "" until that is known.
        missing: who is not reached and why not, for people.
    """

    def __init__(
        self,
        heard: Heard,
        voters: Mapping[str, RemoteVoter],
        sets: Callable[[], Sequence[Voters]],
        keeping: OwnFile,
        *,
        peer_url: Callable[[], str] = str,
        missing: Callable[[], str] = str,
    ) -> None:
        self._missing, self._peer_url = missing, peer_url
        self._heard, self._voters, self._sets, self._keeping = heard, voters, sets, keeping
        self._own = rules.OwnSession("", heard.ttl_ms, heard.margin_ms)
        self._word = rules.Renewal("", 0, "")
        self._card = SessionCard("", "", 0)
        self._over = self._superseded = False
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._yes: set[str] = set()
        self._no: set[str] = set()
        self._changed = asyncio.Event()
        self._contact: list[Callable[[str], None]] = []

    @property
    def own(self) -> Session:
        """The session of this life, once it is registered."""
        return Session(self._word.session, self._word.member, self._word.incarnation)

    # --- store.sessions.Sessions ------------------------------------------------------------------------------

    async def register(self, name: str, *, group: str = "", role: str = "", url: str = "") -> Session:
        """Begin a session: a life above every one that this sidecar had.

        Raises:
            StoreError: its number could not be kept.
        """
        kept, of = await self._keeping.kept(INCARNATION), await self._keeping.kept(INCARNATION_OF)
        if of is not None and of != self._keeping.voter_id:
            kept = None  # by the file that this one was copied from, perhaps long ago
        # In a new file nothing is kept, and others may remember lives: the clock on the wall is above those, in
        # milliseconds also above one that began just now.
        incarnation = int(kept) + 1 if kept else int(time.time() * 1000)
        await self._keeping.keep(INCARNATION, str(incarnation))
        if of != self._keeping.voter_id:
            await self._keeping.keep(INCARNATION_OF, self._keeping.voter_id)
        session = secrets.token_hex(16)
        self._word = rules.Renewal(name, incarnation, session)
        self._own = rules.OwnSession(session, self._heard.ttl_ms, self._heard.margin_ms)
        self._card = SessionCard(
            name, session, incarnation, group=group, role=role, url=url, peer_url=self._peer_url()
        )
        self._over = self._superseded = False
        self._renew_everywhere()
        return Session(session, name, incarnation)

    async def renew(
        self, session: Session, *, ready: bool = True, draining: bool = False, capacity: int = 0,
        group: str | None = None,
    ) -> Renewal:  # fmt: skip
        """Renew at every voter; answered once a majority has answered.

        Raises:
            PeerUnavailable: no majority did: unknown, not lost.
        """
        if self._superseded or self._over or session.session != self._word.session:
            return Renewal.FENCED
        group = self._card.group if group is None else group
        self._card = replace(
            self._card, ready=ready, draining=draining, capacity=capacity, group=group, peer_url=self._peer_url()
        )
        self._yes, self._no = set(), set()
        self._renew_everywhere()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._heard.ttl_ms / 4000):
                while self._asking and not self._decided():
                    self._changed.clear()
                    await self._changed.wait()
        sets = self._sets()
        if has_majority(sets, [*self._yes]):
            return Renewal.RENEWED
        if has_majority(sets, [*self._no]):
            self._superseded = True
            return Renewal.FENCED
        raise PeerUnavailable(self._too_few(sets))

    async def list(self) -> list[SessionRow]:
        """All sessions, those that are gone included."""
        return self.known()

    def known(self) -> Rows:
        """The same, at once."""
        mine = self._word.session
        rows = [row for row in self._heard.rows() if row.session != mine]
        return [*rows, *self._mine()]

    async def row(self, session: str) -> SessionRow | None:
        """One session."""
        return next((row for row in await self.list() if row.session == session), None)

    def on_death(self, listener: Callable[[], None]) -> None:
        """Have a listener called when another session is known to be over."""
        self._heard.on_end(listener)

    async def release(self, session: Session) -> None:
        """Let go of everything: whoever hears of it may take over at once."""
        if session.session != self._word.session:
            return
        self._over = True
        asking = [each.release(self._word) for each in list(self._voters.values())]
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_S):
                await asyncio.gather(*asking, return_exceptions=True)

    async def close(self) -> None:
        """Renew no more. A session that was not released looks as if its process had died."""
        self._over = True
        asking = [*self._asking.values()]
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    # --- circle.Life ------------------------------------------------------------------------------------------

    def may_write(self, sets: Sequence[Voters]) -> bool:
        """Whether the session lives for handoffs with these voters."""
        return not self._ended and self._own.may_write(sets, self._heard.now_ms())

    def may_act(self, sets: Sequence[Voters], proven_ms: Mapping[str, int]) -> bool:
        """Whether effects of a handoff with these voters and proofs may begin, and its reads are fresh."""
        return not self._ended and self._own.may_act(sets, proven_ms, self._heard.now_ms())

    def on_contact(self, listener: Callable[[str], None]) -> None:
        """Have a listener told which voter stands by the session again, or for the first time."""
        self._contact.append(listener)

    def met(self, voter: str) -> None:
        """A voter can be asked now: it does not wait for its next turn."""
        if not self._ended and self._word.session and voter in self._voters:
            self._renew_at(voter, self._voters[voter])

    # --- renewals ---------------------------------------------------------------------------------------------

    @property
    def _ended(self) -> bool:
        return self._over or self._superseded

    def _mine(self) -> Sequence[SessionRow]:
        card = self._card
        if not card.session:
            return []
        return [
            SessionRow(
                card.session, card.name, card.incarnation, card.group, card.role, card.url, card.peer_url,
                card.ready, card.draining, card.capacity, 0, True, False, self._superseded, self._over,
            )
        ]  # fmt: skip

    def _too_few(self, sets: Sequence[Voters]) -> str:
        voters = everyone(sets)
        stand = sum(voter in self._yes for voter in voters)
        why = self._missing() or "the others are reached and have not answered in time"
        return f"{stand} of {len(voters)} members stand by it, a majority is needed: {why}"

    def _decided(self) -> bool:
        sets = self._sets()
        return has_majority(sets, [*self._yes]) or has_majority(sets, [*self._no])

    def _renew_everywhere(self) -> None:
        for voter, remote in list(self._voters.items()):
            self._renew_at(voter, remote)

    def _renew_at(self, voter: str, remote: RemoteVoter) -> None:
        if voter not in self._asking:  # one that answers slowly is not asked twice
            asking = asyncio.get_running_loop().create_task(self._renewed(voter, remote))
            self._asking[voter] = asking
            asking.add_done_callback(lambda _: self._answered(voter))

    def _answered(self, voter: str) -> None:
        self._asking.pop(voter, None)
        self._changed.set()

    async def _renewed(self, voter: str, remote: RemoteVoter) -> None:
        sent_ms = self._heard.now_ms()
        try:
            stands = await remote.renew(self._word, self._card)
        except StoreError as error:
            log.debug("voter %s has not answered a renewal: %s", voter, error)
            return
        if not stands:
            self._no.add(voter)
            return
        self._yes.add(voter)
        if self._own.answered(voter, sent_ms, self._heard.now_ms()):
            for listener in self._contact:
                listener(voter)
