"""A gateway's side towards agents: it has none, but others of its group do.

It behaves as an agent that is never there, so the runtime hands every run to a sidecar that has one; what is not
A2A passes through to such a sidecar. This file must not know where the facts about others come from. The failure
it prevents: a gateway that needs to be told what its group already knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from sidecar.agent.card import Address
from sidecar.agent.passthrough import Passed, forward, unavailable
from sidecar.agent.run import EndedRun
from sidecar.agent.wire import AgentSettings, AgentWire
from sidecar.errors import AgentUnavailable
from sidecar.ports import AgentRun, EndKind, Probe, RunEnd
from sidecar.records import Json

log = logging.getLogger(__name__)

LOOK_S = 2.0
LOOK_MISSING_S = 0.1
_ABSENT = "a gateway has no agent of its own"


@dataclass(frozen=True, slots=True)
class GroupView:
    """What is known of the group.

    Attributes:
        card: the card of its agents as one of its sidecars last kept it, None while none did.
        url: of a sidecar that has an agent now, "" where none has.
        problem: why the group itself is not known, "" where it is.
    """

    card: Json | None
    url: str
    problem: str = ""


class GroupLink:
    """Stands where a sidecar has its agent.

    Args:
        look: tells what is known of the group now.
        settings: limits and times of what passes through.
        on_change: called when there is news.
    """

    endpoint = ""
    durable = False
    ready = False

    def __init__(
        self, look: Callable[[], Awaitable[GroupView]], settings: AgentSettings, on_change: Callable[[], None]
    ) -> None:
        self.card: Json | None = None
        self.reason = "no sidecar of the group has been seen"
        self._look, self._settings, self._on_change = look, settings, on_change
        self._url = ""
        self._wires: dict[str, AgentWire] = {}

    async def run_forever(self) -> None:
        """Keep ``card`` and ``reason`` true to life until cancelled."""
        told = None
        while True:
            view = await self._look()
            # The same object until it changes: fronts tell by identity whether to rewrite it.
            news = view.url != self._url or view.card != self.card
            if view.card is not None and view.card != self.card:
                self.card = view.card
            self._url = view.url
            self.reason = "" if view.url else view.problem or "no sidecar of the group has an agent at the moment"
            if self.reason != told:
                told = self.reason
                if told:
                    log.warning("%s; new messages wait for one or are refused", told)
                else:
                    log.info("a sidecar of the group has an agent: %s", view.url)
            if news:
                self._on_change()
            await asyncio.sleep(LOOK_S if self.card is not None and view.url else LOOK_MISSING_S)

    async def start(self, params: Json, headers: Mapping[str, str]) -> AgentRun:  # noqa: ARG002
        """Refused: the agent saw nothing."""
        return EndedRun(RunEnd(EndKind.REFUSED, _ABSENT))

    async def subscribe(self, agent_task: str) -> AgentRun:  # noqa: ARG002
        """Refused."""
        return EndedRun(RunEnd(EndKind.REFUSED, _ABSENT))

    async def get(self, agent_task: str) -> Json | None:  # noqa: ARG002
        """Raises AgentUnavailable."""
        raise AgentUnavailable(_ABSENT)

    async def cancel(self, agent_task: str) -> Json | None:  # noqa: ARG002
        """Raises AgentUnavailable."""
        raise AgentUnavailable(_ABSENT)

    async def probe(self) -> Probe:
        """Refused."""
        return Probe.REFUSED

    def hung(self) -> None:
        """There is none that could."""

    async def raw(
        self,
        method: str,
        path: str,
        headers: Iterable[tuple[bytes, bytes]],
        body: AsyncIterable[bytes] | bytes | None = None,
    ) -> Passed:
        """Pass a request that is not A2A to a sidecar of the group that has an agent."""
        if not self._url:
            return unavailable(self.reason)
        wire = self._wires.get(self._url)
        if wire is None:
            wire = self._wires[self._url] = AgentWire(Address.parse(self._url), self._settings)
        return await forward(wire, method, path, headers, body)

    async def close(self) -> None:
        """Close every connection."""
        for wire in self._wires.values():
            await wire.close()
