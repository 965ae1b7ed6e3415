"""How long a run waits for an agent that is not there, or not ready yet.

In all less long than a client would, and not where another sidecar of the group has an agent. This file must not
know what is asked of the agent. The failures it prevents: a client that gives up before it is told anything, and
tries that are used up while an agent starts.
"""

from __future__ import annotations

import asyncio

from sidecar.runtime.node import Node
from sidecar.runtime.owned import OwnedJournal

LOOK_S = 0.02
AGAIN_FIRST_S = 0.1
AGAIN_MOST_S = 2.0


class Patience:
    """The waits of one handoff.

    Args:
        node: what this sidecar holds in common.
        journal: the handoff's journal.
    """

    def __init__(self, node: Node, journal: OwnedJournal) -> None:
        self._node, self._journal = node, journal
        self._due: float | None = None

    def renew(self) -> None:
        """A new request begins: it may wait as long as any."""
        self._due = None

    async def agent(self) -> bool:
        """Wait for an absent agent; whether it is there."""
        now, link = self._node.clock.monotonic, self._node.link
        self._due = self._due or now() + self._node.config.agent.absent_timeout_s
        while not link.ready and now() < self._due and not self._journal.lost.is_set():
            if await self._node.others_ready():
                break
            await asyncio.sleep(LOOK_S)
        return link.ready

    async def before_again(self) -> None:
        """After a run that its agent did not go on with: others may try at once, here it is given time."""
        await asyncio.sleep(min(AGAIN_FIRST_S * 2**self._journal.handoff.attempts, AGAIN_MOST_S))
