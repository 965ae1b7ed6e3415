"""The agent beside this sidecar: the adapter behind ``ports.AgentLink``.

Lives here: which request each operation becomes, and the translation of failures into the error tree. The file
must not know handoffs, nor how bytes travel. It prevents that anything above it has to know whether the agent
streams, whether it is there, or which HTTP library is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Mapping

from sidecar.agent.answers import FAULTS, end_of
from sidecar.agent.card import Address, CardView
from sidecar.agent.passthrough import Passed, forward
from sidecar.agent.poll import Asked, PollRun
from sidecar.agent.presence import AgentPresence
from sidecar.agent.run import EndedRun, StreamRun
from sidecar.agent.wire import AgentSettings, AgentWire
from sidecar.errors import AgentError, AgentUnavailable
from sidecar.ports import AgentRun, EndKind, Probe, RunEnd
from sidecar.records import Json

_NOT_FOUND = -32001
_NOT_CANCELABLE = -32002


class HttpAgentLink(AgentPresence):
    """An A2A 1.0 agent at a URL, driven over JSON-RPC.

    ``run_forever`` has to run beside it for ``ready`` to stay true to life; everything else works without.

    Args:
        url: of the agent, as the operator configured it; the card is read below it.
        settings: limits and times.
        credentials: headers for requests whose call brings no ``Authorization``.
        on_ready: see ``AgentPresence``.
        on_lost: see ``AgentPresence``.

    Raises:
        ConfigError: the URL is not one.
    """

    def __init__(
        self,
        url: str,
        settings: AgentSettings | None = None,
        *,
        credentials: Mapping[str, str] | None = None,
        on_ready: Callable[[], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        settings = settings or AgentSettings()
        wire = AgentWire(Address.parse(url), settings, credentials)
        super().__init__(wire, on_ready=on_ready, on_lost=on_lost)
        self._settings = settings

    @property
    def streaming(self) -> bool:
        """Whether runs are streamed; False too while no card was read."""
        return self._view is not None and self._view.streaming

    @property
    def durable(self) -> bool:
        """Whether the agent declares the durability extension."""
        return self._view is not None and self._view.durable

    async def start(self, params: Json, headers: Mapping[str, str] | None = None) -> AgentRun:
        """Send a message. The request is under way when this returns; its answer comes through the run.

        Args:
            params: SendMessageRequest (message, configuration, metadata) with the agent's own ids.
            headers: end-to-end headers of the call, ``A2A-Extensions`` among them.
        """
        view, given = await self._present(), dict(headers or {})
        if view is None:
            return self._refused()
        if view.streaming:
            return self._stream(view, "SendStreamingMessage", params, given)
        configuration = {**(params.get("configuration") or {}), "returnImmediately": True}
        params = {**params, "configuration": configuration}
        return self._poll(view, self._wire.ask(view, "SendMessage", params, given), given)

    async def subscribe(self, agent_task: str, headers: Mapping[str, str] | None = None) -> AgentRun:
        """Follow a run that is still alive, from what its Task shows now."""
        view, given = await self._present(), dict(headers or {})
        if view is None:
            return self._refused()
        if view.streaming:
            return self._stream(view, "SubscribeToTask", {"id": agent_task}, given)
        return self._poll(view, self._wire.ask(view, "GetTask", {"id": agent_task}, given), given)

    async def get(self, agent_task: str, headers: Mapping[str, str] | None = None) -> Json | None:
        """The agent's Task, None where it knows none of that id.

        Raises:
            AgentUnavailable: it refuses connections.
            AgentTimeout: no answer within the call timeout.
            AgentError: any other answer.
        """
        return await self._call("GetTask", agent_task, headers, {_NOT_FOUND})

    async def cancel(self, agent_task: str, headers: Mapping[str, str] | None = None) -> Json | None:
        """Ask the agent to stop; None where it knows no such task or cannot cancel it. Raises as ``get``."""
        return await self._call("CancelTask", agent_task, headers, {_NOT_FOUND, _NOT_CANCELABLE})

    async def probe(self, timeout: float | None = None) -> Probe:  # noqa: ASYNC109
        """Whether the agent answers HTTP at all, on a connection of its own. Any status proves life.

        Args:
            timeout: seconds to wait for the answer; the configured one by default.
        """
        path = self._wire.address.card_paths()[0]
        limit = self._settings.probe_timeout_s if timeout is None else timeout
        session = self._wire.fresh_session()
        try:
            async with asyncio.timeout(limit), session.get(self._wire.url(path), allow_redirects=False):
                return Probe.ALIVE
        except TimeoutError:
            return Probe.HANGING
        except FAULTS as fault:
            return Probe.HANGING if end_of(fault).kind is EndKind.MALFORMED else Probe.REFUSED
        finally:
            await session.close()

    async def raw(
        self,
        method: str,
        path: str,
        headers: Iterable[tuple[bytes, bytes]],
        body: AsyncIterable[bytes] | bytes | None = None,
    ) -> Passed:
        """Pass any other HTTP request to the agent; see ``passthrough.forward``."""
        return await forward(self._wire, method, path, headers, body)

    async def close(self) -> None:
        """Close every connection. Runs should have been closed before."""
        await self._wire.close()

    async def _present(self) -> CardView | None:
        if self._view is None:
            await self.refresh()
        return self._view

    def _stream(self, view: CardView, method: str, params: Json, headers: Mapping[str, str]) -> StreamRun:
        opening = self._wire.post(view, method, params, headers)
        return StreamRun(opening, self._settings.event_bytes_max, self.noticed)

    def _poll(self, view: CardView, first: Asked, headers: Mapping[str, str]) -> PollRun:
        interval = (self._settings.poll_min_s, self._settings.poll_max_s)
        return PollRun(
            first, lambda task: self._wire.call(view, "GetTask", {"id": task}, headers), interval, self.noticed
        )

    def _refused(self) -> AgentRun:
        return EndedRun(RunEnd(EndKind.REFUSED, self.reason))

    async def _call(
        self, method: str, agent_task: str, headers: Mapping[str, str] | None, absent: set[int]
    ) -> Json | None:
        view = await self._present()
        if view is None:
            raise AgentUnavailable(self.reason)
        answer = await self._wire.call(view, method, {"id": agent_task}, headers)
        if isinstance(answer, RunEnd) and answer.kind is EndKind.BROKEN:
            # Both operations may be repeated, and a kept connection may just have been closed by the agent.
            answer = await self._wire.call(view, method, {"id": agent_task}, headers)
        if not isinstance(answer, RunEnd):
            return answer
        self.noticed(answer)
        if answer.kind is EndKind.RPC_FAILURE and (answer.error or {}).get("code") in absent:
            return None
        if answer.kind is EndKind.REFUSED:
            raise AgentUnavailable(f"{method}: the agent refuses connections: {answer.detail}")
        status = f" {answer.status}" if answer.status else ""
        raise AgentError(f"{method}: {answer.kind}{status}: {answer.detail}")
