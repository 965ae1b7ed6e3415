"""What one client saw of one task: each frame as it came and when, put together as the specification says.

A repetition, a gap or a chunk for an artifact that nobody created would show here: nothing is repaired.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import SendMessageRequest, SubscribeToTaskRequest
from google.protobuf.json_format import MessageToDict, ParseDict

Json = dict[str, Any]


class Frame(NamedTuple):
    """One event: when it came (monotonic), its SSE id (raw recordings only), the StreamResponse."""

    at: float
    id: int | None
    event: Json


class Recording:
    """Follows a stream in the background until it ends.

    Attributes:
        frames: everything that came.
        task_id: "" until the first frame that names it.
        state: the last one seen.
        statuses: every status as (state, text of its message), those in the first Task included.
        texts: artifact id to its text.
        replaced: frames that replaced an artifact which was there.
        error: how the stream ended, None where it ended well.
        rpc_error: a JSON-RPC error object in place of an event (raw recordings).
    """

    def __init__(self, source: AsyncIterator[tuple[int | None, Json]]) -> None:
        self.frames: list[Frame] = []
        self.task_id = self.state = ""
        self.statuses: list[tuple[str, str]] = []
        self.texts: dict[str, str] = {}
        self.replaced = 0
        self.error: Exception | None = None
        self.rpc_error: Json | None = None
        self._following = asyncio.ensure_future(self._follow(source))

    def __repr__(self) -> str:
        return f"<{len(self.frames)} frames of {self.task_id} to {self.state}; {self.error or self.rpc_error}>"

    @property
    def text(self) -> str:
        """The text of the only artifact."""
        assert len(self.texts) <= 1, self.texts
        return next(iter(self.texts.values()), "")

    @property
    def said(self) -> list[str]:
        """The texts of the statuses that had one."""
        return [text for _, text in self.statuses if text]

    @property
    def ids(self) -> list[int]:
        """The SSE ids."""
        return [frame.id for frame in self.frames if frame.id is not None]

    @property
    def done(self) -> bool:
        """The stream has ended."""
        return self._following.done()

    @property
    def completed(self) -> bool:
        """It ended well, and so did the task."""
        return self.done and self.error is None and self.state == "TASK_STATE_COMPLETED"

    def silence(self) -> float:
        """Seconds between the two neighbouring frames that lie farthest apart."""
        times = [frame.at for frame in self.frames]
        return max((b - a for a, b in itertools.pairwise(times)), default=0.0)

    async def at_least(self, count: int, deadline_s: float = 20) -> None:
        """Wait until so many statuses with a text have come."""
        async with asyncio.timeout(deadline_s):
            while len(self.said) < count:
                assert not self.done, self
                await asyncio.sleep(0.01)

    async def reaches(self, state: str, deadline_s: float = 20) -> None:
        """Wait until the task is in a state."""
        async with asyncio.timeout(deadline_s):
            while self.state != state:
                assert not self.done, self
                await asyncio.sleep(0.01)

    async def answered(self, deadline_s: float = 5) -> None:
        """Wait for the end, good or not."""
        async with asyncio.timeout(deadline_s):
            await asyncio.wait([self._following])

    async def ended(self, deadline_s: float = 20) -> None:
        """Wait for the end of the stream, which must have been a good one."""
        async with asyncio.timeout(deadline_s):
            await asyncio.wait([self._following])
        assert self.error is None, repr(self.error)
        assert self.rpc_error is None, self.rpc_error

    async def close(self) -> None:
        """Hang up."""
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following

    async def _follow(self, source: AsyncIterator[tuple[int | None, Json]]) -> None:
        try:
            async with aclosing(source):  # type: ignore[type-var]
                async for number, event in source:
                    self._take(Frame(time.monotonic(), number, event))
        except Exception as error:  # noqa: BLE001 - kept for the test to judge
            self.error = error

    def _take(self, frame: Frame) -> None:
        event = frame.event
        if "code" in event:
            self.rpc_error = event
            return
        self.frames.append(frame)
        if task := event.get("task"):
            self.task_id = task["id"]
            for said in task.get("history", []):
                if said["role"] == "ROLE_AGENT":
                    self.statuses.append(("", _text(said)))
            self._status(task["status"])
            for artifact in task.get("artifacts", []):
                self.texts[artifact["artifactId"]] = _text(artifact)
        elif update := event.get("statusUpdate"):
            self.task_id = update["taskId"]
            self._status(update["status"])
        elif update := event.get("artifactUpdate"):
            self.task_id = update["taskId"]
            artifact = update["artifact"]
            known = artifact["artifactId"] in self.texts
            # A stream that goes on where another one ended takes the artifacts of that one for granted.
            whole = "task" in self.frames[0].event
            assert known or not update.get("append") or not whole, f"a chunk for no artifact: {event}"
            self.replaced += known and not update.get("append")
            before = self.texts.get(artifact["artifactId"], "") if update.get("append") else ""
            self.texts[artifact["artifactId"]] = before + _text(artifact)

    def _status(self, status: Json) -> None:
        self.state = status["state"]
        self.statuses.append((self.state, _text(status.get("message", {}))))


def _text(content: Json) -> str:
    return "".join(part.get("text", "") for part in content.get("parts", []))


def from_sdk(url: str, params: Json, binding: str = "JSONRPC") -> Recording:
    """Record a send (params with a message) or a subscription (params with an id) of a stock client."""

    async def source() -> AsyncIterator[tuple[int | None, Json]]:
        client = await create_client(url, ClientConfig(supported_protocol_bindings=[binding]))
        try:
            if "message" in params:
                events = client.send_message(ParseDict(params, SendMessageRequest()))
            else:
                events = client.subscribe(ParseDict(params, SubscribeToTaskRequest()))
            async for event in events:
                yield None, MessageToDict(event)
        finally:
            await client.close()

    return Recording(source())


def from_raw(url: str, method: str, params: Json, headers: dict[str, str]) -> Recording:
    """Record the SSE frames of one JSON-RPC request, read timeout off."""

    async def source() -> AsyncIterator[tuple[int | None, Json]]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        timeout = httpx.Timeout(5, read=None)
        async with (
            httpx.AsyncClient(timeout=timeout) as web,
            web.stream("POST", url, json=body, headers=headers) as answer,
        ):
            number: int | None = None
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    number = int(value)
                elif name == "data" or line.startswith("{"):
                    frame = json.loads(value if name == "data" else line)
                    yield number, frame["result"] if "result" in frame else frame["error"]
                    number = None

    return Recording(source())
