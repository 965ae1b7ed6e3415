"""The runtime's face towards the fronts: ``ports.Tasks``.

One method per thing that a client can want; each is carried out by the part that knows how.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bridge.a2a.dialect import CANCELED, TERMINAL_STATES
from bridge.a2a.faults import A2AFault
from sidecar.failpoints import reach
from sidecar.records import Caller, Frame, Json, ListPage, ListQuery, SendCall, Sent
from sidecar.runtime.endings import has_ended
from sidecar.runtime.intake import Intake
from sidecar.runtime.membership import Membership
from sidecar.runtime.node import Node
from sidecar.runtime.ownership import Ownership
from sidecar.runtime.reading import Reading

CANCEL_ELSEWHERE_S = 5.0
MOMENT_S = 0.02
REMEMBERED_S = 1.0


class RuntimeTasks:
    """What a front may ask.

    Args:
        node: what this sidecar holds in common.
        ownership: claims handoffs and drives the ones that are owned here.
        membership: says whether others may have gone on without this sidecar.
    """

    def __init__(self, node: Node, ownership: Ownership, membership: Membership) -> None:
        self._node, self._ownership, self._membership = node, ownership, membership
        self._reading = Reading(node, ownership)
        self._intake = Intake(node, ownership, self._reading)

    @property
    def stale(self) -> bool:
        """Whether what is read now may be behind."""
        return self._membership.lapsed

    async def send(self, call: SendCall) -> Sent:
        """Journal a message and see that it runs; while draining, elsewhere."""
        if self._node.draining and not await self._node.others_ready():
            raise A2AFault("Internal", "This sidecar is shutting down: send the message again, to another one.")
        sent = await self._intake.send(call)
        reach("accept.before_answer")
        return sent

    def tail(self, task_id: str, after: int, *, past_questions: bool = False) -> AsyncIterator[list[Frame]]:
        """Committed events after a position."""
        return self._node.hub.tail(task_id, after, past_questions=past_questions)

    async def answered(self, sent: Sent) -> None:
        """The response to this message was written out.

        Nobody waits for the record of it: all those of one moment are written together, in one commit.
        Until then this process remembers; if it dies, a repeat of the message attaches to the same answer.
        """
        loop, told = asyncio.get_running_loop(), self._intake.told
        told.add(sent.key)
        try:
            await asyncio.sleep(MOMENT_S - loop.time() % MOMENT_S)
            await self._ownership.answered(sent)
        finally:
            loop.call_later(REMEMBERED_S, told.discard, sent.key)

    async def get(self, task_id: str, caller: Caller, history_length: int | None = None) -> bytes:
        """The Task as JSON text."""
        return await self._reading.get(task_id, caller, history_length)

    async def snapshot(self, task_id: str, caller: Caller) -> tuple[int, bytes]:
        """(seq, Task) to subscribe from.

        Raises:
            A2AFault: unknown, or terminal: there is nothing to subscribe to.
        """
        seq, text, state = await self._reading.snapshot(task_id, caller)
        if state in TERMINAL_STATES:
            raise has_ended(task_id, state)
        return seq, text

    async def list(self, query: ListQuery, caller: Caller) -> ListPage:
        """One page of the caller's tasks."""
        return await self._reading.list(query, caller)

    async def cancel(self, task_id: str, caller: Caller, params: Json) -> bytes:
        """Cancel, and return the Task as it ended."""
        view = await self._reading.visible(task_id, caller)
        if view.finished is not None:
            raise A2AFault("TaskNotCancelable", f"Task {task_id} is {view.task_state}", {"taskId": task_id})
        # From before the owner is told: it may have ended the task by the time that this sidecar looks.
        row = await self._node.store.handoff_row(task_id)
        after = row.voter.tip.seq if row else 0
        body = {"by": caller.principal, "metadata": params.get("metadata") or {}}
        if not await self._ownership.cancel(task_id, body):
            await self._ended_elsewhere(task_id, after)
        _, task, state = await self._reading.snapshot(task_id, caller)
        if state != CANCELED:
            raise A2AFault("TaskNotCancelable", f"Task {task_id} is {state}", {"taskId": task_id})
        return task

    async def _ended_elsewhere(self, task_id: str, after: int) -> None:
        try:
            async with asyncio.timeout(CANCEL_ELSEWHERE_S):
                async for batch in self._node.hub.tail(task_id, after, past_questions=True):
                    if any(frame.ends for frame in batch):
                        return
        except TimeoutError:
            raise A2AFault("Internal", f"Task {task_id}: its owner has not canceled it yet; ask again.") from None
