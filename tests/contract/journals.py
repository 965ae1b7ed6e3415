"""Journals for the store's tests: short ones that are right, to be bent by each test."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis, tip_of
from bridge.quorum import Append
from sidecar.records import TaskView

BODY = b'{"agent":"a","event":{"artifactUpdate":{"taskId":"t","artifact":{"parts":[{"text":"hello"}]}}}}'


def fence(n: int, session: str) -> Fence:
    return Fence(n, session)


def events(count: int, kind: Kind = Kind.EVENT, body: bytes = BODY) -> list[Draft]:
    return [Draft(kind, body)] * count


def beginning(task: str, by: Fence, more: Sequence[Draft] = ()) -> Append:
    """The first entries of a journal."""
    tip = genesis(task)
    drafts = [Draft(Kind.DISPATCHED, b'{"task":"x"}'), Draft(Kind.CLAIMED, b'{"attempt":1}'), *more]
    return Append(task, by, 0, tip.hash, chain(tip, by, 1, drafts), 0)


def after(append: Append) -> Tip:
    """Where a journal ends after an append."""
    return tip_of(append.task, append.entries)


def following(append: Append, by: Fence, drafts: Sequence[Draft]) -> Append:
    """An append that continues another one."""
    tip = after(append)
    return Append(append.task, by, tip.seq, tip.hash, chain(tip, by, 2, drafts), tip.seq)


def at(task: str, tip: Tip, by: Fence, drafts: Sequence[Draft]) -> Append:
    """An append behind a tip."""
    return Append(task, by, tip.seq, tip.hash, chain(tip, by, 2, drafts), tip.seq)


def bodies(entries: Sequence[Entry]) -> list[bytes | None]:
    return [entry.body for entry in entries]


def view_of(task: str, **changes: object) -> TaskView:
    """A row for reads."""
    fields: dict[str, object] = {
        "task_id": task, "tenant": "", "principal": "anonymous", "context_id": "c", "state": "running",
        "task_state": "TASK_STATE_WORKING", "status_at": 1, "listed": True, "finished": None,
    }  # fmt: skip
    return TaskView(**(fields | changes))  # type: ignore[arg-type]
