"""What one sidecar process holds in common: its session, its store, its agent, its tails.

A record, not a manager: it is made once by ``main`` and handed to the parts of the runtime, so that none of them
needs a global.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.config import Config
from sidecar.ports import AgentLink, Clock, Observer
from sidecar.runtime.hub import Hub
from sidecar.runtime.reach import reached_as
from sidecar.store import SessionRow, Store


@dataclass(slots=True)
class Node:
    """One sidecar process.

    Attributes:
        config: its settings.
        name: its name; one session per name counts.
        session: boot nonce of this process, 32 hex digits: part of every fence.
        store: journals, rows, sessions.
        link: the agent beside it.
        hub: tails of tasks.
        clock: wall time for people, CLOCK_BOOTTIME for rules.
        observer: counts and times.
        group: agents that can continue each other's tasks.
        draining: no new work is taken.
        superseded: a newer sidecar of this name has started: this one owns nothing and only serves reads.
        judges_from: when the silence of other sessions counts again (seconds, monotonic): see ``living``.
        kick: set to have the supervisor look at once.
    """

    config: Config
    name: str
    session: str
    store: Store
    link: AgentLink
    hub: Hub
    clock: Clock
    observer: Observer
    group: str = ""
    draining: bool = False
    superseded: bool = False
    judges_from: float = 0.0
    kick: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def endpoint(self) -> str:
        """The agent's address as a journal names it: who has the same one can reach the same run.

        Without peers every sidecar of the store is on one host.
        """
        endpoint = self.link.endpoint
        return reached_as(endpoint, self.clock.boot) if self.config.peer_urls else endpoint

    @property
    def patience_s(self) -> float:
        """How long a session may be silent before it counts as dead."""
        return (self.config.lease.ttl_ms + self.config.lease.margin_ms) / 1000

    async def living(self) -> list[SessionRow]:
        """The sessions of the store that count as alive: no evidence against them, renewed in time.

        Who could not renew its own session cannot tell a dead one from a store that took no renewals: after such
        an outage the others have one lease's time to be heard of before their silence counts.
        """
        return self.alive(await self.store.sessions.list())

    def alive(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Those of all sessions that count as alive: see ``living``."""
        limit = self.patience_s * 1000
        judging = self.clock.monotonic() >= self.judges_from
        return [row for row in rows if row.evidence is None and (row.age_ms < limit or not judging)]

    async def others_ready(self) -> bool:
        """Another sidecar of this group has an agent and takes work."""
        return any(
            row.ready and not row.draining and row.group == self.group and row.session != self.session
            for row in await self.living()
        )
