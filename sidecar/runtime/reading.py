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
from sidecar.runtime.ownership import READ_CHUNK, Ownership

COMMIT_WAIT_S = 1.0
FINISHED_KEPT_BYTES = 32 << 20
FOLDS_KEPT = 64


@dataclass(slots=True)
class _Followed:
    fold: TaskFold
    seq: int


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

    async def snapshot(self, task: str, caller: Caller) -> tuple[int, bytes, str]:
        """(seq, Task as JSON text, its state); one read."""
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
            self._keep(task, caller, view.finished)
            row = await self._node.store.handoff_row(task)
            return row.voter.tip.seq if row else 0, view.finished, view.task_state
        followed = await self._follow(task)
        return followed.seq, task_json(followed.fold), followed.fold.state

    async def list(self, query: ListQuery, caller: Caller) -> ListPage:
        """See ``ports.Tasks.list``."""
        views, total, next_after = await self._node.store.list_tasks(query, caller)
        tasks = [await self._listed(view, caller, query) for view in views]
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
            _, text, _ = await self.snapshot(view.task_id, caller)
        task: Json = with_history(parse(text), query.history_length)
        if not query.include_artifacts:
            task = {name: value for name, value in task.items() if name != "artifacts"}
        return task

    async def _follow(self, task: str) -> _Followed:
        """The fold of a task that is owned elsewhere, continued from where it was last read."""
        followed = self._folds.pop(task, None) or _Followed(TaskFold(), 0)
        while True:
            more = await self._node.store.entries(task, followed.seq, READ_CHUNK)
            if more:
                followed = _Followed(refold(more, followed.fold), more[-1].seq)
            if len(more) < READ_CHUNK:
                break
        self._folds[task] = followed
        if len(self._folds) > FOLDS_KEPT:
            self._folds.popitem(last=False)
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
