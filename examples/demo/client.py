"""The client of the demo: the SDK's own, unmodified, and what it saw.

It is told one address and knows of no sidecar, no attempt and no takeover. What it saw is kept as it came, with
the time at which it came, and put together as the specification says (append or replace): a repetition or a gap
would show here. This file must not repair anything.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from a2a.client import create_client
from a2a.types import (
    Artifact,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)


@dataclass(slots=True)
class Seen:
    """What one client saw of one task.

    Attributes:
        times: monotonic arrival of each event.
        task_id: as the client knows it.
        state: the last one seen.
        texts: artifact name to its text so far.
        files: artifact name to its bytes so far.
        names: artifact id to its name.
        chunks: artifact name to the number of chunks that carried something.
        replaced: artifact chunks that replaced content instead of adding to it.
    """

    times: list[float] = field(default_factory=list)
    task_id: str = ""
    state: int = TaskState.TASK_STATE_UNSPECIFIED
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, int] = field(default_factory=dict)
    replaced: int = 0

    @property
    def completed(self) -> bool:
        """Whether the task ended well."""
        return self.state == TaskState.TASK_STATE_COMPLETED

    def after(self, moment: float) -> float | None:
        """Arrival of the first event after a moment."""
        return next((at for at in self.times if at > moment), None)

    def longest_silence(self) -> float:
        """Seconds between the two neighbouring events that lie farthest apart."""
        return max((b - a for a, b in zip(self.times, self.times[1:], strict=False)), default=0.0)

    def take(self, event: StreamResponse) -> None:
        """Fold one event in."""
        self.times.append(time.monotonic())
        kind = event.WhichOneof("payload")
        if kind == "task":
            self.task_id, self.state = event.task.id, event.task.status.state
            for artifact in event.task.artifacts:
                self._put(artifact, append=False)
        elif kind == "status_update":
            self.task_id, self.state = event.status_update.task_id, event.status_update.status.state
        elif kind == "artifact_update":
            self._put(event.artifact_update.artifact, append=event.artifact_update.append)

    def _put(self, artifact: Artifact, *, append: bool) -> None:
        text = "".join(part.text for part in artifact.parts)
        raw = b"".join(part.raw for part in artifact.parts)
        name = self.names.setdefault(artifact.artifact_id, artifact.name)
        if not append:
            self.replaced += name in self.texts
            self.texts[name], self.files[name] = "", b""
        self.texts[name] = self.texts.get(name, "") + text
        self.files[name] = self.files.get(name, b"") + raw
        self.chunks[name] = self.chunks.get(name, 0) + bool(text or raw)


async def stream(url: str, text: str, seen: Seen, on_event: Callable[[], None] = lambda: None) -> None:
    """Send one message and follow its stream to the end.

    Args:
        url: where the client believes the agent to be.
        text: the message.
        seen: filled as events come.
        on_event: called after each.
    """
    client = await create_client(url)
    try:
        message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text)])
        async for event in client.send_message(SendMessageRequest(message=message)):
            seen.take(event)
            on_event()
    finally:
        await client.close()


async def get_task(url: str, task_id: str) -> Task:
    """What a client that only polls is told."""
    client = await create_client(url)
    try:
        return await client.get_task(GetTaskRequest(id=task_id))
    finally:
        await client.close()


def task_text(task: Task, name: str) -> str:
    """Text of a task's artifact of that name."""
    return "".join(part.text for artifact in task.artifacts if artifact.name == name for part in artifact.parts)
