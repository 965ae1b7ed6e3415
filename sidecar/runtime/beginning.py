"""How a journal is begun: its first entries under the first fence that nobody else was promised.

The failure it prevents: a message that nobody can dispatch any more, because whoever was promised its task died
before it had written anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bridge.handoff import Handoff
from bridge.journal import Draft, Fence, chain, genesis
from bridge.quorum import Append, Refusal, Refused
from sidecar.records import KeyRow, TaskView
from sidecar.runtime.node import Node

CLAIM_TRIES = 4


async def begin(
    node: Node, task: str, drafts: Sequence[Draft], view_of: Callable[[Handoff], TaskView], key: KeyRow
) -> Handoff | None:
    """Write a journal's first entries; None if it has been begun, or is promised to somebody at this moment.

    Raises:
        StoreError: nothing was written, or nobody knows.
    """
    start, n = genesis(task), 1
    for _ in range(CLAIM_TRIES):
        fence = Fence(n, node.session)
        entries = chain(start, fence, node.clock.wall_ms(), drafts)
        handoff = Handoff.absent(task)
        for entry in entries:
            handoff.apply(entry, trusted=True)
        append = Append(task, fence, start.seq, start.hash, entries, 0)
        answer = await node.store.voter.dispatch(append, view_of(handoff), [key])
        if not isinstance(answer, Refused):
            return handoff
        promised = answer.promised.n
        if answer.reason is not Refusal.FENCED or answer.tip.seq or promised < n:
            return None
        n = promised + 1
    return None
