"""Several voters with real files in one process, candidates that claim at them, and what can go wrong between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from bridge.voterset import Voters
from sidecar.errors import PeerUnavailable, StoreError
from sidecar.peers.circle import Circle
from sidecar.peers.quorum import QuorumVoter
from sidecar.records import NO_RIDERS, Riders, SessionCard
from sidecar.store import LocalVoter, Store
from sidecar.store.hosttime import now_ms
from sidecar.store.localvoter import Heard as Hearing
from tests.contract.journals import BODY, view_of
from tests.contract.peering import Said

T = TypeVar("T")

TASK = "t"


class Wire:
    """Implements ``RemoteVoter``: another one, over a connection that a test can spoil.

    Attributes:
        dead: nothing reaches it, every request fails at once.
        deaf: requests reach it, its answers are lost.
        hanging: requests are kept until it is set to False, in order.
        delay_s: before each answer; a range makes them overtake each other.
        loss: how many of a thousand requests are lost, and as many answers.
        appends: that were sent, with what came with them.
        asked: how many requests of each kind were sent.
    """

    def __init__(self, behind: LocalVoter, rng: random.Random) -> None:
        self._behind, self._rng = behind, rng
        self.dead = self.deaf = False
        self.delay_s = (0.0, 0.0)
        self.loss = 0
        self.appends: list[tuple[Append, Riders]] = []
        self.asked: dict[str, int] = {}
        self._open = asyncio.Event()
        self._open.set()

    @property
    def voter(self) -> str:
        return self._behind.voter

    @property
    def hanging(self) -> bool:
        return not self._open.is_set()

    @hanging.setter
    def hanging(self, hanging: bool) -> None:
        self._open.clear() if hanging else self._open.set()

    async def pre_vote(self, claim: Claim) -> Granted | Refused:
        return await self._over("pre_vote", lambda: self._behind.pre_vote(claim))

    async def claim(self, claim: Claim) -> Granted | Refused:
        return await self._over("claim", lambda: self._behind.claim(claim))

    async def read_prefix(self, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        return await self._over("read_prefix", lambda: self._behind.read_prefix(task, tip, after))

    def append_soon(self, append: Append, riders: Riders = NO_RIDERS) -> asyncio.Future[Appended | Refused]:
        self.appends.append((append, riders))
        if self._plain:
            return self._behind.append_soon(append, riders)

        return asyncio.ensure_future(self._over("append", lambda: self._behind.append_soon(append, riders)))

    async def renew(self, renewal: Renewal, card: SessionCard) -> bool:
        return await self._over("renew", lambda: self._behind.renew(renewal, card))

    async def release(self, renewal: Renewal) -> None:
        await self._over("release", lambda: self._behind.release(renewal))

    @property
    def _plain(self) -> bool:
        return not (self.dead or self.deaf or self.loss or self.hanging or self.delay_s[1])

    async def _over(self, kind: str, request: Callable[[], Awaitable[T]]) -> T:
        self.asked[kind] = self.asked.get(kind, 0) + 1
        if self._lost():
            raise PeerUnavailable(f"{self.voter} is away")
        await self._open.wait()
        if self.dead:
            raise PeerUnavailable(f"{self.voter} is away")
        answer = await request()
        if self.delay_s[1]:
            await asyncio.sleep(self._rng.uniform(*self.delay_s))
        if self.deaf or self._lost():
            raise PeerUnavailable(f"the answer of {self.voter} is lost")
        return answer

    def _lost(self) -> bool:
        return self.dead or (self.loss > 0 and self._rng.randrange(1000) < self.loss)


class Alive:
    """Implements ``Life`` of a session that every voter stands by."""

    def may_write(self, sets: Sequence[Voters]) -> bool:
        return True

    def may_act(self, sets: Sequence[Voters], proven_ms: Mapping[str, int]) -> bool:
        return True


class Cluster:
    """So many hosts, each with a voter; every handoff has all of them.

    Attributes:
        stores: by place, in order.
        heard: what each host has heard of sessions; ``said`` where the test says it.
        names: the voters' ids, in order.
    """

    def __init__(self, stores: list[Store], heard: Callable[[], Hearing] = Said) -> None:
        self.stores = stores
        self.heard = [heard() for _ in stores]
        hosts = zip(stores, self.heard, strict=True)
        self.locals = [store.local_voter(each, listed=False) for store, each in hosts]
        self.names = tuple(store.voter_id for store in stores)
        self.rng = random.Random(1)
        self.quorums: list[QuorumVoter] = []

    @classmethod
    async def open(cls, path: Path, count: int = 3, heard: Callable[[], Hearing] = Said) -> Cluster:
        return cls([await Store.open(path / f"{place}.db", alone=False) for place in range(count)], heard)

    @property
    def said(self) -> list[Said]:
        return [each for each in self.heard if isinstance(each, Said)]

    async def close(self) -> None:
        for quorum in self.quorums:
            quorum.close()
        for store in self.stores:
            await store.close()

    def placed(self, task: str) -> Sequence[Voters]:
        return (self.names,)

    async def known(self, task: str) -> Sequence[Voters]:
        return (self.names,)

    def wires(self) -> list[Wire]:
        """Connections of one sidecar to every voter."""
        return [Wire(each, self.rng) for each in self.locals]

    def sidecar(self, session: str, host: int = 0, answer_s: float = 0.3) -> Candidate:
        """One sidecar, beside the voter of a host."""
        wires = self.wires()
        circle = Circle(
            session, self.names[host], {each.voter: each for each in wires}, Alive(), now_ms, 0.5, answer_s
        )
        quorum = QuorumVoter(circle, self, self.stores[host].entries)
        self.quorums.append(quorum)
        return Candidate(session, quorum, wires, circle)

    async def journal(self, host: int, task: str = TASK) -> list[Entry]:
        """What a host knows to be committed."""
        return await self.stores[host].entries(task, 0, 1_000_000)

    async def agree(self, count: int, task: str = TASK, within_s: float = 5.0) -> list[Entry]:
        """Wait until every host knows that so many entries are committed; they are the same everywhere."""
        async with asyncio.timeout(within_s):
            while True:
                journals = [await self.journal(host, task) for host in range(len(self.stores))]
                if all(len(journal) >= count for journal in journals):
                    break
                await asyncio.sleep(0.01)
        assert all(journal == journals[0] for journal in journals)
        return journals[0]


class Candidate:
    """One session, and what it writes to task t.

    Attributes:
        quorum: its voter.
        wires: to each host, in order.
        circle: what its candidacies have in common.
        log: what it has chained, from the beginning of the journal.
        fence: that it claims or owns under.
    """

    def __init__(self, session: str, quorum: QuorumVoter, wires: list[Wire], circle: Circle) -> None:
        self.session, self.quorum, self.wires, self.circle = session, quorum, wires, circle
        self.log: list[Entry] = []
        self.fence = Fence(0, session)

    async def dispatch(self, *more: Draft, n: int = 1, task: str = TASK) -> Appended | Refused:
        self.fence = Fence(n, self.session)
        drafts = [Draft(Kind.DISPATCHED, b'{"task":"t"}'), Draft(Kind.CLAIMED, b'{"owner":"a"}'), *more]
        self.log = chain(genesis(task), self.fence, 1, drafts)
        return await self.quorum.dispatch(self.part(0, task=task), view_of(task))

    async def claim(self, n: int, task: str = TASK) -> Granted | Refused:
        self.fence = Fence(n, self.session)
        answer = await self.quorum.claim(Claim(task, self.fence, self.session))
        if isinstance(answer, Granted):
            self.log = await self.quorum.read(task, 0, 1_000_000)
            assert tip_of(task, self.log) == answer.tip
        return answer

    async def take(self, task: str = TASK) -> int:
        """Claim, as the runtime does, until it is owned: the fence that it took."""
        n = 1
        while True:
            with suppress(StoreError):
                answer = await self.claim(n, task)
                if isinstance(answer, Refused):
                    n = max(n - 1, answer.promised.n)
                elif isinstance(await self.write(Kind.CLAIMED, task=task), Appended):
                    return n
            n += 1

    def write(
        self, kind: Kind = Kind.EVENT, count: int = 1, body: bytes = BODY, task: str = TASK
    ) -> asyncio.Future[Appended | Refused]:
        """One append of so many entries."""
        before = len(self.log)
        self.log += chain(tip_of(task, self.log), self.fence, 2, [Draft(kind, body)] * count)
        return self.quorum.append_soon(self.part(before, task=task))

    def part(self, after: int, until: int | None = None, task: str = TASK) -> Append:
        """An append of a part of what it has chained."""
        return Append(task, self.fence, after, tip_of(task, self.log[:after]).hash, self.log[after:until], after)
