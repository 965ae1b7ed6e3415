"""Claims that are not made to run something: to learn how a handoff stands, to go on with it, to pass it on.

Among several voters nobody living may know whether the last entries of a journal are committed, and one voter may
have promised a handoff to somebody who never came. Only a claim settles either. The failure this prevents: a task
that has ended, or waits for its client, and looks for ever as if it were running.
"""

from __future__ import annotations

from sidecar.runtime.node import Node
from sidecar.runtime.ownership import Ownership
from sidecar.store import HandoffRow

LEARN_AFTER_MS = 1_000
"""Whoever can go on with a handoff comes before whoever only wants to know how it stands."""


def untold(row: HandoffRow) -> bool:
    """Something is written of it that is not known here to be committed."""
    return row.voter.committed < row.voter.tip.seq


async def learn(ownership: Ownership, task: str, reason: str, orphaned_ms: int) -> int:
    """Own what nobody living owns, to know how it stands, and so that the others are told.

    Returns:
        In how many milliseconds it is to be tried; 0 where it was: what is to be done now is seen by another look.
    """
    if orphaned_ms < LEARN_AFTER_MS:
        return LEARN_AFTER_MS - orphaned_ms
    await ownership.own(task, reason)
    return 0


def stepped_back(node: Node, ownership: Ownership) -> list[str]:
    """What some voter has promised to another, who does not claim it: to be claimed anew above what was promised.

    Its run is let go of and found again: to its agent nothing happens.
    """
    tasks = [*node.store.step_back()]
    for task in tasks:
        owner = ownership.owners.get(task)
        if owner is not None:
            owner.journal.abandon()
        node.observer.count("claimed_anew")
    return tasks


async def pass_on(ownership: Ownership, task: str, reason: str) -> None:
    """What is owned here and has to be run cannot be run here: whoever can may have it."""
    owner = await ownership.own(task, reason)
    if owner is not None and not owner.working:
        await owner.hand_over("no_agent_here")
