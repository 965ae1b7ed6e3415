"""The asks of one connection, on their way to the handler and back.

Appends that stand next to each other in a frame are handed over in one go; everything else gets a task, begun in
the order in which it came. How much may be unanswered is bounded: beyond it an ask is failed as *busy*, which
changes nothing, so a slow disk here costs its peers patience and nobody memory. The failures this prevents: an
append that overtakes its claim, and a reader that stops reading renewals because appends are slow.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final, cast

from bridge.catchup import Bounds, chunk
from bridge.errors import BridgeError
from bridge.journal import Entry
from sidecar.errors import SidecarError
from sidecar.peers import frames, kinds
from sidecar.peers.channel import Channel
from sidecar.peers.frames import PIECES_AHEAD, Ask, Credit, Message, Stop
from sidecar.peers.handler import Handler
from sidecar.peers.handshake import Peer
from sidecar.peers.kinds import Kind
from sidecar.peers.packing import Malformed
from sidecar.peers.sealing import Rejected, Rejection
from sidecar.ports import Observer

log = logging.getLogger(__name__)

UNANSWERED_MAX = 32768
UNANSWERED_BYTES_MAX = 96 << 20
"""Of asks that wait for their answer here, and one more, however long."""

TASKS_MAX = 4096
"""Of them, those that are no appends: each costs a task, subscriptions among them."""

BULKY_MAX = 16
"""Long answers that are made at a time for one connection."""

PIECE = Bounds(512, 256 << 10)

Call = Callable[[Handler, Peer, Any], Awaitable[Any]]

CALLS: Final[Mapping[str, tuple[Kind[Any, Any], Call]]] = {
    kind.name: (kind, call)
    for kind, call in cast(
        "list[tuple[Kind[Any, Any], Call]]",
        [
            (kinds.PRE_VOTE, lambda to, peer, ask: to.pre_vote(peer, *ask)),
            (kinds.CLAIM, lambda to, peer, ask: to.claim(peer, *ask)),
            (kinds.READ_PREFIX, lambda to, peer, ask: to.read_prefix(peer, *ask)),
            (kinds.RENEW, lambda to, peer, ask: to.renew(peer, *ask)),
            (kinds.RELEASE, lambda to, peer, ask: to.release(peer, *ask)),
            (kinds.DELIVER, lambda to, peer, ask: to.deliver(peer, *ask)),
            (kinds.ROW_OF, lambda to, peer, ask: to.row(peer, ask)),
            (kinds.VIEW_OF, lambda to, peer, ask: to.view(peer, ask)),
            (kinds.KEYS_OF, lambda to, peer, ask: to.keys(peer, ask)),
            (kinds.ENTRIES_OF, lambda to, peer, ask: to.entries(peer, *ask)),
            (kinds.LIST, lambda to, peer, ask: to.list_tasks(peer, *ask)),
            (kinds.CARD, lambda to, peer, ask: to.card(peer, *ask)),
            (kinds.BEHIND, lambda to, peer, ask: to.behind(peer, ask)),
            (kinds.BEGUN, lambda to, peer, ask: to.begun(peer, ask)),
            (kinds.SESSIONS, lambda to, peer, _: to.sessions(peer)),
            (kinds.AT_WORK, lambda to, peer, ask: to.at_work(peer, *ask)),
            (kinds.GOSSIP, lambda to, peer, ask: to.gossip(peer, ask)),
            (kinds.OTHER, lambda to, peer, ask: to.other(peer, *ask)),
        ],
    )
}


class Serving:
    """One connection's asks.

    Args:
        channel: the connection.
        peer: who asks.
        handler: who answers.
        observer: counts.
        fatal: told of what must stop the process.
    """

    def __init__(
        self,
        channel: Channel,
        peer: Peer,
        handler: Handler,
        observer: Observer,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self._channel, self._peer, self._handler = channel, peer, handler
        self._observer, self._fatal = observer, fatal
        self._loop = asyncio.get_running_loop()
        self._sizes: dict[int, int] = {}
        self._bytes = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._credits: dict[int, asyncio.Semaphore] = {}
        self._bulky = asyncio.Semaphore(BULKY_MAX)
        self._told: set[str] = set()
        self._closed = False

    def take(self, messages: list[Message]) -> None:
        """Begin what a frame asks for.

        Raises:
            Rejected: it says what an asker never says.
        """
        appends: list[tuple[int, kinds.AppendAsk]] = []
        for message in messages:
            match message:
                case Ask(id=ask_id) if ask_id in self._sizes:
                    raise Rejected(Rejection.MALFORMED, f"ask {ask_id} while it is being answered")
                case Ask(kind=kinds.APPEND.name):
                    ask = self._admitted(message, kinds.APPEND)
                    if ask is not None:
                        appends.append((message.id, ask))
                case Ask():
                    self._hand_over_soon(appends)
                    appends = []
                    self._begin(message)
                case Credit() if (allowed := self._credits.get(message.id)) is not None:
                    allowed.release()
                case Stop() if (task := self._tasks.get(message.id)) is not None:
                    task.cancel()
                case Credit() | Stop():
                    pass  # of what has just ended
                case _:
                    raise Rejected(Rejection.MALFORMED, f"{type(message).__name__} from the asking side")
        self._hand_over_soon(appends)

    async def close(self) -> None:
        """Stop what runs; appends that were handed over are not taken back."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _admitted(self, ask: Ask, kind: Kind[Any, Any]) -> Any:
        size = memoryview(ask.body).nbytes
        crowded = len(self._sizes) >= UNANSWERED_MAX or len(self._tasks) >= TASKS_MAX
        if crowded or self._bytes >= UNANSWERED_BYTES_MAX:
            self._observer.count("peers.busy")
            self._fail(ask.id, "busy", "too much is unanswered here")
            return None
        try:
            asked = kind.asked.read(ask.body)
        except Malformed as error:
            self._malformed(ask.id, error.code, f"{ask.kind}: {error.detail}")
            return None
        self._sizes[ask.id] = size
        self._bytes += size
        return asked

    def _hand_over_soon(self, appends: list[tuple[int, kinds.AppendAsk]]) -> None:
        if appends:  # behind the first step of tasks that were begun before
            self._loop.call_soon(self._hand_over, appends)

    def _hand_over(self, appends: list[tuple[int, kinds.AppendAsk]]) -> None:
        for ask_id, (to, append, riders) in appends:
            try:
                answered = self._handler.append_soon(self._peer, to, append, riders)
            except BaseException as error:  # noqa: BLE001 - sorted there
                self._failed(ask_id, error)
            else:
                answered.add_done_callback(partial(self._appended, ask_id))

    def _appended(self, ask_id: int, answered: asyncio.Future[Any]) -> None:
        if answered.cancelled():
            self._failed(ask_id, asyncio.CancelledError())
        elif (error := answered.exception()) is not None:
            self._failed(ask_id, error)
        else:
            self._answer(ask_id, kinds.APPEND.answered.pack(answered.result()))

    def _begin(self, ask: Ask) -> None:
        if ask.kind == kinds.TAIL.name:
            tail = self._admitted(ask, kinds.TAIL)
            if tail is not None:
                self._credits[ask.id] = asyncio.Semaphore(PIECES_AHEAD)
                self._tasks[ask.id] = self._loop.create_task(self._run(ask.id, self._push(ask.id, tail)))
            return
        known = CALLS.get(ask.kind)
        if known is None:
            self._fail(ask.id, "unsupported", f"nothing named {ask.kind} is known here")
            return
        kind, call = known
        asked = self._admitted(ask, kind)
        if ask.id in self._sizes:
            answering = self._called(ask.id, kind, call, asked)
            self._tasks[ask.id] = self._loop.create_task(self._run(ask.id, answering))

    async def _called(self, ask_id: int, kind: Kind[Any, Any], call: Call, asked: Any) -> None:
        if not kind.bulky:
            self._answer(ask_id, kind.answered.pack(await call(self._handler, self._peer, asked)))
            return
        async with self._bulky:  # whoever asks and does not read is given no more to keep here
            await self._channel.room()
            self._answer(ask_id, kind.answered.pack(await call(self._handler, self._peer, asked)))

    async def _push(self, ask_id: int, asked: kinds.TailAsk) -> None:
        allowed = self._credits[ask_id]
        tail = self._handler.tail(self._peer, *asked)
        async with aclosing(cast("Any", tail)):
            async for entries in tail:
                await self._push_pieces(ask_id, entries, allowed)
        self._answer(ask_id, None)

    async def _push_pieces(self, ask_id: int, entries: Sequence[Entry], allowed: asyncio.Semaphore) -> None:
        at = 0
        while at < len(entries):
            piece = chunk(entries, at, PIECE)
            at += len(piece)
            await allowed.acquire()
            await self._channel.room()
            self._channel.send(frames.pushed(ask_id, kinds.TAIL.answered.pack(list(piece))), urgent=True)

    async def _run(self, ask_id: int, answering: Awaitable[None]) -> None:
        try:
            await answering
        except BaseException as error:  # noqa: BLE001 - sorted there
            self._failed(ask_id, error)
        finally:
            self._tasks.pop(ask_id, None)
            self._credits.pop(ask_id, None)

    def _failed(self, ask_id: int, error: BaseException) -> None:
        if isinstance(error, SidecarError):
            self._fail(ask_id, error.code, str(error))
        elif isinstance(error, BridgeError):  # what was asked was no journal, no JSON
            self._malformed(ask_id, error.code, str(error))
        elif isinstance(error, asyncio.CancelledError):
            self._fail(ask_id, "stopped", "the ask was given up")
        elif isinstance(error, Exception):
            log.error("an ask of peer %s failed", self._peer.identity.member, exc_info=error)
            self._fail(ask_id, "internal", type(error).__name__)
        else:
            self._fatal(error)

    def _answer(self, ask_id: int, body: object) -> None:
        self._done(ask_id)
        if not self._closed:
            self._channel.send(frames.answer(ask_id, body), urgent=True)

    def _fail(self, ask_id: int, code: str, text: str) -> None:
        self._done(ask_id)
        if not self._closed:
            self._channel.send(frames.failed(ask_id, code, text), urgent=True)

    def _done(self, ask_id: int) -> None:
        self._bytes -= self._sizes.pop(ask_id, 0)

    def _malformed(self, ask_id: int, code: str, detail: str) -> None:
        self._observer.count("peers.malformed", code=code)
        if code not in self._told:
            self._told.add(code)
            who = self._peer.identity.member
            log.warning("peer %s at %s asks what is refused: %s: %s", who, self._peer.address, code, detail)
        self._fail(ask_id, code, detail)
