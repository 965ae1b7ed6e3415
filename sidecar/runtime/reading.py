"""Answering reads: from the owner's fold where this sidecar owns the task, else from the journal.

What is read here was committed: an owner's fold runs ahead of its commits, so a snapshot of it waits for the
position that it shows, and while the store cannot be written shows what is in it instead. A finished Task never
changes and is kept as it will be sent.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from bridge.a2a.faults import A2AFault
from bridge.a2a.fold import TaskFold, task_json, with_history
from bridge.a2a.refold import refold
from bridge.jsontext import parse, write
from sidecar.records import Caller, Json, ListPage, ListQuery, TaskView
from sidecar.runtime.node import Node
from sidecar.runtime.oneatatime import OneAtATime
from sidecar.runtime.ownership import READ_CHUNK, Ownership

COMMIT_WAIT_S = 1.0
FINISHED_KEPT_BYTES = 32 << 20
FOLDS_KEPT = 64
FOLDS_KEPT_BYTES = 32 << 20
READ_BYTES = 1 << 20
LISTED_AT_ONCE_BYTES = 64 << 10


@dataclass(slots=True)
class _Followed:
    fold: TaskFold
    seq: int
    size: int = 0


class Reading:
    """GetTask, ListTasks and the snapshot that a subscription begins with.

    Args:
        node: what this sidecar holds in common.
        ownership: knows which handoffs are owned here.
    """

    def __init__(self, node: Node, ownership: Ownership) -> None:
        self._node, self._ownership = node, ownership
        self._finished: OrderedDict[str, tuple[Caller, bytes]] = OrderedDict()
        self._finished_bytes = 0
        self._folds: OrderedDict[str, _Followed] = OrderedDict()
        self._folds_bytes = 0
        self._folding = OneAtATime()

    async def get(self, task: str, caller: Caller, history_length: int | None) -> bytes:
        """The Task as JSON text; see ``ports.Tasks.get``."""
        kept = self._finished.get(task)
        if kept is not None and kept[0] == caller:
            text = kept[1]
        else:
            _, text, _ = await self.snapshot(task, caller)
        if history_length is None:
            return text
        return write(with_history(parse(text), history_length))

    async def snapshot(self, task: str, caller: Caller, *, keep: bool = True) -> tuple[int, bytes, str]:
        """(seq, Task as JSON text, its state); one read. A finished one is kept if so told."""
        owner = self._ownership.owners.get(task)
        if owner is not None and not owner.journal.lost.is_set() and owner.viewer.fold.exists:
            viewer, seq = owner.viewer, owner.journal.handoff.tip.seq
            if viewer.caller != caller:
                raise not_found(task)
            text, state = task_json(viewer.fold), viewer.fold.state
            if owner.journal.committed >= seq or await _soon(owner.journal.written(seq)):
                return seq, text, state
            # The store cannot be written, or another session owns the task: what was committed is the truth.
        view = await self.visible(task, caller)
        if view.finished is not None:
            if keep:
                self._keep(task, caller, view.finished)
            row = await self._node.store.handoff_row(task)
            return row.voter.tip.seq if row else 0, view.finished, view.task_state
        followed = await self._follow(task)
        return followed.seq, task_json(followed.fold), followed.fold.state

    async def list(self, query: ListQuery, caller: Caller) -> ListPage:
        """See ``ports.Tasks.list``."""
        views, total, next_after = await self._node.store.list_tasks(query, caller, LISTED_AT_ONCE_BYTES)
        tasks = []
        for view in views:
            tasks.append(await self._listed(view, caller, query))
            await asyncio.sleep(0)  # a page of large tasks is no reason for others to wait
        return ListPage(tasks, total, next_after)

    async def visible(self, task: str, caller: Caller) -> TaskView:
        """The row of a task that this caller may see.

        Raises:
            A2AFault: there is none; another caller's task does not exist.
        """
        view = await self._node.store.view(task)
        if view is None or not view.listed or (view.tenant, view.principal) != (caller.tenant, caller.principal):
            raise not_found(task)
        return view

    async def _listed(self, view: TaskView, caller: Caller, query: ListQuery) -> Json:
        text = view.finished
        if text is None:
            _, text, _ = await self.snapshot(view.task_id, caller, keep=False)
        task: Json = with_history(parse(text), query.history_length)
        if not query.include_artifacts:
            task = {name: value for name, value in task.items() if name != "artifacts"}
        return task

    async def _follow(self, task: str) -> _Followed:
        """The fold of a task that is owned elsewhere, continued from where it was last read."""
        async with self._folding(task):  # one copy in memory, however many ask at once
            followed = self._folds.pop(task, None) or _Followed(TaskFold(), 0)
            self._folds_bytes -= followed.size
            while more := await self._node.store.entries(task, followed.seq, READ_CHUNK, READ_BYTES):
                size = followed.size + sum(len(entry.body or b"") for entry in more)
                followed = _Followed(refold(more, followed.fold), more[-1].seq, size)
            self._folds[task] = followed
            self._folds_bytes += followed.size
            while len(self._folds) > FOLDS_KEPT or self._folds_bytes > FOLDS_KEPT_BYTES:
                _, dropped = self._folds.popitem(last=False)
                self._folds_bytes -= dropped.size
            return followed

    def _keep(self, task: str, caller: Caller, text: bytes) -> None:
        if task in self._finished or len(text) > FINISHED_KEPT_BYTES // 8:
            return
        self._finished[task] = (caller, text)
        self._finished_bytes += len(text)
        while self._finished_bytes > FINISHED_KEPT_BYTES:
            _, (_, dropped) = self._finished.popitem(last=False)
            self._finished_bytes -= len(dropped)


async def _soon(written: Coroutine[Any, Any, bool]) -> bool:
    try:
        async with asyncio.timeout(COMMIT_WAIT_S):
            return await written
    except TimeoutError:
        return False


def not_found(task: str) -> A2AFault:
    """A task that does not exist, or not for this caller."""
    return A2AFault("TaskNotFound", f"Task {task} was not found", {"taskId": task})
