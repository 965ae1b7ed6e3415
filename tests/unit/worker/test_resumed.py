"""The agent's side and the rules of reconciliation together: killed after any event, the task ends as if not.

What a run sends is fed to ``bridge`` as a sidecar would feed it, cut off after every possible event, and a second
run starts from the journalled cut. The client must see each row once, and covered work must not be done again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, TaskState
from google.protobuf import json_format

from bridge.a2a.extension import RUN, run_metadata, take
from bridge.a2a.fold import TaskFold
from bridge.a2a.outcomes import Finish, Show, Step
from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from sidecar.worker import DurableRun, durable_run

Json = dict[str, Any]
Work = Callable[[DurableRun, list[int]], Awaitable[None]]
UNITS = 7
FIELDS = {"Task": "task", "TaskStatusUpdateEvent": "status_update", "TaskArtifactUpdateEvent": "artifact_update"}


class Killed(Exception):
    pass


class Wire(EventQueue):
    """Hands events on as JSON until it is cut."""

    def __init__(self, deliver: Callable[[Json], None], events_max: int) -> None:
        self._deliver = deliver
        self._left = events_max

    async def enqueue_event(self, event: Any) -> None:
        if self._left == 0:
            raise Killed
        self._left -= 1
        response = StreamResponse(**{FIELDS[type(event).__name__]: event})
        self._deliver(json_format.MessageToDict(response))


class Sidecar:
    """As much of one as a run can see, and the client behind it."""

    def __init__(self) -> None:
        self.shown = Shown()
        self.client = TaskFold()
        self.events = 0
        self.attempts = 0
        self.checkpoint: Any = None

    async def run(self, work: Work, done: list[int], events_max: int = 10_000) -> None:
        self.attempts += 1
        run = Run(self.shown, fresh=self.attempts == 1)

        def deliver(event: Json) -> None:
            marks, event = take(event, activated=False)
            assert "urn:dhp" not in repr(event)
            for outcome in run.receive(event, marks):
                if isinstance(outcome, Show | Finish):
                    self.client.apply(outcome.event)
                    self.events += 1
                elif isinstance(outcome, Step):
                    self.checkpoint = outcome.state

        resume: Json = {"receipts": [], "delivered": {}}
        if self.checkpoint is not None:
            resume["checkpoint"] = self.checkpoint
        told = run_metadata(self.attempts, self.attempts, "t", resume if self.attempts > 1 else None)
        message = Message(role=Role.ROLE_USER, message_id="m", parts=[Part(text="go")])
        message.metadata.update({RUN: told})
        context = RequestContext(
            ServerCallContext(), SendMessageRequest(message=message), task_id="t", context_id="c"
        )
        try:
            await work(await durable_run(context, Wire(deliver, events_max)), done)
        except Killed:
            return


async def riding(run: DurableRun, done: list[int]) -> None:
    """Each checkpoint on the chunk that it covers; progress before it."""
    start = run.last_checkpoint or 0
    if not start:
        await run.start_work()
    for unit in range(start, UNITS):
        done.append(unit)
        if unit % 3 == 2:
            said = run.new_agent_message([Part(text=f"{unit + 1} of {UNITS}")])
            await run.update_status(TaskState.TASK_STATE_WORKING, said)
        chunk = [Part(text=f"row {unit}\n")]
        last = unit == UNITS - 1
        await run.add_artifact(chunk, "rows", name="rows", append=unit > 0, last_chunk=last, checkpoint=unit + 1)
    await run.add_artifact([Part(text="whole")], "file", last_chunk=True)
    await run.complete()


async def lone(run: DurableRun, done: list[int]) -> None:
    """Two artifacts a unit, then a checkpoint by itself."""
    start = run.last_checkpoint or 0
    for unit in range(start, UNITS):
        done.append(unit)
        await run.add_artifact([Part(text=f"row {unit}\n")], "rows", append=unit > 0)
        await run.add_artifact([Part(text=f"note {unit}\n")], "notes", append=unit > 0)
        await run.checkpoint(unit + 1)
    await run.complete()


def told(task: Json) -> Json:
    """A task without what differs from run to run."""
    artifacts = {a["artifactId"]: "".join(p["text"] for p in a["parts"]) for a in task["artifacts"]}
    messages = [m["parts"][0]["text"] for m in task["history"]]
    return {"artifacts": artifacts, "messages": messages, "state": task["status"]["state"]}


@pytest.mark.parametrize("work", [riding, lone])
async def test_killed_after_any_event_the_task_ends_as_if_it_had_not_been(work: Work) -> None:
    calm, once = Sidecar(), list[int]()
    await calm.run(work, once)
    assert once == list(range(UNITS))
    sent = calm.events + (UNITS if work is lone else 0)
    for events_max in range(1, sent):
        sidecar, done = Sidecar(), list[int]()
        await sidecar.run(work, done, events_max)
        covered = sidecar.checkpoint or 0
        before = len(done)
        await sidecar.run(work, done)
        assert told(sidecar.client.task()) == told(calm.client.task()), events_max
        assert sidecar.events == calm.events, events_max
        assert done[before:] == list(range(int(covered), UNITS)), events_max


async def test_three_kills_in_a_row_leave_no_trace() -> None:
    calm = Sidecar()
    await calm.run(riding, [])
    for first in range(1, calm.events):
        for second in (1, 2, 4):
            sidecar = Sidecar()
            for events_max in (first, second, 3, 10_000):
                if sidecar.shown.finished is None:
                    await sidecar.run(riding, [], events_max)
            assert told(sidecar.client.task()) == told(calm.client.task()), (first, second)
            assert sidecar.events == calm.events
