"""Lines to those that have no vote: they follow who is there, and lead nowhere that is configured."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from sidecar.ops.metrics import Metrics
from sidecar.peers.guests import Guests
from sidecar.peers.link import PeerLink
from sidecar.store import SessionRow
from tests.hosts.peer_side import identity, link, port, side, until


def _row(name: str, address: str) -> SessionRow:
    own = identity(name).session
    return SessionRow(own, name, 1, "g", "standby", "", address, True, False, 0, 0, True, False, False, False)


def _dial(url: str) -> PeerLink:
    return PeerLink(url, lambda: side("north"), Metrics(strict=True))


async def test_who_tells_an_address_is_dialled_and_left_when_it_is_gone() -> None:
    async with port("east") as guest, port() as voter, link(voter.url) as to:
        itself, south = (
            _row("north", "http://127.0.0.1:9"),
            _row("south", voter.url.replace("127.0.0.1", "localhost")),
        )
        rows = [itself, south, _row("east", guest.url), _row("mute", "")]
        guests = Guests([to], lambda: rows, itself.session, _dial)
        links = guests.links
        running = asyncio.create_task(guests.run_forever())
        try:
            await until(lambda: bool(links) and links[0].connected)
            assert [each.url for each in links] == [guest.url]
            assert links[0].leads_to(identity("east").session)
            kept = links[0]
            rows[2] = replace(rows[2], age_ms=700)
            rows.append(_row("west", "http://127.0.0.1:9"))
            await until(lambda: len(links) == 2)
            assert links[0] is kept, "it is dialled once"
            rows[:] = [itself, south]
            await until(lambda: not links and not kept.connected)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
