"""Who may speak on a connection between sidecars: the handshake's proofs, and a seal on every frame after it.

Both sides send a hello with a random nonce, then prove with the cluster's secret that they know it, over both
hellos (so neither an earlier connection nor another version range can be passed off). Each direction has a key of
its own, derived from the secret and both hellos; a frame carries a counter and HMAC-SHA256 over counter and
payload. The failures this prevents: a host without the secret that is listened to, and a message that is heard
twice, late, changed or in part. What is said is not hidden: that is TLS's part.

This file must not know about sockets, nor what a payload says.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from struct import Struct as Layout
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.msgpack import Decoder, Encoder

from sidecar.peers.packing import Malformed, Plain, Text, Whole, decoded

VERSIONS = (1, 1)
"""The oldest and the newest version of this protocol that is spoken here."""

NONCE_BYTES = 32
HELLO_BYTES_MAX = 16 << 10
MAC_BYTES = 32
_COUNTER = Layout(">Q")
_HEAD = _COUNTER.size + MAC_BYTES


class Rejection(StrEnum):
    """Why a connection is refused or broken off. Stable: they travel, and label a metric."""

    VERSION = "version"  # the two speak no common version
    CLUSTER = "cluster"  # each belongs to another cluster
    SECRET = "secret"  # noqa: S105 # the secrets differ
    LOOPBACK_ONLY = "loopback_only"  # without a secret only sidecars of one host talk
    ITSELF = "itself"  # it reached itself
    OLD_COPY = "old_copy"  # the file of one side is older than itself: it was set back in place
    CROWDED = "crowded"  # there are too many connections
    LATE = "late"  # the handshake took too long
    MALFORMED = "malformed"  # bytes that nobody who speaks this protocol sends
    ALTERED = "altered"  # a frame was changed on its way, or was sealed by somebody else
    REPLAYED = "replayed"  # a frame came a second time
    REORDERED = "reordered"  # a frame came before its turn
    TRUNCATED = "truncated"  # a frame is too short to be one
    TOO_LARGE = "too_large"  # a message above the limit
    OTHER = "other"  # a later version's word for something


class Rejected(Exception):
    """A connection that is not used, or not any more.

    Args:
        code: why.
        detail: for people.
        told: the other side refused.

    Attributes:
        member: what the other side calls itself, "" where it has not said; unproven.
    """

    def __init__(self, code: Rejection, detail: str = "", *, told: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else str(code))
        self.code, self.detail, self.told = code, detail, told
        self.member = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a sidecar says of itself when it meets another.

    Attributes:
        member: its name, in every life.
        session: boot nonce of this life.
        incarnation: which life.
        role: voter, standby or gateway.
        voter: id of its voter's file, "" without one.
        cluster: id of its cluster, "" until one was formed.
        peer_url: where other sidecars reach it.
    """

    member: str
    session: str
    incarnation: int = 0
    role: str = "voter"
    voter: str = ""
    cluster: str = ""
    peer_url: str = ""


