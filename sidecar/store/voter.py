"""This store as a voter: claims and appends as conditional transactions.

``bridge.quorum`` decides on rows read in the same transaction; what it decides is written in that transaction, and
the answer leaves after the commit. So a stale owner's entry can never slip between the check of its fence and the
write. With one SQL voter what is written is committed; one of several (``localvoter``) is told what is.

This file must not contain a rule. The failure it prevents: ownership and journal changing in two commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from bridge.journal import Entry
from bridge.quorum import (
    Append,
    Appended,
    AppendPlan,
    Claim,
    Granted,
    Refused,
    VoterView,
    decide_append,
    decide_claim,
    decide_dispatch,
)
from sidecar.records import KeyRow, TaskView
from sidecar.store.hosttime import now_ms
from sidecar.store.rows import Rows
from sidecar.store.writer import OPERATION_BYTES, Writer

T = TypeVar("T")

HolderBlocks = Callable[[str, str], bool]
"""Whether a session (first) stands in the way of another's claim (second). Called by the writer, in the
transaction."""


class SqlVoter:
    """A ``ports.Voter`` over this process's writer.

    Args:
        writer: commits the operations.
        read: reads committed entries.
        holder_blocks: whether the session that owns a handoff keeps others from it.
        alone: it is the only voter: what it has written is committed. If not, the owner says what is.
    """

    def __init__(
        self,
        writer: Writer,
        read: Callable[[str, int, int], Awaitable[list[Entry]]],
        holder_blocks: HolderBlocks,
        *,
        alone: bool = True,
    ) -> None:
        self._writer = writer
        self._read = read
        self._holder_blocks = holder_blocks
        voters = 1 if alone else 2
        self._decide = partial(decide_append, voters=voters)
        self._decide_dispatch = partial(decide_dispatch, voters=voters)

    def claim(self, claim: Claim) -> Coroutine[Any, Any, Granted | Refused]:
        """Ask for a handoff; queued before this returns, awaiting is for the answer.

        Raises:
            StoreError: nothing is known to have been written; ask again.
        """
        future: asyncio.Future[Granted | Refused] = asyncio.get_running_loop().create_future()
        self._writer.submit(Claiming(future, claim, self._holder_blocks))
        return answer(future)

    def append(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
    ) -> Coroutine[Any, Any, Appended | Refused]:
        """Continue a journal; queued before this returns, awaiting is for the answer. See ``ports.Voter``."""
        return answer(self.append_soon(append, view, keys, inbox))

    def dispatch(
        self, append: Append, view: TaskView, keys: Sequence[KeyRow] = ()
    ) -> Coroutine[Any, Any, Appended | Refused]:
        """Claim a journal that does not exist yet and write its first entries, in one transaction."""
        future: asyncio.Future[Appended | Refused] = asyncio.get_running_loop().create_future()
        self._writer.submit(_Append(future, append, view, keys, (), self._decide_dispatch))
        return answer(future)

    def append_soon(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
        *,
        may_wait: bool = False,
    ) -> asyncio.Future[Appended | Refused]:
        """``append`` for callers that pipeline: a future costs a tenth of a task."""
        future: asyncio.Future[Appended | Refused] = asyncio.get_running_loop().create_future()
        self._writer.submit(_Append(future, append, view, keys, inbox, self._decide), may_wait=may_wait)
        return future

    async def read(self, task: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Committed entries of a journal after a position."""
        return await self._read(task, after, limit)


def size_of(append: Append) -> int:
    """Bytes that an append keeps in memory while it is queued."""
    return OPERATION_BYTES + sum([256 + len(entry.body or b"") for entry in append.entries])


async def answer(future: asyncio.Future[T]) -> T:
    """A future as a coroutine."""
    return await future


class Claiming:
    """The writer's operation that answers a claim, or, as a pre-vote, says what it would answer.

    Args:
        future: gets the answer.
        claim: what is asked.
        holder_blocks: whether the last owner's session stands in the way.
        ask: only ask: nothing is changed.
    """

    __slots__ = ("_ask", "_claim", "_holder_blocks", "future", "size")

    def __init__(
        self,
        future: asyncio.Future[Granted | Refused],
        claim: Claim,
        holder_blocks: HolderBlocks,
        *,
        ask: bool = False,
    ) -> None:
        self.future = future
        self.size = OPERATION_BYTES
        self._claim, self._holder_blocks, self._ask = claim, holder_blocks, ask

    def run(self, rows: Rows) -> Granted | Refused:
        """Decide on the voter's row."""
        claim = self._claim
        held = rows.held(claim.task)
        holder = held.view.tip.fence.session
        blocks = (
            holder not in ("", claim.candidate)
            and not held.gist.released
            and self._holder_blocks(holder, claim.candidate)
        )
        decision = decide_claim(held.view, claim, holder_blocks=blocks, now_ms=now_ms())
        if isinstance(decision, Refused):
            return decision
        view, granted = decision
        if not self._ask:
            rows.put(held, view)
        return granted


class _Append:
    __slots__ = ("_append", "_decide", "_inbox", "_keys", "_view", "future", "size")

    def __init__(
        self,
        future: asyncio.Future[Appended | Refused],
        append: Append,
        view: TaskView | None,
        keys: Sequence[KeyRow],
        inbox: Sequence[int],
        decide: Callable[..., tuple[VoterView, AppendPlan, Appended] | Refused],
    ) -> None:
        self._decide = decide
        self.future = future
        self.size = size_of(append)
        self._append = append
        self._view = view
        self._keys = keys
        self._inbox = inbox

    def run(self, rows: Rows) -> Appended | Refused:
        append = self._append
        held = rows.held(append.task)
        decision = self._decide(held.view, append, lambda seq: rows.stored_hash(held, seq))
        if isinstance(decision, Refused):
            return decision
        view, plan, appended = decision
        rows.put(held, view, plan.add, plan.cut_from)
        if self._view is not None:
            rows.show(held, self._view)
        rows.key(self._keys)
        rows.inbox_done(self._inbox)
        return appended
