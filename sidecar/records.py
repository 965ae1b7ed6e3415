"""What fronts, runtime and stores hand to each other about tasks: plain records.

This file must not do anything. The failure it prevents: two layers that mean different things by one field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. Part of every key: another caller's task does not exist."""

    tenant: str = ""
    principal: str = "anonymous"


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Which dispatch a client's message led to.

    Attributes:
        key_hash: of tenant, principal, task and messageId.
        generation: counts dispatches under one key, from 0.
        task_id: the task it became (for follow-ups: the task it belongs to).
        intent: handoff id, or the digest of a follow-up's content.
        answered: its response was written out; a repeat is a new message.
    """

    key_hash: str
    generation: int
    task_id: str
    intent: str
    answered: bool


@dataclass(frozen=True, slots=True)
class TaskView:
    """The row that reads and lists use: a view of the journal, written in the same transaction.

    Attributes:
        task_id, tenant, principal, context_id: whose and which.
        state: the handoff's state (``bridge.handoff.State``).
        task_state: A2A's state of the task, "" before the first event.
        status_at: the status timestamp in milliseconds since 1970 UTC; lists sort by it.
        listed: false for replies and for dispatches that no client has seen.
        finished: the final Task as JSON text, once terminal.
    """

    task_id: str
    tenant: str
    principal: str
    context_id: str
    state: str
    task_state: str
    status_at: int
    listed: bool
    finished: bytes | None = None


@dataclass(frozen=True, slots=True)
class Riders:
    """What travels to a voter with an append and is no part of the journal.

    Attributes:
        view: the row for reads. A voter shows it only once it knows ``view_seq`` to be committed.
        view_seq: journal position that the view was made at.
        keys: message keys that the entries establish or answer; a voter has them at once.
        inbox: ids of inbox rows that the entries take in; of the sender's own file, another voter ignores them.
    """

    view: TaskView | None = None
    view_seq: int = 0
    keys: tuple[KeyRow, ...] = ()
    inbox: tuple[int, ...] = ()


NO_RIDERS = Riders()


@dataclass(frozen=True, slots=True)
class SessionCard:
    """What a sidecar says of itself with every renewal.

    Attributes:
        name: the sidecar's, in every life.
        session: boot nonce of this life.
        incarnation: which life; grows with each.
        group: agents that can continue each other's tasks.
        role: voter, standby or gateway.
        url: where A2A clients reach it.
        peer_url: where other sidecars reach it.
        ready: its agent can be used.
        draining: it is leaving and takes no new work.
        capacity: how many more handoffs it would take.
    """

    name: str
    session: str
    incarnation: int
    group: str = ""
    role: str = ""
    url: str = ""
    peer_url: str = ""
    ready: bool = False
    draining: bool = False
    capacity: int = 0


class Frame(NamedTuple):
    """One journalled event as clients see it.

    Attributes:
        seq: journal position: the SSE id.
        event: StreamResponse as JSON text.
        ends: a stream closes after it (terminal, or input is required).
    """

    seq: int
    event: bytes
    ends: bool


@dataclass(frozen=True, slots=True)
class SendCall:
    """A client's message.

    Attributes:
        params: SendMessageRequest as it came (message, configuration, metadata).
        caller: who sent it.
        extensions: URIs that the client activated.
        headers: end-to-end headers that the agent should see.
        size: bytes of the request that brought it.
    """

    params: Json
    caller: Caller
    extensions: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """An accepted message: follow ``tail(task_id, after)`` for what it leads to.

    Attributes:
        task_id: the public task id.
        after: journal position before the first event that belongs to this message.
        attached: a repeat of a message that is still unanswered.
        message_id, key: to report with ``answered`` once the response was written out.
    """

    task_id: str
    after: int
    attached: bool
    message_id: str
    key: KeyRow


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Filters of ListTasks, already checked.

    Attributes:
        page_size: 1 to 100.
        page_after: cursor (status_at, task_id) of the last task of the page before, if any.
    """

    context_id: str | None = None
    task_state: str | None = None
    status_after_ms: int | None = None
    page_size: int = 50
    page_after: tuple[int, str] | None = None
    history_length: int | None = None
    include_artifacts: bool = False


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of tasks, newest status first.

    Attributes:
        tasks: Task objects.
        total: how many match in all.
        next_after: cursor for the next page, None on the last.
    """

    tasks: list[Json]
    total: int
    next_after: tuple[int, str] | None
