"""A stage whose sidecar dies at named points, clients that insist, and what must hold afterwards.

A client that insists does what 2-protocol.md tells clients: whatever ends without success is sent again, with the
same messageId. What must hold after any death: the message has led to one task, which ended as it would have ended
without the death, and no agent was asked more often than the journal says.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from bridge.handoff import Handoff
from tests.integration.recording import Json, Recording
from tests.integration.stage import SidecarProcess, Stage, message, wait_for

COMPLETED, CANCELED, INPUT_REQUIRED = "TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_INPUT_REQUIRED"
PATIENCE_S = 25.0
LEASE: dict[str, Any] = {"lease__ttl_ms": 600, "lease__margin_ms": 100, "takeover__stagger_ms": 20}
TRIES = 4


class Cast:
    """One agent, its sidecar ``a``, and perhaps a standby ``b`` with an agent of its own.

    Args:
        directory: empty.
        kind: of the agents.
        both: the agent dies whenever its sidecar does.
        standby: there is a standby.
    """

    def __init__(self, directory: Path, kind: str, *, both: bool, standby: bool) -> None:
        directory.mkdir()
        self.stage = Stage(directory)
        self.kind, self.both = kind, both
        self.agents = [self.stage.agent(kind) for _ in range(1 + standby)]
        self.a = self.stage.sidecar(self.agents[0], "a", **LEASE)
        self.b = self.stage.sidecar(self.agents[1], "b", **LEASE) if standby else None
        self.deaths = 0
        self.mending = asyncio.Lock()
        self._settled: set[str] = set()

    async def rearm(self, sidecar: SidecarProcess, failpoints: str) -> None:
        """Start a sidecar anew, with failpoints armed."""
        sidecar.kill()
        sidecar.start(failpoints)
        await self.stage.ready(sidecar)
        self.deaths = 0

    async def mended(self, patience_s: float = 0.0) -> None:
        """If a sidecar has died: start it again, without failpoints. Nothing else may have ended."""
        sidecars = [each for each in (self.a, self.b) if each is not None]
        async with self.mending:
            if patience_s and not self.deaths:
                await wait_for(
                    lambda: any(not each.alive for each in sidecars), patience_s, "the failpoint is passed"
                )
            for sidecar in sidecars:
                if sidecar.alive:
                    continue
                self.deaths += 1
                agent = self.agents[sidecars.index(sidecar)]
                if self.both and agent.alive:
                    agent.kill()
                if not agent.alive:
                    await self.stage.restart(agent)
                await self.stage.restart(sidecar)

    async def insist(self, params: Json, *, blocking: bool = False, at: SidecarProcess | None = None) -> Json:
        """Send until there is success; the Task as it is then."""
        sidecar = at or self.a
        for _ in range(TRIES):
            deaths = await self._deaths()
            task_id = await (self._blocking if blocking else self._streaming)(params, sidecar)
            if task_id:
                return await self.persist("GetTask", {"id": task_id})
            failed = f"{sidecar.name} lives and has answered with an error"
            await wait_for(partial(self._has_died, sidecar, deaths), 2, failed)
            await self.mended()
        raise AssertionError(f"no success after {TRIES} tries: {params}")

    async def persist(self, method: str, params: Json) -> Json:
        """Call until there is an answer."""
        for _ in range(TRIES):
            deaths = await self._deaths()
            try:
                return await self.stage.rpc(self.a, method, params, PATIENCE_S)
            except httpx.TransportError as lost:
                await wait_for(partial(self._has_died, self.a, deaths), 2, f"{self.a.name} lives, but: {lost!r}")
                await self.mended()
        raise AssertionError(f"no answer after {TRIES} tries: {method} {params}")

    async def _streaming(self, params: Json, sidecar: SidecarProcess) -> str:
        seen = self.stage.stream(sidecar, "SendStreamingMessage", params)
        await self._over(seen)
        if seen.error is None and seen.rpc_error is None:
            assert seen.state in (COMPLETED, CANCELED, INPUT_REQUIRED), seen
            said = [text for text in seen.said if text.startswith("step")]
            assert len(set(said)) == len(said), f"told twice: {said}"
            assert seen.replaced == 0, seen
            return seen.task_id
        assert isinstance(seen.error, httpx.TransportError) or _unknown(seen.rpc_error), seen
        return ""

    async def _over(self, seen: Recording) -> None:
        await wait_for(lambda: seen.done, PATIENCE_S, f"the stream ends: {seen}")

    async def _blocking(self, params: Json, sidecar: SidecarProcess) -> str:
        try:
            answer = await self.stage.rpc(sidecar, "SendMessage", params, PATIENCE_S)
        except httpx.TransportError:
            return ""
        if "error" in answer:
            assert _unknown(answer["error"]), answer
            return ""
        task_id: str = answer["task"]["id"]
        return task_id

    async def settled(self, expected: Any) -> None:
        """Every task of the store has ended, as expected, after no more runs than were counted; all verifies."""
        stage = self.stage
        messages: dict[str, str] = {}
        for task_id in set(await stage.task_ids()) - self._settled:
            await wait_for(partial(self._ended, task_id), PATIENCE_S, f"{task_id} ends")
            entries = await stage.journal(task_id)
            handoff = Handoff.fold(task_id, entries)
            first = handoff.dispatched["intent"]["inputs"]["message"]
            twin = messages.setdefault(first["messageId"], task_id)
            assert twin == task_id, f"{twin} and {task_id} are of one message"
            tag = _tag(first["parts"][0]["text"])
            runs = [line for agent in self.agents for line in agent.journal() if tag in str(line["text"])]
            assert len(runs) <= handoff.attempts, [str(entry.kind) for entry in entries]
            assert handoff.attempts <= 1 + self.deaths, [str(entry.kind) for entry in entries]
            seen = plain(await self.persist("GetTask", {"id": task_id}))
            assert seen == expected, (seen, [str(entry.kind) for entry in entries])
            self._settled.add(task_id)
        await stage.verify()

    async def _deaths(self) -> int:
        async with self.mending:  # a sidecar that is being started again is not asked
            return self.deaths

    def _has_died(self, sidecar: SidecarProcess, deaths: int) -> bool:
        return self.deaths > deaths or not sidecar.alive

    async def _ended(self, task_id: str) -> bool:
        entries = await self.stage.journal(task_id)
        return Handoff.fold(task_id, entries).terminal is not None


def tagged(text: str, **fields: Any) -> Json:
    """A message that the agents' logs can be searched for."""
    return message(f"{text} tag={uuid.uuid4().hex[:12]}", **fields)


def _tag(text: str) -> str:
    found = re.search(r"tag=\w+", text)
    assert found
    return found[0]


def _unknown(error: Json | None) -> bool:
    return error is not None and error.get("code") == -32603


def plain(task: Json) -> Any:
    """A Task without what differs from run to run: ids, times, and where chunks of text end."""
    assert "error" not in task, task
    if task["status"]["state"] == CANCELED:
        return CANCELED  # how far it had come, and in whose words it ended, is not promised
    spoken = [*task.get("history", []), task["status"].get("message") or {}]
    return (
        task["status"]["state"],
        [(each.get("role"), _text(each)) for each in spoken],
        {each.get("name"): _text(each) for each in task.get("artifacts", [])},
    )


def _text(content: Json) -> str:
    return re.sub(r" tag=\w+", "", "".join(part.get("text", "") for part in content.get("parts", [])))
