"""Agents that hang: the process is there, its connections stay open, and nothing will ever come through them.

Only a request that goes unanswered tells such an agent from one that works in silence, and even that is no proof:
an agent that makes one long blocking call answers nothing meanwhile and is well. So while a run is silent its
agent is probed; when it has answered nothing for as long as the operator allows, its runs are given up, for a
standby or for itself once it answers again, and each is told to stop then. This file must not know how a probe is
made. The failures it prevents: a task that waits for a stopped process until somebody looks, and a healthy one
that runs twice.
"""

from __future__ import annotations

import asyncio
import logging

from sidecar.ports import Probe
from sidecar.runtime.asides import Asides
from sidecar.runtime.node import Node
from sidecar.runtime.owner import Owner
from sidecar.runtime.ownership import Ownership

log = logging.getLogger(__name__)

BACK_LOOK_S = 0.25


class HangWatch:
    """Watches the agent of this sidecar while runs are silent.

    Args:
        node: what this sidecar holds in common.
        ownership: knows the runs.
    """

    def __init__(self, node: Node, ownership: Ownership) -> None:
        self._node, self._ownership = node, ownership
        self._asides = Asides()

    async def run_forever(self) -> None:
        """Probe whenever a run has been silent for as long as a probe may take, until cancelled."""
        node = self._node
        pause_s = node.config.agent.probe_timeout_s
        answered_at = node.clock.monotonic()
        while True:
            try:
                answered_at = await self._look(pause_s, answered_at)
            except Exception:
                log.exception("looking after silent runs failed and will be tried again")
                node.observer.count("recovery_failures")
            await asyncio.sleep(pause_s)

    async def _look(self, pause_s: float, answered_at: float) -> float:
        """One look; returns when the agent last answered."""
        node = self._node
        silent = any(owner.working and owner.silent_s > pause_s for owner in self._owners())
        # A refusal or a broken connection is noticed by whoever holds one.
        if not silent or await node.link.probe() is not Probe.HANGING:
            return node.clock.monotonic()
        if node.clock.monotonic() - answered_at > node.config.agent.hang_limit_s:
            self._give_up()
            return node.clock.monotonic()
        return answered_at

    def _give_up(self) -> None:
        runs = [owner for owner in self._owners() if owner.working]
        log.error("the agent at %s hangs: its %d runs are given up", self._node.link.endpoint, len(runs))
        self._node.link.hung()
        for owner in runs:
            owner.agent_lost("agent_hangs")
            self._asides.start(self._stop_when_back(owner))

    async def _stop_when_back(self, owner: Owner) -> None:
        while not self._node.link.ready:  # noqa: ASYNC110 - a level, not an event
            await asyncio.sleep(BACK_LOOK_S)
        await owner.tell_to_stop()

    def _owners(self) -> list[Owner]:
        return list(self._ownership.owners.values())
