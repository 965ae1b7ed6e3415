"""This sidecar's session: renewed in time, and given up when a newer boot of the same name appears.

One session covers all handoffs of the process. A renewal that fails is unknown, not lost: it is tried again.
Only a clear answer that a newer session exists makes this sidecar stop claiming; it goes on serving reads, and
says why it is not ready, so that two sidecars of one name do not fence each other for ever.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from bridge.lease import Lease, may_write
from sidecar.errors import StoreError
from sidecar.runtime.node import Node
from sidecar.runtime.ownership import Ownership
from sidecar.store import Renewal, Session
from sidecar.trouble import Trouble

log = logging.getLogger(__name__)

STILL_S = 1.0
"""A timer that comes so late is told of: this process was not running."""


class Membership:
    """Keeps the session alive.

    Args:
        node: what this sidecar holds in common.
        session: as registered.
        ownership: loses everything if the session is fenced.

    Attributes:
        problem: why the last renewal failed, "" when it did not.
    """

    def __init__(self, node: Node, session: Session, ownership: Ownership) -> None:
        self._node, self._session, self._ownership = node, session, ownership
        lease = node.config.lease
        self._lease = Lease(session.session, self._now_ms(), lease.ttl_ms, lease.margin_ms)
        self.problem = ""
        self._due = asyncio.Event()
        self._doubt_until_ms = 0
        self._trouble = Trouble(after_s=lease.ttl_ms / 2000)
        self._told_lapse = False
        self._tick: asyncio.TimerHandle | None = None

    @property
    def superseded(self) -> bool:
        """A newer sidecar of this name has started."""
        return self._node.superseded

    @property
    def lapsed(self) -> bool:
        """The session could not be renewed for so long that another may have taken over: no read is fresh."""
        return not may_write(self._lease, self._now_ms())

    def renew_now(self) -> None:
        """What others should know has changed: do not wait for the timer."""
        self._due.set()

    async def run_forever(self) -> None:
        """Renew every quarter of the TTL until cancelled; superseded, only wait: the process goes on to serve."""
        pause = self._node.config.lease.ttl_ms / 4000
        self._expect(pause)
        try:
            while True:
                await self._once(pause)
        finally:
            if self._tick is not None:
                self._tick.cancel()

    async def _once(self, pause: float) -> None:
        try:
            if not self.superseded:
                await self._renew()
        except Exception as error:
            self._failed(error)
            log.exception("renewing the session failed and will be tried again")
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._due.wait()
        self._due.clear()

    def _expect(self, pause: float) -> None:
        """Look whether this process runs on: a timer comes late if it does not."""
        due = self._node.clock.monotonic() + pause
        self._tick = asyncio.get_running_loop().call_later(pause, self._ticked, due, pause)

    def _ticked(self, due: float, pause: float) -> None:
        self._expect(pause)
        still = self._node.clock.monotonic() - due
        if still > STILL_S:
            log.warning(
                "this process stood still for %.1f s: it was stopped, or its machine slept or was overloaded; "
                "others may have taken over what it owned", still,
            )  # fmt: skip

    async def _renew(self) -> None:
        node = self._node
        sent_ms = self._now_ms()
        if self.lapsed:
            # While nobody heard of this session others may have claimed what it owns; one that was about to may
            # still commit after the renewal that ends the lapse.
            self._doubt_until_ms = sent_ms + self._lease.ttl_ms
        try:
            answer = await node.store.sessions.renew(
                self._session, ready=node.link.ready, draining=node.draining, group=node.group
            )
            if answer is Renewal.RENEWED and sent_ms <= self._doubt_until_ms:
                await self._ownership.yield_claimed()
        except StoreError as error:
            self._failed(error)
            self._tell(error)
            if self.lapsed:
                await self._follow_who_claimed()
            return
        self.problem = ""
        self._tell(None)
        if answer is Renewal.RENEWED:
            lease = self._lease
            self._lease = Lease(lease.session, sent_ms, lease.ttl_ms, lease.margin_ms)
            return
        node.superseded = True
        log.critical(
            "another sidecar named %r has started: this one owns nothing any more and only serves reads; stop one "
            "of them or give it another --name", node.name,
        )  # fmt: skip
        for owner in list(self._ownership.owners.values()):
            owner.journal.abandon()

    def _tell(self, error: StoreError | None) -> None:
        """The log hears of renewals that fail for a while, of a lapse, and of the end of either."""
        now = self._node.clock.monotonic()
        if error is None:
            lasted = self._trouble.over(now)
            if lasted is not None or self._told_lapse:
                log.info("the session is renewed again%s", "" if lasted is None else f", after {lasted:.1f} s")
            self._told_lapse = False
            return
        failing = self._trouble.wrong(str(error), now)
        if failing is not None:
            log.warning("the session could not be renewed for %.1f s and is tried again: %s", failing, error)
        if self.lapsed and not self._told_lapse:
            self._told_lapse = True
            log.warning(
                "the session has lapsed: until it is renewed, others may take over what this sidecar owns, "
                "and its reads may be stale"
            )

    async def _follow_who_claimed(self) -> None:
        """Stop what another session has taken over: renewals may fail where nothing else does."""
        with suppress(StoreError):  # nothing can be known: what is written meanwhile waits or is refused
            await self._ownership.yield_claimed()

    def _failed(self, error: Exception) -> None:
        node = self._node
        self.problem = str(error) or type(error).__name__
        node.judges_from = node.clock.monotonic() + node.patience_s
        node.observer.count("renewal_failures")

    def _now_ms(self) -> int:
        return int(self._node.clock.monotonic() * 1000)
