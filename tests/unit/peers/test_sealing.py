"""Who may speak: proofs over both hellos, and frames that are heard once, whole, in order and as sent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import decode, encode

from sidecar.peers.sealing import (
    HELLO_BYTES_MAX,
    Hello,
    Identity,
    Opener,
    Rejected,
    Rejection,
    Sealer,
    Transcript,
    agreed,
    hello_bytes,
    read_hello,
)

NORTH = Identity("north", "a" * 32, 1, "voter", "v1", "c1", "http://n:8473")
SOUTH = Identity("south", "b" * 32, 2, "gateway", "", "c1", "http://s:8473")
KEY = b"k" * 32
SECRET = b"a secret of the cluster"


def hello(identity: Identity, nonce: bytes = b"n" * 32, versions: tuple[int, int] = (1, 1)) -> Hello:
    return Hello.of(identity, nonce, versions)


def pair() -> tuple[Sealer, Opener]:
    return Sealer(KEY), Opener(KEY)


def refused(opener: Opener, frame: bytes) -> Rejection:
    with pytest.raises(Rejected) as why:
        opener.open(frame)
    return why.value.code


def test_frames_are_opened_in_order() -> None:
    sealer, opener = pair()
    payloads = [b"", b"one", b"two" * 1000]
    assert [opener.open(sealer.seal(each)) for each in payloads] == payloads


def test_a_frame_is_heard_once() -> None:
    sealer, opener = pair()
    frame = sealer.seal(b"one")
    opener.open(frame)
    assert refused(opener, frame) is Rejection.REPLAYED


def test_an_old_frame_is_not_heard_again() -> None:
    sealer, opener = pair()
    frames = [sealer.seal(b"same") for _ in range(3)]
    for frame in frames:
        opener.open(frame)
    assert refused(opener, frames[0]) is Rejection.REPLAYED


def test_a_frame_is_not_heard_before_its_turn() -> None:
    sealer, opener = pair()
    first, second = sealer.seal(b"one"), sealer.seal(b"two")
    assert refused(opener, second) is Rejection.REORDERED
    assert opener.open(first) == b"one"  # a refusal changed nothing


@given(at=st.integers(0, 47), bit=st.integers(0, 7))
def test_any_changed_bit_is_noticed(at: int, bit: int) -> None:
    sealer, opener = pair()
    frame = bytearray(sealer.seal(b"payload!"))
    frame[at] ^= 1 << bit
    assert refused(opener, bytes(frame)) is Rejection.ALTERED


def test_any_missing_or_added_byte_is_noticed() -> None:
    sealer, opener = pair()
    frame = sealer.seal(b"payload!")
    for end in range(len(frame)):
        expected = Rejection.TRUNCATED if end < 40 else Rejection.ALTERED
        assert refused(opener, frame[:end]) is expected
    assert refused(opener, frame + b"\0") is Rejection.ALTERED
    assert opener.open(frame) == b"payload!"


def test_a_frame_is_of_its_direction_and_of_its_connection() -> None:
    client, server = hello_bytes(hello(NORTH)), hello_bytes(hello(SOUTH))
    here = Transcript(SECRET, client, server)
    sealer, own_opener = here.seals(of_client=True)
    frame = sealer.seal(b"x")
    assert refused(own_opener, frame) is Rejection.ALTERED  # sent back to its sender
    later = Transcript(SECRET, client, hello_bytes(hello(SOUTH, b"m" * 32)))
    assert refused(later.seals(of_client=False)[1], frame) is Rejection.ALTERED
    assert here.seals(of_client=False)[1].open(frame) == b"x"


@pytest.mark.parametrize("of_client", [True, False])
def test_a_proof_is_of_the_secret_of_both_hellos_and_of_one_side(of_client: bool) -> None:
    client, server = hello_bytes(hello(NORTH)), hello_bytes(hello(SOUTH))
    proof = Transcript(SECRET, client, server).proof(of_client=of_client)
    Transcript(SECRET, client, server).check(proof, of_client=of_client)
    other_nonce = hello_bytes(hello(NORTH, b"m" * 32))
    others = [
        Transcript(b"", client, server),
        Transcript(SECRET + b" ", client, server),
        Transcript(SECRET, other_nonce, server),
        Transcript(SECRET, client, hello_bytes(hello(replace(SOUTH, member="east")))),
        Transcript(SECRET, server, client),
        Transcript(SECRET, client + server, b""),
    ]
    for other in others:
        with pytest.raises(Rejected, match="secret"):
            other.check(proof, of_client=of_client)
    with pytest.raises(Rejected, match="secret"):
        Transcript(SECRET, client, server).check(proof, of_client=not of_client)


def test_a_hello_says_who_speaks() -> None:
    assert read_hello(hello_bytes(hello(NORTH))).identity() == NORTH


def test_a_later_hello_may_say_more() -> None:
    more = decode(hello_bytes(hello(NORTH, versions=(1, 7)))) | {"colour": "blue"}
    assert agreed(hello(SOUTH), read_hello(encode(more))) == 1


@pytest.mark.parametrize(
    ("mine", "theirs", "spoken"),
    [((1, 1), (1, 1), 1), ((1, 2), (1, 1), 1), ((1, 3), (2, 4), 3), ((2, 2), (1, 2), 2)],
)
def test_the_newest_version_that_both_know_is_spoken(
    mine: tuple[int, int], theirs: tuple[int, int], spoken: int
) -> None:
    assert agreed(hello(NORTH, versions=mine), hello(SOUTH, versions=theirs)) == spoken


@pytest.mark.parametrize(
    ("mine", "other", "code"),
    [
        (hello(NORTH, versions=(2, 3)), hello(SOUTH, versions=(1, 1)), Rejection.VERSION),
        (hello(NORTH, versions=(1, 1)), hello(SOUTH, versions=(2, 3)), Rejection.VERSION),
        (hello(NORTH), hello(replace(SOUTH, cluster="c2")), Rejection.CLUSTER),
        (hello(NORTH), hello(replace(NORTH, peer_url="http://other:1")), Rejection.ITSELF),
    ],
)
def test_who_does_not_belong_together_is_told_why(mine: Hello, other: Hello, code: Rejection) -> None:
    with pytest.raises(Rejected) as why:
        agreed(mine, other)
    assert why.value.code is code


def test_a_cluster_that_is_not_formed_yet_is_no_other_cluster() -> None:
    assert agreed(hello(NORTH), hello(replace(SOUTH, cluster=""))) == 1
    assert agreed(hello(replace(NORTH, cluster="")), hello(SOUTH)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1",
        b"\xc0",
        hello_bytes(hello(NORTH))[:-1],
        hello_bytes(hello(NORTH)) + b"\0",
        hello_bytes(hello(NORTH, b"short")),
        hello_bytes(hello(replace(NORTH, session='a"b'))),
        hello_bytes(hello(replace(NORTH, incarnation=-1))),
        hello_bytes(hello(replace(NORTH, member="m" * HELLO_BYTES_MAX))),
        encode({key: value for key, value in decode(hello_bytes(hello(NORTH))).items() if key != "nonce"}),
    ],
)
def test_what_is_no_hello_is_refused(data: bytes) -> None:
    with pytest.raises(Rejected) as why:
        read_hello(data)
    assert why.value.code is Rejection.MALFORMED
