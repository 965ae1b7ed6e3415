"""A voter in memory, driven by the same rules: the SQL voter must not differ from it in any answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from bridge.journal import Entry, Kind
from bridge.quorum import (
    Append,
    Appended,
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


class MemoryVoter:
    """Implements ``ports.Voter``; nothing survives it."""

    def __init__(self, holder_blocks: Callable[[str, str], bool]) -> None:
        self._holder_blocks = holder_blocks
        self._views: dict[str, VoterView] = {}
        self._journals: dict[str, list[Entry]] = {}
        self._released: set[str] = set()

    async def claim(self, claim: Claim) -> Granted | Refused:
        view = self._views.get(claim.task, VoterView.empty(claim.task))
        holder = view.tip.fence.session
        blocks = (
            holder not in ("", claim.candidate)
            and claim.task not in self._released
            and self._holder_blocks(holder, claim.candidate)
        )
        decision = decide_claim(view, claim, holder_blocks=blocks, now_ms=now_ms())
        if isinstance(decision, Refused):
            return decision
        self._views[claim.task], granted = decision
        return granted

    async def append(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
    ) -> Appended | Refused:
        return self._append(append, decide_append)

    def append_soon(
        self,
        append: Append,
        view: TaskView | None = None,
        keys: Sequence[KeyRow] = (),
        inbox: Sequence[int] = (),
        *,
        may_wait: bool = False,
    ) -> asyncio.Future[Appended | Refused]:
        return asyncio.ensure_future(self.append(append, view, keys, inbox))

    async def dispatch(self, append: Append, view: TaskView, keys: Sequence[KeyRow] = ()) -> Appended | Refused:
        return self._append(append, decide_dispatch)

    async def read(self, task: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        return [entry for entry in self._journals.get(task, []) if entry.seq > after][:limit]

    def _append(self, append: Append, decide: Callable[..., object]) -> Appended | Refused:
        before = self._views.get(append.task, VoterView.empty(append.task))
        journal = self._journals.setdefault(append.task, [])

        def stored_hash(seq: int) -> str | None:
            return journal[seq - 1].hash if 0 < seq <= len(journal) else None

        decision = decide(before, append, stored_hash, voters=1)
        if isinstance(decision, Refused):
            return decision
        assert isinstance(decision, tuple)
        after, plan, appended = decision
        if plan.cut_from is not None:
            del journal[plan.cut_from - 1 :]
        journal.extend(plan.add)
        for entry in plan.add:
            if entry.kind is Kind.ORPHANED:
                self._released.add(append.task)
            elif entry.kind is Kind.CLAIMED:
                self._released.discard(append.task)
        self._views[append.task] = after
        assert isinstance(appended, Appended)
        return appended
