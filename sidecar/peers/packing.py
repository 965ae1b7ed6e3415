"""How anything travels between sidecars: a shape with types and bounds, and the way from a record to it and back.

Whatever does not fit its shape raises ``Malformed`` and has become nothing. The failure this prevents: a number
that no store can hold, or a name that would break an entry's header, met deep inside instead of at the door.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, MsgspecError, Raw, Struct
from msgspec.msgpack import Decoder, Encoder

Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A count or a position, as large as a store can hold."""

Plain = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._:-]*\Z", max_length=256)]
"""A name that stands in an entry's header or in a fence: nothing in it needs an escape."""

Text = Annotated[str, Meta(max_length=8192)]
Digest = Annotated[bytes, Meta(min_length=32, max_length=32)]

T = TypeVar("T")
Shape = TypeVar("Shape")

_encode = Encoder().encode


class Malformed(Exception):
    """Bytes that are not what they should be. Nothing was done with them.

    Args:
        code: what is wrong with them, stable: it labels a metric.
        detail: for people.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


class Codec(Generic[T]):
    """One thing that travels.

    Args:
        shape: its fields and their bounds.
        pack: a record as something of that shape.
        unpack: and back; may raise ``Malformed`` for what no field shows by itself.
    """

    def __init__(self, shape: Any, pack: Callable[[T], object], unpack: Callable[[Any], T]) -> None:
        self.pack, self._unpack = pack, unpack
        self._decoder: Decoder[Any] = Decoder(shape)

    def write(self, record: T) -> bytes:
        """The record as bytes."""
        return _encode(self.pack(record))

    def read(self, data: bytes | Raw) -> T:
        """The record that these bytes are.

        Raises:
            Malformed: they are none.
        """
        return self._unpack(decoded(self._decoder, data))


def decoded(decoder: Decoder[Shape], data: bytes | Raw) -> Shape:
    """What a decoder reads, whatever it may stumble over.

    Raises:
        Malformed: the bytes have another shape.
    """
    try:
        return decoder.decode(data)
    except (MsgspecError, RecursionError, ValueError) as error:
        raise Malformed("malformed", str(error)) from None


def as_it_is(record: T) -> T:
    """For shapes that are records."""
    return record


class Packed(Struct, array_like=True, gc=False):
    """Base of all shapes."""


NAME: Codec[str] = Codec(Text, as_it_is, as_it_is)
"""A task id, or another name."""
