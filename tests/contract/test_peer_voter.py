"""A voter's file behind a real connection: what one process has of it, a peer has too, and as cheaply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.quorum import Append, Appended, Claim, Granted, Refusal, Refused
from sidecar.errors import PeerUnavailable
from sidecar.peers.handshake import Peer
from sidecar.peers.link import PeerLink
from sidecar.records import KeyRow, Riders
from sidecar.store import LocalVoter, Store
from tests.contract.journals import events, view_of
from tests.contract.peering import FIRST, grown, journal, part
from tests.hosts.peer_side import Remembers, link, port

A, B = FIRST, Fence(2, "bb")


class Served(Remembers):
    """Asks of peers, carried to a voter's file."""

    def __init__(self, voter: LocalVoter) -> None:
        super().__init__()
        self.voter = voter

    async def claim(self, peer: Peer, to: str, claim: Claim) -> Granted | Refused:
        return await self.voter.claim(claim, asked=to)

    async def read_prefix(self, peer: Peer, to: str, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        return await self.voter.read_prefix(task, tip, after, asked=to)

    def append_soon(
        self, peer: Peer, to: str, append: Append, riders: Riders
    ) -> asyncio.Future[Appended | Refused]:
        return self.voter.append_soon(append, riders, asked=to)


@pytest.fixture
async def remote(local_voter: LocalVoter) -> AsyncIterator[PeerLink]:
    """The voter, from elsewhere."""
    async with port() as end:
        end.port._handler = Served(local_voter)
        async with link(end.url) as to:
            to.voter = local_voter.voter
            yield to


async def test_appends_of_one_tick_share_a_disk_write(remote: PeerLink, peer_store: Store) -> None:
    log = journal(200)
    before = peer_store.writer.commits
    answers = await asyncio.gather(
        *(remote.append_soon(part("t", log, at, A, 0, at + 1)) for at in range(len(log)))
    )
    assert [each.seq for each in answers if isinstance(each, Appended)] == [each.seq for each in log]
    assert peer_store.writer.commits - before <= 3


async def test_a_claim_and_the_appends_behind_it_are_carried_out_in_order(remote: PeerLink) -> None:
    log = journal(2)
    assert isinstance(await remote.append_soon(part("t", log, 0, A, 4)), Appended)
    claiming = asyncio.ensure_future(remote.claim(Claim("t", B, "bb")))
    await asyncio.sleep(0)
    late = remote.append_soon(part("t", grown("t", log, A, events(1)), len(log), A, 4))
    granted, refused = await asyncio.gather(claiming, late)
    assert granted == Granted(tip_of("t", log), 4)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.FENCED


async def test_a_journal_is_adopted_from_a_peer_and_continued_there(remote: PeerLink, peer_store: Store) -> None:
    log = journal(20)
    await remote.append_soon(part("t", log, 0, A, 5))
    granted = await remote.claim(Claim("t", B, "bb"))
    assert isinstance(granted, Granted)
    adopted: list[Entry] = []
    while len(adopted) < granted.tip.seq:
        piece = await remote.read_prefix("t", granted.tip, len(adopted))
        assert piece
        adopted += piece
    assert adopted == log
    longer = grown("t", log, B, [Draft(Kind.CLAIMED, b'{"owner":"b"}')])
    key = KeyRow("k", 0, "t", "i", False)
    end = len(longer)
    answer = await remote.append_soon(
        part("t", longer, len(log), B, end), Riders(view_of("t", status_at=9), end, (key,), (1, 2))
    )
    assert isinstance(answer, Appended)
    assert (answer.seq, answer.committed) == (end, end)
    assert await peer_store.entries("t") == longer
    assert await peer_store.view("t") == view_of("t", status_at=9)
    assert await peer_store.keys("k") == [key]


BROKEN: dict[str, Callable[[list[Entry]], list[Entry]]] = {
    "another body": lambda some: [some[0], some[1]._replace(body=b"{}"), *some[2:]],
    "another kind": lambda some: [some[0]._replace(kind=Kind.COMPLETED), *some[1:]],
    "a missing entry": lambda some: [some[0], *some[2:]],
    "a repeated entry": lambda some: [some[0], *some],
    "another order": lambda some: [some[1], some[0], *some[2:]],
    "another predecessor": lambda some: some[1:],
    "a falling fence": lambda some: some + chain(tip_of("t", some), Fence(0, "z"), 5, [Draft(Kind.EVENT, b"{}")]),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_peers_entries_that_are_no_chain_are_not_stored(
    how: str, remote: PeerLink, local_voter: LocalVoter, caplog: pytest.LogCaptureFixture
) -> None:
    log = journal(3)
    bad = Append("t", A, 0, genesis("t").hash, BROKEN[how](log), 0)
    with pytest.raises(PeerUnavailable, match="broken_chain"):
        await remote.append_soon(bad)
    assert isinstance(await remote.append_soon(part("t", log, 0, A, 0)), Appended)
    assert await local_voter.read_prefix("t", tip_of("t", log), 0) == tuple(log)
    assert not [each for each in caplog.records if each.exc_info]


async def test_a_voter_that_is_not_there_any_more_is_not_answered_for(remote: PeerLink) -> None:
    remote.voter = "v-that-was-here-before"
    for answer in (
        await remote.claim(Claim("t", B, "bb")),
        await remote.append_soon(part("t", journal(1), 0, A, 0)),
    ):
        assert isinstance(answer, Refused)
        assert answer.reason is Refusal.UNKNOWN_VOTER
