"""What a connection between sidecars carries: asks, answers, and what a subscription pushes, several to a frame.

A message is cut in parts where it is long, so that a journal entry of many megabytes does not keep a renewal
waiting: two lanes leave side by side, and only the *ordered* one is cut and keeps its order. The failure this
prevents: a lease that runs out, or an owner that seems dead, behind somebody's large file.

This file must not know sockets or seals, nor what an ask is about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Annotated, NamedTuple

from msgspec import Meta, Raw
from msgspec.msgpack import Decoder, Encoder

from sidecar.peers.packing import Malformed, Packed, Plain, Text, Whole, decoded

PART_BYTES = 64 << 10
"""Larger messages are cut. Smaller: less delay for what travels beside them on a slow line, and more overhead."""

FRAME_BYTES_MAX = 4 * PART_BYTES + (4 << 10)
"""What one frame may hold: less than two parts' worth of each lane, and what is around them."""

MESSAGES_MAX = 16384
"""Messages in one frame."""

MESSAGE_BYTES_MAX = 160 << 20
"""One message: the largest request (64 MiB), the row for reads that holds it too, and what is around them."""

PIECES_AHEAD = 4
"""What a subscription may be sent before its subscriber has taken any of it."""

Kind = Annotated[str, Meta(pattern=r"\A[a-z_]+\Z", max_length=32)]


class Ask(Packed, tag=1):
    """Something is asked; ``body`` is as its kind says."""

    id: Whole
    kind: Kind
    body: Raw


class Answer(Packed, tag=2):
    """It is answered; the end of a subscription too."""

    id: Whole
    body: Raw


class Failed(Packed, tag=3):
    """It is not answered: the outcome is unknown.

    Attributes:
        code: why: of ``errors``, or one of the few that the port gives itself.
        text: for people.
    """

    id: Whole
    code: Plain
    text: Text


class Pushed(Packed, tag=4):
    """A piece of what was subscribed to."""

    id: Whole
    body: Raw


class Credit(Packed, tag=5):
    """The subscriber has taken a piece, another may be sent."""

    id: Whole


class Stop(Packed, tag=6):
    """The asker does not want the answer any more."""

    id: Whole


class Part(Packed, tag=7):
    """A piece of a long message of the ordered lane; ``more`` follow."""

    more: bool
    data: bytes


Message = Ask | Answer | Failed | Pushed | Credit | Stop
_encode = Encoder().encode
_frame_decoder: Decoder[list[Ask | Answer | Failed | Pushed | Credit | Stop | Part]] = Decoder(
    list[Ask | Answer | Failed | Pushed | Credit | Stop | Part]
)
_message_decoder: Decoder[Ask | Answer | Failed | Pushed | Credit | Stop] = Decoder(
    Ask | Answer | Failed | Pushed | Credit | Stop
)


def ask(ask_id: int, kind: str, body: object) -> bytes:
    """An ask as bytes; ``body`` is what a codec has packed."""
    return _encode((1, ask_id, kind, body))


def answer(ask_id: int, body: object) -> bytes:
    """An answer as bytes."""
    return _encode((2, ask_id, body))


def failed(ask_id: int, code: str, text: str) -> bytes:
    """A failure as bytes."""
    return _encode((3, ask_id, code, text[:1000]))


def pushed(ask_id: int, body: object) -> bytes:
    """A piece of a subscription as bytes."""
    return _encode((4, ask_id, body))


def credit(ask_id: int) -> bytes:
    """A credit as bytes."""
    return _encode((5, ask_id))


def stop(ask_id: int) -> bytes:
    """The end of an ask, from its asker, as bytes."""
    return _encode((6, ask_id))


class Queued(NamedTuple):
    """A message that waits to be sent.

    Attributes:
        data: its bytes.
        sent: called once all of it was given to the connection.
    """

    data: bytes
    sent: Callable[[], None] | None


class Outbox:
    """Messages that wait to be sent, in two lanes.

    Attributes:
        bytes_queued: how much waits.
    """

    def __init__(self) -> None:
        self._urgent: deque[Queued] = deque()
        self._ordered: deque[Queued] = deque()
        self._offset = 0  # of the first ordered message, which is being sent in parts
        self.bytes_queued = 0

    def put(self, data: bytes, *, urgent: bool = False, sent: Callable[[], None] | None = None) -> None:
        """Queue a message.

        Args:
            data: its bytes.
            urgent: it may overtake ordered ones; a long message is not urgent.
            sent: called once all of it was given to the connection.
        """
        lane = self._urgent if urgent and len(data) <= PART_BYTES else self._ordered
        lane.append(Queued(data, sent))
        self.bytes_queued += len(data)

    def frame(self) -> tuple[bytes, list[Queued]] | None:
        """The next frame's payload and the messages that end in it; None where nothing waits."""
        if not self._urgent and not self._ordered:
            return None
        picked: list[bytes] = []
        whole: list[Queued] = []
        for lane in (self._urgent, self._ordered):
            size = 0
            while lane and size < PART_BYTES and len(picked) < MESSAGES_MAX:
                if len(lane[0].data) > PART_BYTES:
                    picked.append(self._part(whole, PART_BYTES - size))
                else:
                    whole.append(lane.popleft())
                    picked.append(whole[-1].data)
                    self.bytes_queued -= len(picked[-1])
                size += len(picked[-1])
        return _array_head(len(picked)) + b"".join(picked), whole

    def _part(self, whole: list[Queued], room: int) -> bytes:
        data, begin = self._ordered[0].data, self._offset
        piece = memoryview(data)[begin : begin + room]
        self.bytes_queued -= len(piece)
        self._offset += len(piece)
        more = self._offset < len(data)
        if not more:
            whole.append(self._ordered.popleft())
            self._offset = 0
        return _encode((7, more, piece))


class Inbox:
    """Frames' payloads on their way to being messages."""

    def __init__(self, message_bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        self._max = message_bytes_max
        self._parts: list[bytes] = []
        self._size = 0

    def messages(self, payload: bytes) -> list[Message]:
        """The messages that a frame completes, in order.

        Raises:
            Malformed: it is no frame's payload, or a message grows beyond the limit.
        """
        complete: list[Message] = []
        for each in decoded(_frame_decoder, payload):
            if isinstance(each, Part):
                self._size += len(each.data)
                if self._size > self._max:
                    raise Malformed("too_large", f"a message of more than {self._max} bytes")
                self._parts.append(each.data)
                if not each.more:
                    data, self._parts, self._size = b"".join(self._parts), [], 0
                    complete.append(decoded(_message_decoder, data))
            else:
                complete.append(each)
        return complete


def _array_head(count: int) -> bytes:
    # MessagePack's array headers: the messages behind are encoded already.
    return bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
