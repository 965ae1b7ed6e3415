"""What sidecars tell each other beside journals, as bytes and back: rows for reads, message keys, who they are.

Like ``codec``: every field has a type and a bound. The failure this prevents: a row of another sidecar that this
one's store or front cannot hold.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta

from bridge.quorum import VoterView
from sidecar.peers.codec import FencePacked, TipPacked, tip_packed
from sidecar.peers.packing import Codec, Packed, Plain, Text, Whole
from sidecar.records import Caller, KeyRow, ListQuery, Riders, SessionCard, TaskView
from sidecar.store import HandoffRow

Moment = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Milliseconds since 1970, as an agent said: it may lie before."""


ROWS_MAX = 1000
"""Of how many handoffs one answer says how they stand: the rest of a sweep waits for the next one."""


class KeyPacked(Packed):
    """A message key's row."""

    key_hash: Plain
    generation: Whole
    task_id: Plain
    intent: Text
    answered: bool

    def record(self) -> KeyRow:
        """As the store knows it."""
        return KeyRow(self.key_hash, self.generation, self.task_id, self.intent, self.answered)


class ViewPacked(Packed):
    """The row for reads."""

    task_id: Plain
    tenant: str
    principal: str
    context_id: str
    state: Plain
    task_state: Text
    status_at: Moment
    listed: bool
    finished: bytes | None

    def record(self) -> TaskView:
        """As the store knows it."""
        return TaskView(
            self.task_id,
            self.tenant,
            self.principal,
            self.context_id,
            self.state,
            self.task_state,
            self.status_at,
            self.listed,
            self.finished,
        )


class RidersPacked(Packed):
    """What travels with an append. Ids of inbox rows do not: they are of the sender's own file."""

    view: ViewPacked | None
    view_seq: Whole
    keys: list[KeyPacked]


class CardPacked(Packed):
    """What a sidecar says of itself."""

    name: Text
    session: Plain
    incarnation: Whole
    group: Text
    role: Plain
    url: Text
    peer_url: Text
    ready: bool
    draining: bool
    capacity: Moment


class VoterViewPacked(Packed):
    """What a voter knows of a handoff."""

    promised: FencePacked
    tip: TipPacked
    committed: Whole
    granted: FencePacked | None
    granted_until_ms: Whole
    purged: bool


class HandoffPacked(Packed):
    """What a store knows of a handoff without reading its journal."""

    task: Plain
    voter: VoterViewPacked
    owner: Plain
    released: bool
    terminal: bool
    state: Plain
    task_state: Text
    status_at: Moment

    def record(self) -> HandoffRow:
        """As the store knows it. A grant is its voter's own affair: its time is by another clock."""
        seen = self.voter
        tip, promised = seen.tip.record(), seen.promised.record()
        voter = VoterView(promised, tip, seen.committed, purged=seen.purged)
        return HandoffRow(
            self.task, voter, self.owner, self.released, self.terminal, self.state, self.task_state, self.status_at
        )


class CursorPacked(Packed):
    """Where a list's page ended."""

    status_at: Moment
    task: Plain


class QueryPacked(Packed):
    """A question for a list, and whose."""

    tenant: str
    principal: str
    context_id: str | None
    task_state: Text | None
    status_after_ms: Moment | None
    page_size: Whole
    page_after: CursorPacked | None
    body_max: Whole | None


class PagePacked(Packed):
    """One page of a list."""

    views: list[ViewPacked]
    total: Whole
    next_after: CursorPacked | None


class TaskQuery(NamedTuple):
    """What ``Reads.list_tasks`` is asked."""

    query: ListQuery
    caller: Caller
    body_max: int | None = None


Page = tuple[list[TaskView], int, tuple[int, str] | None]
"""What ``Reads.list_tasks`` answers."""


def riders_packed(riders: Riders) -> object:
    """Riders, to be encoded."""
    view = None if riders.view is None else view_packed(riders.view)
    return (view, riders.view_seq, [key_packed(key) for key in riders.keys])


def riders_of(packed: RidersPacked) -> Riders:
    """As the store knows them."""
    view = None if packed.view is None else packed.view.record()
    return Riders(view, packed.view_seq, tuple([key.record() for key in packed.keys]))


def key_packed(key: KeyRow) -> object:
    """A message key's row, to be encoded."""
    return (key.key_hash, key.generation, key.task_id, key.intent, key.answered)


def view_packed(view: TaskView) -> object:
    """A row for reads, to be encoded."""
    return (
        view.task_id,
        view.tenant,
        view.principal,
        view.context_id,
        view.state,
        view.task_state,
        view.status_at,
        view.listed,
        view.finished,
    )


def card_packed(card: SessionCard) -> object:
    """A card, to be encoded."""
    return (
        card.name,
        card.session,
        card.incarnation,
        card.group,
        card.role,
        card.url,
        card.peer_url,
        card.ready,
        card.draining,
        card.capacity,
    )


def card_of(packed: CardPacked) -> SessionCard:
    """As the runtime knows it."""
    return SessionCard(
        packed.name,
        packed.session,
        packed.incarnation,
        packed.group,
        packed.role,
        packed.url,
        packed.peer_url,
        packed.ready,
        packed.draining,
        packed.capacity,
    )


def _row_packed(row: HandoffRow | None) -> object:
    if row is None:
        return None
    seen = row.voter
    voter = (seen.promised, tip_packed(seen.tip), seen.committed, None, 0, seen.purged)
    return (row.task, voter, row.owner, row.released, row.terminal, row.state, row.task_state, row.status_at)


def _query_packed(asked: TaskQuery) -> object:
    query, caller, body_max = asked
    return (
        caller.tenant,
        caller.principal,
        query.context_id,
        query.task_state,
        query.status_after_ms,
        query.page_size,
        query.page_after,
        body_max,
    )


def _query(packed: QueryPacked) -> TaskQuery:
    query = ListQuery(
        packed.context_id,
        packed.task_state,
        packed.status_after_ms,
        max(1, min(packed.page_size, 100)),
        _cursor(packed.page_after),
    )
    return TaskQuery(query, Caller(packed.tenant, packed.principal), packed.body_max)


def _page(packed: PagePacked) -> Page:
    return [view.record() for view in packed.views], packed.total, _cursor(packed.next_after)


def _cursor(packed: CursorPacked | None) -> tuple[int, str] | None:
    return None if packed is None else (packed.status_at, packed.task)


ROW: Codec[HandoffRow | None] = Codec(
    HandoffPacked | None, _row_packed, lambda packed: None if packed is None else packed.record()
)
ROWS: Codec[list[HandoffRow]] = Codec(
    Annotated[list[HandoffPacked], Meta(max_length=ROWS_MAX)],
    lambda rows: [_row_packed(row) for row in rows],
    lambda packed: [row.record() for row in packed],
)
VIEW: Codec[TaskView | None] = Codec(
    ViewPacked | None,
    lambda view: None if view is None else view_packed(view),
    lambda packed: None if packed is None else packed.record(),
)
KEYS: Codec[list[KeyRow]] = Codec(
    list[KeyPacked],
    lambda keys: [key_packed(key) for key in keys],
    lambda packed: [key.record() for key in packed],
)
QUERY: Codec[TaskQuery] = Codec(QueryPacked, _query_packed, _query)
PAGE: Codec[Page] = Codec(
    PagePacked, lambda page: ([view_packed(view) for view in page[0]], page[1], page[2]), _page
)