class Hello(Struct, frozen=True):
    """The first message of each side. A map, of which later versions may say more: what is unknown is left out."""

    oldest: Whole
    newest: Whole
    nonce: Annotated[bytes, Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    member: Text
    session: Plain
    incarnation: Whole
    role: Plain
    voter: Plain
    cluster: Plain
    peer_url: Text

    @classmethod
    def of(cls, identity: Identity, nonce: bytes, versions: tuple[int, int] = VERSIONS) -> Hello:
        """A side's hello on one connection."""
        return cls(
            *versions,
            nonce,
            identity.member,
            identity.session,
            identity.incarnation,
            identity.role,
            identity.voter,
            identity.cluster,
            identity.peer_url,
        )

    def identity(self) -> Identity:
        """Who says it."""
        return Identity(
            self.member, self.session, self.incarnation, self.role, self.voter, self.cluster, self.peer_url
        )


_hello_decoder = Decoder(Hello)


def hello_bytes(hello: Hello) -> bytes:
    """A hello as it travels, and as it is proven: exactly these bytes."""
    return Encoder().encode(hello)


def read_hello(data: bytes) -> Hello:
    """The hello that these bytes are.

    Raises:
        Rejected: they are none.
    """
    if len(data) > HELLO_BYTES_MAX:
        raise Rejected(Rejection.MALFORMED, f"a hello of {len(data)} bytes")
    try:
        return decoded(_hello_decoder, data)
    except Malformed as error:
        raise Rejected(Rejection.MALFORMED, error.detail) from None


def agreed(mine: Hello, other: Hello) -> int:
    """The version that both sides will speak: the newest that both know.

    Raises:
        Rejected: there is none, it belongs to another cluster, or it is this sidecar itself.
    """
    version = min(mine.newest, other.newest)
    if version < max(mine.oldest, other.oldest):
        spoken = f"versions {other.oldest} to {other.newest} there, {mine.oldest} to {mine.newest} here"
        raise Rejected(Rejection.VERSION, spoken)
    if mine.cluster and other.cluster and mine.cluster != other.cluster:
        raise Rejected(Rejection.CLUSTER, f"{other.cluster[:8]} there, {mine.cluster[:8]} here")
    if mine.session == other.session:
        raise Rejected(Rejection.ITSELF, mine.member)
    return version


class Sealer:
    """Seals the frames of one direction of one connection."""

    def __init__(self, key: bytes) -> None:
        self._key, self._counter = key, 0

    def seal(self, payload: bytes) -> bytes:
        """The next frame."""
        covered = _COUNTER.pack(self._counter) + payload
        self._counter += 1
        return hmac.digest(self._key, covered, sha256) + covered


class Opener:
    """Opens the frames of one direction of one connection, each once and in order."""

    def __init__(self, key: bytes) -> None:
        self._key, self._counter = key, 0

    def open(self, frame: bytes) -> bytes:
        """The payload of the next frame.

        Raises:
            Rejected: it is not the next frame of this connection. Nothing of it may be used, nor of a later one.
        """
        if len(frame) < _HEAD:
            raise Rejected(Rejection.TRUNCATED, f"{len(frame)} bytes")
        covered = frame[MAC_BYTES:]
        if not hmac.compare_digest(frame[:MAC_BYTES], hmac.digest(self._key, covered, sha256)):
            raise Rejected(Rejection.ALTERED)
        (counter,) = _COUNTER.unpack_from(covered)
        if counter != self._counter:
            code = Rejection.REPLAYED if counter < self._counter else Rejection.REORDERED
            raise Rejected(code, f"frame {counter} instead of {self._counter}")
        self._counter += 1
        return covered[_COUNTER.size :]


class Transcript:
    """Both hellos of one connection, and what follows from them with the cluster's secret.

    Args:
        secret: the cluster's, b"" among sidecars of one host.
        client: hello of the side that dialled.
        server: hello of the other.
    """

    def __init__(self, secret: bytes, client: bytes, server: bytes) -> None:
        self._secret = secret
        self._said = sha256(len(client).to_bytes(4, "big") + client + server).digest()

    def proof(self, *, of_client: bool) -> bytes:
        """What one side proves that it knows the secret with."""
        return self._derived(b"proof of the client" if of_client else b"proof of the server")

    def check(self, proof: bytes, *, of_client: bool) -> None:
        """Compare a proof.

        Raises:
            Rejected: it was made with another secret, or over other hellos.
        """
        if not hmac.compare_digest(proof, self.proof(of_client=of_client)):
            raise Rejected(Rejection.SECRET)

    def seals(self, *, of_client: bool) -> tuple[Sealer, Opener]:
        """A side's seals: for what it sends and for what it receives."""
        client, server = self._derived(b"frames of the client"), self._derived(b"frames of the server")
        return (Sealer(client), Opener(server)) if of_client else (Sealer(server), Opener(client))

    def _derived(self, label: bytes) -> bytes:
        return hmac.digest(self._secret, b"dhp-peer " + label + b"\0" + self._said, sha256)
