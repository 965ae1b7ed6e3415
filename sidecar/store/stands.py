"""How far a file has come with its handoffs: what hosts compare.

This file must not know who asks. The failure it prevents: a comparison that reads journals.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from sidecar.store.reads import Reads
from sidecar.store.schema import handoffs


async def committed(reads: Reads, tasks: Collection[str]) -> dict[str, int]:
    """Up to where the journals of these handoffs are known to be committed; without those never heard of."""
    statement = select(handoffs.c.task, handoffs.c.committed).where(handoffs.c.task.in_(sorted(tasks)))
    return await reads.run(lambda connection: {row.task: row.committed for row in connection.execute(statement)})


async def begun_after(reads: Reads, number: int, limit: int) -> list[tuple[int, str, int]]:
    """Handoffs in the order in which this file first heard of them.

    Args:
        reads: of the file.
        number: of the last one that is known already, 0 for none.
        limit: how many at most.

    Returns:
        (number, task, up to where it is known to be committed) of those of which anything is.
    """
    statement = (
        select(handoffs.c.id, handoffs.c.task, handoffs.c.committed)
        .where(handoffs.c.id > number, handoffs.c.committed > 0)
        .order_by(handoffs.c.id)
        .limit(limit)
    )
    return await reads.run(
        lambda connection: [(row.id, row.task, row.committed) for row in connection.execute(statement)]
    )
