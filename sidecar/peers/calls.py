"""What is asked over one connection, until it is answered, times out, or the connection ends.

Nothing is asked twice here: whether to repeat is the asker's affair, who knows what a repetition means. What is
unanswered is bounded, and time runs from when the last byte of an ask was given to the connection, so a large
journal on a slow line is not taken for silence. The failures this prevents: an ask that waits for ever, and memory
that grows while a peer is slow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sidecar.errors import PeerUnavailable
from sidecar.peers import frames
from sidecar.peers.channel import Channel
from sidecar.peers.frames import MESSAGE_BYTES_MAX, PIECES_AHEAD, Answer, Failed, Message, Pushed
from sidecar.peers.kinds import Kind
from sidecar.peers.packing import Malformed
from sidecar.peers.sealing import Rejected, Rejection

A = TypeVar("A")
B = TypeVar("B")

TIMEOUT_S = 2.0
UNANSWERED_MAX = 16384
UNANSWERED_BYTES_MAX = 48 << 20
"""And one more ask, however long: it would never find nothing else unanswered. Half of what the other side takes,
so that its *busy* is the exception."""

LOOK_S = 0.1


@dataclass(slots=True)
class _Pending:
    kind: Kind[Any, Any]
    future: asyncio.Future[Any]
    size: int
    timeout_s: float
    due: float = float("inf")


class _Subscription:
    """Pieces that were pushed and not taken yet, and how it ended."""

    def __init__(self) -> None:
        self.pieces: deque[Any] = deque()
        self.ended = False
        self.error: PeerUnavailable | None = None
        self.news = asyncio.Event()

    def end(self, error: PeerUnavailable | None) -> None:
        self.ended, self.error = True, error
        self.news.set()


class Calls:
    """The asks of one connection.

    Args:
        channel: the connection.
        who: the other side, for messages.
        malformed: told the code of an answer that is none.
    """

    def __init__(self, channel: Channel, who: str, malformed: Callable[[str], None]) -> None:
        self._channel, self._who, self._malformed = channel, who, malformed
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, _Pending] = {}
        self._subscriptions: dict[int, tuple[Kind[Any, Any], _Subscription]] = {}
        self._bytes = 0
        self._last_id = 0
        self._looking: asyncio.TimerHandle | None = None
        self._over: PeerUnavailable | None = None

    def ask(self, kind: Kind[A, B], asked: A, timeout_s: float = TIMEOUT_S) -> asyncio.Future[B]:
        """Ask; queued before this returns. The future fails with ``PeerUnavailable``, never otherwise."""
        if self._over is not None:
            return failed(self._over)
        try:
            data = frames.ask(self._last_id + 1, kind.name, kind.asked.pack(asked))
        except (ValueError, OverflowError) as error:  # half a character, a number beyond all bounds
            return failed(PeerUnavailable(f"{self._who}: {kind.name} cannot be sent: {error}"))
        size = len(data)
        if size > MESSAGE_BYTES_MAX:
            return failed(PeerUnavailable(f"{self._who}: {kind.name} of {size} bytes cannot be sent"))
        if len(self._pending) >= UNANSWERED_MAX or self._bytes >= UNANSWERED_BYTES_MAX:
            return failed(PeerUnavailable(f"{self._who} leaves too much unanswered"))
        self._last_id += 1
        pending = _Pending(kind, self._loop.create_future(), size, timeout_s)
        self._pending[self._last_id] = pending
        self._bytes += size
        self._channel.send(data, urgent=kind.urgent, sent=lambda: self._sent(pending))
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK_S, self._look)
        return pending.future

    async def subscribe(self, kind: Kind[A, B], asked: A) -> AsyncIterator[B]:
        """Pieces as they are pushed, until the other side ends it.

        Raises:
            PeerUnavailable: the connection broke, or the other side cannot.
        """
        if self._over is not None:
            raise self._over
        self._last_id += 1
        ask_id, subscription = self._last_id, _Subscription()
        self._subscriptions[ask_id] = kind, subscription
        self._channel.send(frames.ask(ask_id, kind.name, kind.asked.pack(asked)), urgent=kind.urgent)
        try:
            while True:
                while subscription.pieces:
                    piece = subscription.pieces.popleft()
                    self._channel.send(frames.credit(ask_id), urgent=True)
                    yield piece
                if subscription.ended:
                    break
                subscription.news.clear()
                await subscription.news.wait()
            if subscription.error is not None:
                raise subscription.error
        finally:
            if self._subscriptions.pop(ask_id, None) is not None and self._over is None:
                self._channel.send(frames.stop(ask_id), urgent=True)

    def take(self, messages: list[Message]) -> None:
        """Answers have come.

        Raises:
            Rejected: they are none.
        """
        for message in messages:
            match message:
                case Answer() | Failed() if message.id in self._pending:
                    self._answered(message)
                case Answer() | Failed():
                    self._ended(message)
                case Pushed():
                    self._pushed(message)
                case _:
                    raise Rejected(Rejection.MALFORMED, f"{type(message).__name__} from the answering side")

    def end(self, why: str) -> None:
        """The connection is over: whatever is unanswered has an unknown outcome."""
        self._over = PeerUnavailable(f"{self._who}: {why}")
        if self._looking is not None:
            self._looking.cancel()
        for pending in self._pending.values():
            fail(pending.future, self._over)
        for _, subscription in self._subscriptions.values():
            subscription.end(self._over)
        self._pending.clear()
        self._subscriptions.clear()

    def _sent(self, pending: _Pending) -> None:
        pending.due = self._loop.time() + pending.timeout_s

    def _answered(self, message: Answer | Failed) -> None:
        pending = self._pending.pop(message.id)
        self._bytes -= pending.size
        if isinstance(message, Failed):
            fail(pending.future, self._told(message))
            return
        try:
            answer = pending.kind.answered.read(message.body)
        except Malformed as error:
            self._malformed(error.code)
            fail(pending.future, PeerUnavailable(f"{self._who}: an answer to {pending.kind.name} with {error}"))
            return
        if not pending.future.done():
            pending.future.set_result(answer)

    def _ended(self, message: Answer | Failed) -> None:
        known = self._subscriptions.pop(message.id, None)  # if not: it was given up here
        if known is not None:
            known[1].end(self._told(message) if isinstance(message, Failed) else None)

    def _pushed(self, message: Pushed) -> None:
        known = self._subscriptions.get(message.id)
        if known is None:
            return
        kind, subscription = known
        if len(subscription.pieces) >= PIECES_AHEAD:
            raise Rejected(Rejection.MALFORMED, "more was pushed than was asked for")
        try:
            subscription.pieces.append(kind.answered.read(message.body))
        except Malformed as error:
            self._malformed(error.code)
            self._subscriptions.pop(message.id)
            self._channel.send(frames.stop(message.id), urgent=True)
            subscription.end(PeerUnavailable(f"{self._who}: a piece of {kind.name} with {error}"))
        subscription.news.set()

    def _told(self, message: Failed) -> PeerUnavailable:
        return PeerUnavailable(f"{self._who}: {message.code}: {message.text}")

    def _look(self) -> None:
        self._looking = None
        now = self._loop.time()
        for ask_id, pending in [each for each in self._pending.items() if each[1].due < now]:
            del self._pending[ask_id]
            self._bytes -= pending.size
            told = f"{self._who} does not answer {pending.kind.name} within {pending.timeout_s:g} s"
            fail(pending.future, PeerUnavailable(told))
        if self._pending:
            self._looking = self._loop.call_later(LOOK_S, self._look)


def failed(error: PeerUnavailable) -> asyncio.Future[Any]:
    """A future that has failed."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    fail(future, error)
    return future


def fail(future: asyncio.Future[Any], error: PeerUnavailable) -> None:
    """Let a future fail, if somebody still waits for it."""
    if not future.done():
        # An exception of its own for each: one that is raised in several places carries all their frames.
        future.set_exception(PeerUnavailable(error.message, error.hint))
        future.exception()  # who does not ask for the outcome needs no log line about it
