"""What a voter tells those that have no vote: who is there.

Shapes only. The failure this prevents: an answer that grows with all that a host has ever heard of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from msgspec import Meta

from sidecar.peers.packing import Codec, Packed, Whole
from sidecar.peers.shapes import CardPacked, card_of, card_packed
from sidecar.records import SessionCard
from sidecar.store import SessionRow

SESSIONS_MAX = 10_000
SILENT_MS = 60_000
"""Who has been silent for longer is gone, and not told of any more."""


class Told(NamedTuple):
    """A session that another host has heard of.

    Attributes:
        card: what it said of itself.
        age_ms: for how long nothing was heard of it.
        released: it let go of everything.
    """

    card: SessionCard
    age_ms: int
    released: bool


class _Told(Packed):
    card: CardPacked
    age_ms: Whole
    released: bool


def told(rows: Sequence[SessionRow]) -> list[Told]:
    """What is told of sessions that are known here."""
    return [Told(_card(row), row.age_ms, row.released) for row in rows if row.age_ms < SILENT_MS][:SESSIONS_MAX]


def _card(row: SessionRow) -> SessionCard:
    return SessionCard(
        row.name, row.session, row.boot, row.group, row.role, row.url, row.address, row.ready, row.draining,
        row.capacity,
    )  # fmt: skip


TOLD: Codec[list[Told]] = Codec(
    Annotated[list[_Told], Meta(max_length=SESSIONS_MAX)],
    lambda every: [(card_packed(each.card), each.age_ms, each.released) for each in every],
    lambda packed: [Told(card_of(each.card), each.age_ms, each.released) for each in packed],
)
