"""The small protocols that ``main`` wires together.

The runtime calls agents, voters and metrics only through these, so each can be replaced by a fake in a test and by
another deployment later (a peer sidecar is a Voter just as the SQL store is). Nothing here does anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bridge.journal import Entry, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused
from bridge.session import Renewal
from sidecar.records import (
    Caller,
    Frame,
    Json,
    KeyRow,
    ListPage,
    ListQuery,
    Riders,
    SendCall,
    Sent,
    SessionCard,
    TaskView,
)


class Voter(Protocol):
    """Anything that keeps journals and answers only after its disk write.

    Calls are queued in the order in which they are made and one writer commits them: a claim and an append issued
    back to back share one commit; awaiting is only for the answer.
    """

    async def claim(self, claim: Claim) -> Granted | Refused: ...

    async def dispatch(self, append: Append, view: TaskView, keys: Sequence[KeyRow] = ()) -> Appended | Refused:
        """Claim a journal that does not exist yet and write its first entries, in one transaction.

        Refused where a journal of that task exists, whoever owns it.
        """
        ...

    def append_soon(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
        *,
        may_wait: bool = False,
    ) -> asyncio.Future[Appended | Refused]:
        """``append`` for a caller that pipelines: queued before it returns.

        With ``may_wait`` nobody needs it at once: it may wait a moment to share a disk write with others.
        """
        ...

    async def append(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
    ) -> Appended | Refused:
        """Continue a journal.

        Args:
            append: the entries and where they go.
            view: the row for reads, if it changed.
            keys: message keys that these entries establish or answer (inserted or replaced).
            inbox: ids of inbox rows that these entries take in: deleted in the same transaction.

        Raises:
            StoreError: nothing of it was written, or nobody knows; the same append may be offered again.
        """
        ...

    async def read(self, task: str, after: int = 0, limit: int = 1000) -> list[Entry]: ...


class RemoteVoter(Protocol):
    """One of several voters: this sidecar's own file, or a peer's.

    Requests reach it in the order in which they were made, and it takes them in that order: a proof of ownership
    rests on a renewal that went before it. An answer leaves after its disk write. Where there is none (no
    connection, no answer in time, a disk that cannot be written) they raise ``StoreError``: the outcome is
    unknown, which is not a refusal.

    Attributes:
        voter: id of the voter's file; a file with another id refuses what is meant for this one.
    """

    @property
    def voter(self) -> str: ...

    async def pre_vote(self, claim: Claim) -> Granted | Refused:
        """What it would answer to this claim; changes nothing."""
        ...

    async def claim(self, claim: Claim) -> Granted | Refused: ...

    async def read_prefix(self, task: str, tip: Tip, after: int) -> tuple[Entry, ...] | None:
        """A chunk of its journal that ends in exactly this tip, committed or not; None where it has it no more."""
        ...

    def append_soon(self, append: Append, riders: Riders) -> asyncio.Future[Appended | Refused]:
        """Queued before it returns; what a failed future leaves unknown may be sent again."""
        ...

    async def renew(self, renewal: Renewal, card: SessionCard) -> bool:
        """A session lives; whether this voter stands by it."""
        ...

    async def release(self, renewal: Renewal) -> None:
        """A session let go of everything."""
        ...


class Clock(Protocol):
    """Time as the runtime needs it; a fake one in tests.

    Attributes:
        boot: the host's boot id; readings of ``monotonic`` compare within one boot only.
    """

    @property
    def boot(self) -> str: ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970 UTC. For people only: no rule reads it."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump and go on while the machine sleeps (CLOCK_BOOTTIME)."""
        ...


class Probe(StrEnum):
    """What an agent's answer, or the lack of one, shows. Only an answered request proves life."""

    ALIVE = "alive"
    REFUSED = "refused"
    HANGING = "hanging"


