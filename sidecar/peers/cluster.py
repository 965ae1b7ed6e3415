"""A sidecar among peers, put together: its voter, its lines to the others, its port for them, its session.

Nothing is decided here. Reading ``Cluster.__init__`` from top to bottom shows what plugs in where. The failure it
prevents: parts of one sidecar that know different peers.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from bridge.journal import Entry
from bridge.placement import MEMBERS
from bridge.voterset import Voters, everyone
from sidecar.config import Config
from sidecar.errors import StoreError
from sidecar.peers.behind import Behind
from sidecar.peers.circle import Circle
from sidecar.peers.clusterstore import ClusterStore
from sidecar.peers.groupcards import GroupCards
from sidecar.peers.guests import Guests
from sidecar.peers.handshake import Peer, Side
from sidecar.peers.heard import Heard
from sidecar.peers.line import Line
from sidecar.peers.link import PeerLink
from sidecar.peers.lives import Lives
from sidecar.peers.members import Members
from sidecar.peers.misfits import Misfits
from sidecar.peers.pair import AnyMembers, Pair
from sidecar.peers.port import PeerPort
from sidecar.peers.quorum import QuorumVoter
from sidecar.peers.reach import Reach
from sidecar.peers.report import Report
from sidecar.peers.sealing import Identity
from sidecar.peers.service import PeerService
from sidecar.peers.sessions import ClusterSessions
from sidecar.ports import Clock, Observer, RemoteVoter
from sidecar.store import Session, SessionRow, inbox

log = logging.getLogger(__name__)

FORWARD_S = 0.25


class Cluster:
    """One sidecar's part of its cluster.

    Args:
        config: its settings, complete.
        store: its own file, open as one voter among several.
        observer: counts.
        clock: for people, and to measure.
        listener: of the peer port.

    Attributes:
        session: its own, once it has begun.
        members: which voters there are.
        links: one to each configured peer.
        reach: which of them are reached, and why not the others.
        report: all of that, as data.
    """

    session: Session
    members: AnyMembers
    report: Report

    def __init__(
        self, config: Config, store: ClusterStore, observer: Observer, clock: Clock, listener: socket.socket
    ) -> None:
        self.store = store
        self._config, self._observer, self._clock, self._listener = config, observer, clock, listener
        lease, proof = config.lease, config.takeover.refused_is_dead
        self._heard = Heard(self._now_ms, lease.ttl_ms, lease.margin_ms, refused_is_dead=proof)
        self._local = store.local_voter(self._heard, listed=not config.pair)
        self._own: dict[str, RemoteVoter] = {} if config.join else {store.voter_id: self._local}
        self._voters = {**self._own}
        self._peers: dict[str, PeerLink] = {}
        self._talking: asyncio.Task[None] | None = None
        self._behind: Behind | None = None
        self._emptying: set[asyncio.Task[int]] = set()
        self.links = [PeerLink(url, self._side, observer, on_change=self._changed) for url in config.peer_urls]
        self.reach = Reach("" if config.join else store.voter_id, config.name, self.links)
        self._sessions = ClusterSessions(
            self._heard, self._voters, self._sets, store, peer_url=self._url, missing=self.reach.missing
        )
        self._lives = Lives(store)

    async def begin(self, role: str) -> Session:
        """Begin a life of this sidecar.

        Raises:
            StoreError: the number of this life could not be kept.
        """
        config, store = self._config, self.store
        session = self.session = await self._sessions.register(
            config.name, group=config.group, role=role, url=config.public_url
        )
        self.members = self._list()
        await self._lives.recall()
        await self.members.recall()  # who is met is told to which cluster this sidecar belongs
        circle = Circle(
            session.session, self.reach.voter, self._voters, self._sessions, self._now_ms, taken_in=self._taken_in
        )
        self._quorum = QuorumVoter(circle, self.members, self._read)
        self._sessions.on_contact(self._quorum.contact)
        store.join(self._quorum, self._sessions, self.members, self._peers)
        self._guests = Guests(self.links, self._living, session.session, self._dial)
        store.guests = self._guests.links
        patience_ms = config.lease.ttl_ms + config.lease.margin_ms
        self.report = Report(config.name, store, self.members, self.reach, self._sessions.known, patience_ms)
        return session

    def _list(self) -> AnyMembers:
        config, store = self._config, self.store
        if config.pair:
            return Pair(store.voter_id, config.peer_urls, self.reach, store, self._read, self._clock)
        session = self.session.session
        return Members(store.voter_id, config.name, session, self._read, self.reach, self._clock)

    async def _read(self, task: str, after: int, limit: int) -> list[Entry]:
        """Committed entries, from the nearest file."""
        return await self.store.reads.entries(task, after, limit)

    @property
    def problem(self) -> str:
        """Why this cluster takes no work here, for people; "" if it does."""
        return self.members.problem

    async def run(
        self, deliver: Callable[[str, str, bytes], Awaitable[int]], learn: Callable[[str], Awaitable[None]]
    ) -> None:
        """Talk to the peers: until they are not wanted any more (``close``), also where nobody waits for this.

        Args:
            deliver: has an owner here take something in.
            learn: claims a handoff, to know how it stands.
        """
        if not (self._config.pair or self._config.join):  # of a pair the only voter of a handoff can miss nothing
            self._behind = Behind(self.links, self.store, self.session.session, self._votes_for, learn)
        self._talking = asyncio.create_task(self._talk(deliver))
        await asyncio.shield(self._talking)

    async def _talk(self, deliver: Callable[[str, str, bytes], Awaitable[int]]) -> None:
        misfits = Misfits(self.store.voter_id, lambda: self.members.cluster, self._observer)
        service = PeerService(self._local, self.store, deliver, misfits)
        port = PeerPort(service, self._side, self._observer, on_met=self._heard_from)
        async with asyncio.TaskGroup() as group:
            for link in self.links:
                group.create_task(link.run_forever())
            group.create_task(port.run_forever(self._listener))
            group.create_task(self.members.run_forever(self._quorum))
            group.create_task(self._lives.run_forever())
            group.create_task(self._forward())
            if not self._config.pair:
                group.create_task(self._guests.run_forever())
            if self._behind is not None:
                group.create_task(self._behind.run_forever())
            for part in self._parts():
                group.create_task(part)
            if self._config.gateway:
                who = (self.links, self._guests.links)
                group.create_task(GroupCards(who, self._sessions, self.store).run_forever())

    async def close(self) -> None:
        """Nothing more is asked of the peers. After the session's release: they are to hear of that."""
        self._quorum.close()
        if self._talking is not None:
            self._talking.cancel()
            await asyncio.gather(self._talking, return_exceptions=True)

    def _parts(self) -> Sequence[Coroutine[Any, Any, None]]:
        """What else runs."""
        return ()

    def _living(self) -> list[SessionRow]:
        patience_ms = self._config.lease.ttl_ms + self._config.lease.margin_ms
        return [row for row in self._sessions.known() if row.evidence is None and row.age_ms < patience_ms]

    def _dial(self, url: str) -> PeerLink:
        return PeerLink(url, self._side, self._observer, on_change=self._deserted)

    def _deserted(self, line: Line) -> None:
        if line.deserted and line.peer is not None:
            self._heard.refused(line.peer.identity.session)

    def _heard_from(self, peer: Peer) -> None:
        """It dials, so it listens: who waited for the next dial's turn need not."""
        for link in self.links:
            if not link.connected and (link.peer is None or link.peer.identity.member == peer.identity.member):
                link.hurry()

    def _votes_for(self, task: str) -> bool:
        return task != MEMBERS and self.store.voter_id in everyone(self.members.placed(task))

    def _side(self) -> Side:
        config, session = self._config, self.session
        identity = Identity(
            config.name,
            session.session,
            session.boot,
            role=role_of(config) if config.join else "voter",
            voter=self.reach.voter,
            cluster=self.members.cluster,
            peer_url=self._url(),
        )
        return Side(identity, config.cluster_secret.encode(), lives=self._lives)

    def _url(self) -> str:
        """Where the others reach this sidecar: as it is configured, once that was seen to lead back here."""
        known = next((link.url for link in self.links if link.itself), "")
        host, port = self._listener.getsockname()[:2]
        everywhere = ipaddress.ip_address(host).is_unspecified  # an address to listen on, for nobody to call
        return known or ("" if everywhere else f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def _sets(self) -> tuple[Voters, ...]:
        if (
            self._config.pair
        ):  # what it took over from the other host lives without that: its own voter stands for it
            return ((self.store.voter_id,),)
        return (self.members.list.members,) if self.members.list.members else ()

    def _changed(self, line: Line) -> None:
        """Who is there, by the ids of their files: a file that came back as another one is another voter."""
        self._peers.clear()
        self._peers.update((link.voter, link) for link in self.links if link.voter and not link.itself)
        self._voters.clear()
        self._voters.update({**self._peers, **self._own})
        if line.connected:
            self._sessions.met(line.voter)
            self._look_behind()
        elif line.deserted and line.peer is not None:
            self._deserted(line)
        else:  # nobody hears from its session, or this host does not: what that owner owes is asked of the others
            lease = self._config.lease
            self._look_behind((lease.ttl_ms + lease.margin_ms) / 1000)

    def _look_behind(self, in_s: float = 0.0) -> None:
        if self._behind is not None:
            self._behind.look(in_s)

    def _taken_in(self, ids: Sequence[int]) -> None:
        """What waited here is in a journal that this host's file is no voter of."""
        emptying = asyncio.get_running_loop().create_task(inbox.done(self.store.writer, ids))
        self._emptying.add(emptying)
        emptying.add_done_callback(self._emptied)

    def _emptied(self, emptying: asyncio.Task[int]) -> None:
        self._emptying.discard(emptying)
        if not emptying.cancelled() and (error := emptying.exception()) is not None:
            log.warning(
                "what was taken in could not be removed here, and is recognised if it comes again: %s", error
            )

    async def _forward(self) -> None:
        while True:
            await asyncio.sleep(FORWARD_S)
            try:
                await self.store.forward()
            except StoreError as error:
                log.debug("what waits here for other owners could not be carried there yet: %s", error)


def role_of(config: Config) -> str:
    """What a sidecar is among others, in a word."""
    if config.gateway:
        return "gateway"
    return "standby" if config.join else "sidecar"
