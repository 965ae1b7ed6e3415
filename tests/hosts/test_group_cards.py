"""How a group's card reaches a gateway over the lines to its peers: once for each card, from whoever has it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

import pytest

from sidecar.errors import PeerUnavailable
from sidecar.peers import serving
from sidecar.peers.groupcards import GroupCards
from sidecar.peers.handshake import Peer
from sidecar.peers.kinds import CARD_BYTES_MAX
from sidecar.store import SessionRow
from tests.hosts.peer_side import End, Remembers, identity, link, port

CARD = b'{"name":"census","version":"1"}'
NEWER = b'{"name":"census","version":"2"}'


class Kept:
    """A store's small values, in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def keep(self, name: str, value: str) -> None:
        self.values[name] = value

    async def kept(self, name: str) -> str | None:
        return self.values.get(name)


class Sessions:
    def __init__(self, *rows: SessionRow) -> None:
        self.rows = rows

    async def list(self) -> tuple[SessionRow, ...]:
        return self.rows


class HasCard(Remembers):
    """A peer that answers as ``PeerService`` does."""

    def __init__(self, cards: Mapping[str, bytes]) -> None:
        super().__init__()
        self.cards = dict(cards)
        self.sent: list[int] = []

    async def card(self, peer: Peer, group: str, digest: bytes) -> bytes | None:
        card = self.cards.get(group, b"")
        answer = None if card and sha256(card).digest() == digest else card
        self.sent.append(len(answer or b""))
        return answer


def session(name: str, group: str = "census", *, ready: bool = True, role: str = "sidecar") -> SessionRow:
    return SessionRow(
        identity(name).session, name, 1, group, role, "", "", ready, False, 0, 0, True, False, False, False
    )


def has(end: End, **cards: bytes) -> HasCard:
    handler = HasCard(cards)
    end.port._handler = end.handler = handler
    return handler


async def test_a_card_travels_once_and_again_only_when_it_is_another_one() -> None:
    kept = Kept()
    async with port() as end:
        south = has(end)
        async with link(end.url) as to:
            cards = GroupCards([[to]], Sessions(session("south")), kept)
            assert not await cards.look()
            assert kept.values == {}
            south.cards["census"] = CARD
            for _ in range(3):
                assert await cards.look()
                assert kept.values == {"group census": CARD.decode()}
            south.cards["census"] = NEWER
            assert await cards.look()
    assert kept.values == {"group census": NEWER.decode()}
    assert south.sent == [0, len(CARD), 0, 0, len(NEWER)]


async def test_of_two_that_have_different_cards_the_first_that_is_ready_tells() -> None:
    kept = Kept()
    async with port("east") as first, port("south") as second:
        east, south = has(first, census=CARD), has(second, census=NEWER)
        async with link(first.url) as to_east, link(second.url) as to_south:
            rows = session("east", ready=False), session("south")
            cards = GroupCards([[to_east, to_south]], Sessions(*rows), kept)
            for _ in range(3):
                assert await cards.look()
                assert kept.values == {"group census": NEWER.decode()}
    assert (east.sent, len(south.sent)) == ([], 3)


async def test_who_does_not_know_the_question_is_passed_by(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept()
    async with port("east") as old, port("south") as new:
        has(old, census=CARD)
        south = has(new)
        async with link(old.url) as to_east, link(new.url) as to_south:
            cards = GroupCards([[to_east, to_south]], Sessions(session("east"), session("south")), kept)
            known = {name: call for name, call in serving.CALLS.items() if name != "card"}
            monkeypatch.setattr(serving, "CALLS", MappingProxyType(known))
            for _ in range(3):
                assert not await cards.look()
            with pytest.raises(PeerUnavailable, match="unsupported"):
                await to_south.card("census", b"")
            (of_east, _) = [each for each in caplog.messages if "does not tell the card" in each]
            assert "unsupported" in of_east
            monkeypatch.undo()
            has(old)
            south.cards["census"] = CARD
            assert await cards.look()
    assert kept.values == {"group census": CARD.decode()}


async def test_gateways_and_groups_without_a_name_are_not_asked() -> None:
    kept = Kept()
    async with port() as end:
        south = has(end, census=CARD)
        for row in (session("south", role="gateway"), session("south", ""), session("somebody")):
            async with link(end.url) as to:
                assert not await GroupCards([[to]], Sessions(row), kept).look()
    assert (kept.values, south.sent) == ({}, [])


@pytest.mark.parametrize("card", [b"{", b"[]", b'"text"', b"\xff", b'{"capabilities":' + b"[" * 2000])
async def test_what_cannot_be_served_is_not_kept_and_told_once(
    card: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "sidecar.peers.groupcards")
    kept = Kept()
    kept.values["group census"] = CARD.decode()
    async with port() as end:
        has(end, census=card)
        async with link(end.url) as to:
            cards = GroupCards([[to]], Sessions(session("south")), kept)
            for _ in range(2):
                assert await cards.look()  # there is one that can be
    assert kept.values == {"group census": CARD.decode()}
    (told,) = caplog.messages
    assert "cannot be served" in told


async def test_a_card_above_the_bound_is_no_answer() -> None:
    kept = Kept()
    async with port() as end:
        has(end, census=b'{"name":"' + b"x" * CARD_BYTES_MAX + b'"}')
        async with link(end.url) as to:
            assert not await GroupCards([[to]], Sessions(session("south")), kept).look()
            with pytest.raises(PeerUnavailable, match="malformed"):
                await to.card("census", b"")
    assert kept.values == {}
