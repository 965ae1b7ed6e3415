"""One sidecar's end of the peer wire for tests: a port on loopback, a link to one, and a handler that remembers.

Run as a program it is such a port in a process of its own: ``python -m tests.hosts.peer_side NAME SECRET``.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvloop

from bridge.journal import NO_FENCE, Draft, Entry, Fence, Kind, Tip, chain, genesis
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused, VoterView
from bridge.session import Renewal
from sidecar.listen import bind
from sidecar.ops.metrics import Metrics
from sidecar.peers.handshake import Peer, Side
from sidecar.peers.link import PeerLink
from sidecar.peers.port import PeerPort
from sidecar.peers.sealing import Identity
from sidecar.peers.shapes import Page
from sidecar.peers.stands import Begun, Stand
from sidecar.peers.told import Told
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow

SECRET = b"the secret of this cluster"
TASK = "0b54c6b8-8f4a-8a5e-9f53-2f1d1c0b7a11"
FENCE = Fence(3, "a" * 32)
WHO = Told(SessionCard("a", "s", 7, role="standby", ready=True), 250, released=True)
AT_WORK = HandoffRow("t", VoterView.empty("t"), "s", True, False, "running", "TASK_STATE_WORKING", 5)


def identity(name: str, cluster: str = "", life: int = 1) -> Identity:
    return Identity(name, f"{name}{life}".ljust(32, "0"), life, "voter", f"v-{name}", cluster)


def side(name: str, secret: bytes = SECRET, **other: Any) -> Side:
    return Side(identity(name), secret, **other)


def entries(count: int, size: int = 200, task: str = TASK, after: Tip | None = None) -> list[Entry]:
    body = b'{"text":"%s"}' % (b"x" * max(0, size - 11))
    return chain(after or genesis(task), FENCE, 1_700_000_000_000, [Draft(Kind.EVENT, body)] * count)


def append(some: Sequence[Entry], committed: int = 0) -> Append:
    return Append(TASK, FENCE, some[0].seq - 1, some[0].prev, some, committed)


async def until(true: Callable[[], bool], within_s: float = 20) -> None:
    """Wait for something that another task does."""
    async with asyncio.timeout(within_s):
        while not true():
            await asyncio.sleep(0.01)


class Remembers:
    """A handler that does as it is told, and remembers what it was asked in the order in which it began.

    Attributes:
        asked: names of what was asked, with what tells them apart.
        turns: how many asks of appends began in each turn of the loop.
        answers: False keeps asks waiting until ``let_go``.
        journal: what reads and tails give.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []
        self.peers: list[Peer] = []
        self.appends: list[Append] = []
        self.riders: list[Riders] = []
        self.turns: dict[int, int] = defaultdict(int)
        self.answers = True
        self.journal: list[Entry] = []
        self.fault: BaseException | None = None
        self.pieces_taken = 0
        self.tails_open = 0
        self._turn = 0
        self._waiting: list[asyncio.Future[Any]] = []
        self._grown = asyncio.Event()

    def let_go(self) -> None:
        self.answers = True
        for each in self._waiting:
            if not each.done():
                each.set_result(None)
        self._waiting = []

    def grow(self, more: Sequence[Entry]) -> None:
        self.journal += more
        self._grown.set()

    async def _began(self, peer: Peer, name: str, what: object) -> None:
        self.peers.append(peer)
        self.asked.append((name, what))
        if self.fault is not None:
            raise self.fault
        if not self.answers:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    async def pre_vote(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        await self._began(peer, "pre_vote", claim.fence.n)
        return Granted(genesis(claim.task), 0)

    async def claim(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        await self._began(peer, "claim", claim.fence.n)
        if to != "v-south":
            return Refused(Refusal.UNKNOWN_VOTER, NO_FENCE, genesis(claim.task), 0)
        return Granted(Tip(FENCE, 9, "ab" * 32), 7)

    async def read_prefix(self, peer: Peer, to: str, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        await self._began(peer, "read_prefix", after)
        return tuple(self.journal[after : tip.seq]) if self.journal else None

    def append_soon(
        self, peer: Peer, to: str, append: Append, riders: Riders
    ) -> asyncio.Future[Appended | Refused]:
        loop = asyncio.get_running_loop()
        if not self.turns[self._turn]:
            loop.call_soon(self._next_turn)
        self.turns[self._turn] += 1
        self.asked.append(("append", append.after_seq))
        self.appends.append(append)
        self.riders.append(riders)
        if self.fault is not None:
            raise self.fault
        answered: asyncio.Future[Appended | Refused] = loop.create_future()
        last = append.entries[-1].hash if append.entries else append.after_hash
        yes = Appended(append.fence, append.after_seq + len(append.entries), last, append.committed)
        if self.answers:
            answered.set_result(yes)
        else:
            waiting = loop.create_future()
            waiting.add_done_callback(lambda _: answered.set_result(yes))
            self._waiting.append(waiting)
        return answered

    def _next_turn(self) -> None:
        self._turn += 1

    async def renew(self, peer: Peer, to: str, renewal: Renewal, card: SessionCard) -> bool:
        await self._began(peer, "renew", (renewal, card))
        return True

    async def release(self, peer: Peer, to: str, renewal: Renewal) -> None:
        await self._began(peer, "release", renewal)

    async def deliver(self, peer: Peer, task: str, kind: str, body: bytes) -> bytes:
        await self._began(peer, "deliver", (task, kind))
        return b"taken:" + body

    async def row(self, peer: Peer, task: str) -> HandoffRow | None:
        await self._began(peer, "row", task)
        return None

    async def view(self, peer: Peer, task: str) -> TaskView | None:
        await self._began(peer, "view", task)
        return TaskView(task, "", "anonymous", "c1", "running", "TASK_STATE_WORKING", 5, True)

    async def keys(self, peer: Peer, key_hash: str) -> list[KeyRow]:
        await self._began(peer, "keys", key_hash)
        return [KeyRow(key_hash, 0, TASK, "f" * 64, False)]

    async def entries(self, peer: Peer, task: str, after: int, limit: int, bytes_max: int) -> Sequence[Entry]:
        await self._began(peer, "entries", (after, limit, bytes_max))
        return self.journal[after : after + limit]

    async def list_tasks(self, peer: Peer, query: ListQuery, caller: Caller, body_max: int | None) -> Page:
        await self._began(peer, "list", (query, caller, body_max))
        return [TaskView(TASK, "", "anonymous", "c1", "running", "", 5, True)], 1, (5, TASK)

    async def card(self, peer: Peer, group: str, digest: bytes) -> bytes | None:
        await self._began(peer, "card", (group, digest))
        return None if digest == b"d" * 32 else b'{"name":"north"}'

    async def behind(self, peer: Peer, stands: Sequence[Stand]) -> list[str]:
        await self._began(peer, "behind", stands)
        return [task for task, committed in stands if committed < 3]

    async def begun(self, peer: Peer, after: int) -> Sequence[Begun]:
        await self._began(peer, "begun", after)
        return [(after + 1, "t1", 5)]

    async def sessions(self, peer: Peer) -> Sequence[Told]:
        await self._began(peer, "sessions", None)
        return [WHO]

    async def at_work(self, peer: Peer, but_of: Sequence[str], promised: str, after: str) -> Sequence[HandoffRow]:
        await self._began(peer, "at_work", (but_of, promised, after))
        return [AT_WORK]

    async def tail(self, peer: Peer, task: str, after: int) -> AsyncIterator[Sequence[Entry]]:
        await self._began(peer, "tail", after)
        self.tails_open += 1
        try:
            while True:
                while after < len(self.journal):
                    piece = self.journal[after : after + 64]
                    after += len(piece)
                    self.pieces_taken += 1
                    yield piece
                    if piece[-1].kind is Kind.COMPLETED:
                        return
                self._grown.clear()
                await self._grown.wait()
        finally:
            self.tails_open -= 1

    async def gossip(self, peer: Peer, payload: bytes) -> bytes:
        await self._began(peer, "gossip", payload)
        return payload[::-1]

    async def other(self, peer: Peer, kind: str, payload: bytes) -> bytes:
        await self._began(peer, kind, payload)
        return payload


class End:
    """One sidecar's end: port, handler, metrics."""

    def __init__(self, name: str, mine: Side, listener: socket.socket) -> None:
        self.name, self.side, self.listener = name, mine, listener
        self.handler, self.metrics = Remembers(), Metrics(strict=True)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.port = PeerPort(self.handler, lambda: self.side, self.metrics)

    def refused(self, code: str) -> float:
        return self.metrics.value("dhp_sidecar_peers_refused_total", side="dialled", code=code)


@asynccontextmanager
async def port(name: str = "south", mine: Side | None = None, at: int = 0) -> AsyncIterator[End]:
    end = End(name, mine or side(name), bind("127.0.0.1", at, "the peer port"))
    serving = asyncio.create_task(end.port.run_forever(end.listener))
    try:
        yield end
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        end.listener.close()


@asynccontextmanager
async def link(
    url: str, mine: Side | None = None, *, up: bool = True, timeout_s: float = 60
) -> AsyncIterator[PeerLink]:
    changed = asyncio.Event()
    mine = mine or side("north")
    made = PeerLink(
        url, lambda: mine, Metrics(strict=True), timeout_s=timeout_s, on_change=lambda _: changed.set()
    )
    dialling = asyncio.create_task(made.run_forever())
    try:
        if up:
            async with asyncio.timeout(20):
                while not made.connected:
                    changed.clear()
                    await changed.wait()
        yield made
    finally:
        dialling.cancel()
        with suppress(asyncio.CancelledError):
            await dialling


@asynccontextmanager
async def process(secret: bytes = SECRET) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    command = (sys.executable, "-m", "tests.hosts.peer_side", "south", secret.decode())
    there = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert there.stdout is not None
        yield there, (await there.stdout.readline()).decode().strip()
    finally:
        if there.returncode is None:
            there.kill()
        await there.wait()


async def _alone(name: str, secret: str) -> None:
    async with port(name, Side(identity(name), secret.encode())) as end:
        end.handler.journal = entries(20_000)
        sys.stdout.write(end.url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_alone(*sys.argv[1:]))
