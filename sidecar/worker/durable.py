"""One run of an A2A executor that can be continued elsewhere: the SDK's ``TaskUpdater`` that knows its checkpoint.

Everything an author knows of ``TaskUpdater`` stays; added are ``last_checkpoint``, ``checkpoint``, ``effect`` and
``attempt``. This file turns them into marks on events and must not know how a sidecar journals them. It prevents
two failures: a checkpoint that claims more than what clients got (state rides on the event that it covers), and
bookkeeping that clients see (without a sidecar no mark is sent at all; with one, carriers change nothing).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    Artifact,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf import json_format

from bridge.a2a.extension import CARRIER, CHECKPOINT, CONTINUES, EFFECT, RUN
from sidecar.worker.ledger import DONE, INTENDED, NOT_DONE, UNKNOWN, Receipts, RunInfo, UnknownOutcome, to_wire

T = TypeVar("T")

INTENT_LEAD_S: Final = 0.02
INTENT_TURNS: Final = 200
"""Head start of an intent before its call. A2A has no acknowledgement towards the agent, so the intent is given
turns of the event loop in which the SDK writes it to the socket; from there it survives the agent's death. With
SDK 1.3.0 and tasks in memory 20 turns do, even the first time; the seconds are for task stores on disk."""


async def durable_run(context: RequestContext, event_queue: EventQueue) -> DurableRun:
    """Begin a run: announce the task where it is new and read what a sidecar says about earlier runs.

    Args:
        context: as the executor got it.
        event_queue: as the executor got it.

    Returns:
        The run. Use it where you would use a ``TaskUpdater``.
    """
    message = context.message
    info = RunInfo.parse(_run_metadata(context))
    task = context.current_task
    # A follow-up that names only its task may carry a freshly minted context id: the task's own is right.
    context_id = task.context_id if task else context.context_id or ""
    run = DurableRun(event_queue, context.task_id or "", context_id, info)
    if task is None:
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        await event_queue.enqueue_event(
            Task(
                id=run.task_id, context_id=context_id, status=status, history=[_plain(message)] if message else []
            )
        )
    else:
        status = task.status
        run.know(artifact.artifact_id for artifact in task.artifacts)
    run.begin_from(status)
    return run


class DurableRun(TaskUpdater):
    """A ``TaskUpdater`` whose work outlives its process.

    Attributes:
        last_checkpoint: the state recorded last, by whichever process, or None.
        attempt: 1 for the first run of the task, 2 after the first takeover, ...
        info: everything the sidecar said.
    """

    def __init__(self, event_queue: EventQueue, task_id: str, context_id: str, info: RunInfo) -> None:
        super().__init__(event_queue, task_id, context_id)
        self.info = info
        self.last_checkpoint: Any = info.checkpoint
        self.attempt = info.attempt
        self._receipts = Receipts(info.receipts)
        self._status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        self._sent: dict[str, None] = {}

    @property
    def receipts(self) -> dict[str, Any]:
        """Step to result of every effect that is known to have happened."""
        return self._receipts.results()

    def begin_from(self, status: TaskStatus) -> None:
        """Take the task's present status as this run's: carriers repeat it."""
        self._status = status

    def know(self, artifact_ids: Any) -> None:
        """Take artifacts as already sent by this process, so that the SDK accepts appends to them."""
        self._sent.update(dict.fromkeys(artifact_ids))

    async def update_status(
        self,
        state: TaskState,
        message: Message | None = None,
        timestamp: str | None = None,
        metadata: dict[str, Any] | None = None,
        *,
        checkpoint: Any = None,
    ) -> None:
        """``TaskUpdater.update_status``, optionally with the state that this event completes.

        Args:
            state: the task's new state.
            message: goes with it.
            timestamp: ISO 8601; now if left out.
            metadata: of the event.
            checkpoint: JSON state: with this event everything sent so far is done.
        """
        marks = self._checkpoint_marks(checkpoint)
        await super().update_status(state, message, timestamp, {**(metadata or {}), **marks} or None)
        self._status = TaskStatus(state=state, message=message)

    async def add_artifact(  # noqa: PLR0913, PLR0917 - the SDK's signature
        self,
        parts: list[Part],
        artifact_id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        append: bool | None = None,
        last_chunk: bool | None = None,
        extensions: list[str] | None = None,
        *,
        checkpoint: Any = None,
    ) -> None:
        """``TaskUpdater.add_artifact``, optionally with the state that this chunk completes.

        In a resumed run ``append=True`` continues the artifact that the task already has, so its id must be fixed
        or kept in the state.

        Args:
            parts: the chunk.
            artifact_id: a random one if left out; give one to append later.
            name: of the artifact.
            metadata: of the artifact.
            append: the chunk continues the artifact.
            last_chunk: nothing follows.
            extensions: of the artifact.
            checkpoint: JSON state: with this chunk everything sent so far is done.
        """
        artifact_id = artifact_id or str(uuid.uuid4())
        marks = self._checkpoint_marks(checkpoint)
        if append and artifact_id not in self._sent and self.info.resumed:
            # This process's SDK never saw the artifact and refuses to append to it; the task has it.
            append = False
            marks[CONTINUES] = True
            # Its server keeps what stands in the artifact: whoever asks it for the task must be told as well.
            metadata = {**(metadata or {}), CONTINUES: True}
        await self.event_queue.enqueue_event(
            TaskArtifactUpdateEvent(
                task_id=self.task_id,
                context_id=self.context_id,
                artifact=Artifact(
                    artifact_id=artifact_id, name=name, parts=parts, metadata=metadata, extensions=extensions
                ),
                append=append,
                last_chunk=last_chunk,
                metadata=marks or None,
            )
        )
        self._sent.pop(artifact_id, None)
        self._sent[artifact_id] = None

    async def checkpoint(self, state: Any) -> None:
        """Record that everything sent so far is done, and what a later run needs to go on from here.

        Prefer ``add_artifact(..., checkpoint=state)``: a chunk and its state are then one event that cannot tear.

        Args:
            state: JSON value, kept small: it is written in full each time.

        Raises:
            ValueError: it is not JSON, or would not come back equal.
        """
        if state is None:
            raise ValueError("checkpoint: None says that there is no checkpoint; use {} or []")
        await self._carry(self._checkpoint_marks(state))

    async def effect(
        self,
        step: str,
        call: Callable[[str], Awaitable[T]],
        *,
        key: str | None = None,
        reconcile: Callable[[str], Awaitable[Any]] | None = None,
    ) -> T:
        """Do something that must not happen twice: pay, send, create.

        Args:
            step: name of the effect, unique in the task and the same in every attempt.
            call: does it. Gets the key, to hand on to the other side; returns a JSON value.
            key: how the other side recognises a repeat; made of the task and the step if left out.
            reconcile: asked with the key when an earlier attempt began the effect and left no receipt. Returns the
                result if it happened, ``NOT_DONE`` if it did not (or if the other side enforces the key).

        Returns:
            What ``call`` returned, now or in an earlier attempt.

        Raises:
            UnknownOutcome: begun earlier, no receipt, and no ``reconcile`` to ask.
            ValueError: the result is not JSON.
        """
        if self._receipts.done(step):
            recorded: T = self._receipts.result(step)
            return recorded
        begun = self._receipts.begun(step)
        key = begun or key or f"{self.info.task or self.task_id}/{step}"
        if begun is not None:
            known = await self._ask(step, key, reconcile)
            if known is not NOT_DONE:
                await self._mark({"step": step, "phase": DONE, "key": key, "result": to_wire(known, step)})
                settled: T = known
                return settled
        await self._mark({"step": step, "phase": INTENDED, "key": key})
        if self.info.supervised:
            await _head_start()
        result = await call(key)
        await self._mark({"step": step, "phase": DONE, "key": key, "result": to_wire(result, step)})
        return result

    async def _ask(self, step: str, key: str, reconcile: Callable[[str], Awaitable[Any]] | None) -> Any:
        if reconcile is None:
            await self._mark({"step": step, "phase": UNKNOWN, "key": key})
            raise UnknownOutcome(step, key)
        return await reconcile(key)

    async def _mark(self, mark: dict[str, Any]) -> None:
        self._receipts.record(mark)
        await self._carry({EFFECT: mark})

    def _checkpoint_marks(self, state: Any) -> dict[str, Any]:
        if state is None:
            return {}
        plain = to_wire(state, "checkpoint")
        self.last_checkpoint = plain
        return {CHECKPOINT: plain} if self.info.keeps_checkpoints() else {}

    async def _carry(self, marks: dict[str, Any]) -> None:
        """Send marks on an event that changes nothing, so that no client needs to see it."""
        if not self.info.supervised or not marks:
            return
        event: TaskArtifactUpdateEvent | TaskStatusUpdateEvent
        if self._sent:
            # An empty append leaves the agent's own task as it is; a repeated status would move into its history.
            event = TaskArtifactUpdateEvent(
                task_id=self.task_id,
                context_id=self.context_id,
                artifact=Artifact(artifact_id=next(reversed(self._sent))),
                append=True,
                metadata=marks,
            )
        else:
            event = TaskStatusUpdateEvent(
                task_id=self.task_id,
                context_id=self.context_id,
                status=self._status,
                metadata={**marks, CARRIER: True},
            )
        await self.event_queue.enqueue_event(event)


def _run_metadata(context: RequestContext) -> Any:
    message = context.message
    if message is not None and RUN in message.metadata:
        return json_format.MessageToDict(message.metadata).get(RUN)
    return context.metadata.get(RUN)


def _plain(message: Message) -> Message:
    """The message as the client sent it: what the sidecar added is not part of the task's history."""
    copy = Message()
    copy.CopyFrom(message)
    if RUN in copy.metadata:
        del copy.metadata[RUN]
    return copy


async def _head_start() -> None:
    await asyncio.sleep(INTENT_LEAD_S)
    for _ in range(INTENT_TURNS):
        await asyncio.sleep(0)