class EndKind(StrEnum):
    """How a request to the agent ended."""

    CLEAN = "clean"  # the stream ended as HTTP ends one
    BROKEN = "broken"  # the connection broke in the middle
    REFUSED = "refused"  # no connection: the agent saw nothing of the request
    HTTP_FAILURE = "http_failure"  # a status other than 200
    RPC_FAILURE = "rpc_failure"  # a JSON-RPC error object
    MALFORMED = "malformed"  # bytes that are not A2A
    TOO_LARGE = "too_large"  # one event above the limit
    CLOSED = "closed"  # we closed it


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a request to the agent ended.

    Attributes:
        kind: see ``EndKind``.
        detail: for people and logs.
        status: the HTTP status where there was one.
        error: the JSON-RPC error object of an ``RPC_FAILURE``.
    """

    kind: EndKind
    detail: str = ""
    status: int = 0
    error: Json | None = None


class AgentRun(Protocol):
    """One request to the agent: a new run, a follow-up, or a subscription to a living run."""

    end: RunEnd | None

    def batches(self) -> AsyncIterator[list[Json]]:
        """StreamResponse objects in order of arrival, batched as they arrived; afterwards ``end`` is set.

        Never raises for anything that the agent does.
        """
        ...

    async def close(self) -> None: ...


class AgentLink(Protocol):
    """The agent beside this sidecar, seen as an ordinary A2A client sees it.

    Attributes:
        endpoint: its address, as journalled with a run: who has the same one can reach the same run.
        card: the last agent card that was read.
        ready: the card could be read when last tried.
        reason: why not, for people.
        durable: the agent declares the durability extension.
    """

    @property
    def endpoint(self) -> str: ...

    @property
    def durable(self) -> bool: ...

    card: Json | None
    ready: bool
    reason: str

    async def start(self, params: Json, headers: Mapping[str, str]) -> AgentRun: ...

    async def subscribe(self, agent_task: str) -> AgentRun: ...

    async def get(self, agent_task: str) -> Json | None: ...

    async def cancel(self, agent_task: str) -> Json | None: ...

    async def probe(self) -> Probe: ...

    def hung(self) -> None:
        """Count the agent as lost, although it takes connections, until it answers again."""
        ...


class Observer(Protocol):
    """Counts and times by name; ``ops`` turns them into metrics."""

    def count(self, name: str, value: int = 1, **labels: str) -> None: ...

    def observe(self, name: str, seconds: float, **labels: str) -> None: ...


class Tasks(Protocol):
    """What a front may ask of the runtime. Transport neutral; refusals are ``RpcError``."""

    @property
    def stale(self) -> bool:
        """Whether what is read now may be behind: for a lease nobody has confirmed that nothing was missed."""
        ...

    async def send(self, call: SendCall) -> Sent:
        """Journal a message and see that it runs. Returns before the agent has answered."""
        ...

    def tail(self, task_id: str, after: int, *, past_questions: bool = False) -> AsyncIterator[list[Frame]]:
        """Committed events after a position, in batches, for as long as the caller iterates.

        A question (input-required) ends it unless ``past_questions``: what a message leads to ends there, a
        subscription goes on to the terminal.

        The iterator ends after the frame that ends the stream. Raises RpcError where the handoff ended with an
        error instead of a task.
        """
        ...

    async def answered(self, sent: Sent) -> None:
        """The response to this message was written out (not waited for)."""
        ...

    async def get(self, task_id: str, caller: Caller, history_length: int | None = None) -> bytes:
        """The Task as JSON text."""
        ...

    async def snapshot(self, task_id: str, caller: Caller) -> tuple[int, bytes]:
        """(seq, Task as JSON text) to subscribe from: one read; ``tail(task_id, seq)`` continues it without gap.

        Refused where the task is terminal: there is nothing to follow.
        """
        ...

    async def list(self, query: ListQuery, caller: Caller) -> ListPage: ...

    async def cancel(self, task_id: str, caller: Caller, params: Json) -> bytes: ...
