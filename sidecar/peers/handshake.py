"""How a connection between sidecars begins: hello, hello and proof, proof, and the first sealed frame.

The side that was dialled proves itself first. Nothing is told to a side that has not proven itself but a hello and
the code of a refusal. The failure this prevents: a stranger, an older version or another cluster's sidecar that is
taken for a peer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder

from sidecar.peers.channel import Channel, Socket, received, send
from sidecar.peers.lives import Lives
from sidecar.peers.packing import Digest, Malformed, decoded
from sidecar.peers.sealing import (
    NONCE_BYTES,
    VERSIONS,
    Hello,
    Identity,
    Rejected,
    Rejection,
    Transcript,
    agreed,
    hello_bytes,
    read_hello,
)

WITHIN_S = 5.0
"""For all of it: four times back and forth, over the slowest line that is of use."""

MEMBER_SHOWN = 64
EMPTY_FRAME = b"\x90"


class _Offer(Struct, frozen=True):
    hello: bytes
    proof: Digest


class _Proof(Struct, frozen=True):
    proof: Digest


_offer, _proof = Decoder(_Offer), Decoder(_Proof)
_encode = Encoder().encode


@dataclass(frozen=True, slots=True)
class Side:
    """What one end brings to a handshake.

    Attributes:
        identity: what it says of itself.
        secret: the cluster's, b"" among sidecars of one host.
        versions: oldest and newest that it speaks.
        lives: whom it has met in which life; None where that does not matter.
    """

    identity: Identity
    secret: bytes
    versions: tuple[int, int] = VERSIONS
    lives: Lives | None = None

    def meets(self, other: Hello) -> None:
        """The other side is proven.

        Raises:
            Rejected: it is known in a later life.
        """
        if self.lives is not None:
            self.lives.met(other.identity())


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end, proven.

    Attributes:
        identity: what it said of itself.
        version: of the protocol that is spoken with it.
        address: where its bytes come from.
    """

    identity: Identity
    version: int
    address: str


async def dialled(ws: Socket, side: Side) -> tuple[Peer, Channel]:
    """The handshake of the side that has dialled.

    Raises:
        Rejected: one side does not want the other.
        Broken: the connection is gone.
    """
    try:
        async with asyncio.timeout(WITHIN_S):
            return await _dialled(ws, side)
    except TimeoutError:
        raise Rejected(Rejection.LATE) from None
    except Malformed as error:
        raise Rejected(Rejection.MALFORMED, error.detail) from None


async def accepted(ws: Socket, side: Side, address: str) -> tuple[Peer, Channel]:
    """The handshake of the side that was dialled, from this address.

    Raises:
        Rejected: one side does not want the other.
        Broken: the connection is gone.
    """
    try:
        async with asyncio.timeout(WITHIN_S):
            return await _accepted(ws, side, address)
    except TimeoutError:
        raise Rejected(Rejection.LATE) from None
    except Malformed as error:
        raise Rejected(Rejection.MALFORMED, error.detail) from None


async def _dialled(ws: Socket, side: Side) -> tuple[Peer, Channel]:
    address = host_of(ws.get_extra_info("peername"))
    _only_loopback(side, address)
    mine = Hello.of(side.identity, secrets.token_bytes(NONCE_BYTES), side.versions)
    said = hello_bytes(mine)
    await send(ws, said)
    offer = decoded(_offer, await received(ws))
    other = read_hello(offer.hello)
    with _by(other):
        version = agreed(mine, other)
        transcript = Transcript(side.secret, said, offer.hello)
        transcript.check(offer.proof, of_client=False)
        await send(ws, _encode(_Proof(transcript.proof(of_client=True))))
        sealer, opener = transcript.seals(of_client=True)
        opener.open(await received(ws))
        side.meets(other)
    return Peer(other.identity(), version, address), Channel(ws, sealer, opener)


async def _accepted(ws: Socket, side: Side, address: str) -> tuple[Peer, Channel]:
    _only_loopback(side, address)
    mine = Hello.of(side.identity, secrets.token_bytes(NONCE_BYTES), side.versions)
    heard = await received(ws)
    other = read_hello(heard)
    with _by(other):
        version = agreed(mine, other)
        said = hello_bytes(mine)
        transcript = Transcript(side.secret, heard, said)
        await send(ws, _encode(_Offer(said, transcript.proof(of_client=False))))
        transcript.check(decoded(_proof, await received(ws)).proof, of_client=True)
        side.meets(other)
        sealer, opener = transcript.seals(of_client=False)
        await send(ws, sealer.seal(EMPTY_FRAME))
    return Peer(other.identity(), version, address), Channel(ws, sealer, opener)


@contextmanager
def _by(other: Hello) -> Iterator[None]:
    """Whatever is wrong from here on is told with the name that the other side has given."""
    try:
        yield
    except Rejected as why:
        why.member = other.member[:MEMBER_SHOWN]
        raise


def host_of(peername: object) -> str:
    """The host in a transport's ``peername``, "" where there is none."""
    return str(peername[0]) if isinstance(peername, tuple) and peername else ""


def is_loopback(host: str) -> bool:
    """Whether an address is of this host alone."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _only_loopback(side: Side, address: str) -> None:
    if not side.secret and not is_loopback(address):
        raise Rejected(
            Rejection.LOOPBACK_ONLY, f"no cluster secret is set, and {address or 'the peer'} is elsewhere"
        )
