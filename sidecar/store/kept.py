"""Small values that outlive the process, and the attempt to write at all.

A sidecar that restarts while its agent is away needs the agent's last card to know which paths are A2A. This file
must not know what a value means. The failure it prevents: reads that fail for want of something that was known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sqlalchemy import select

from sidecar.store.reads import Reads
from sidecar.store.rows import Rows
from sidecar.store.schema import meta
from sidecar.store.writer import OPERATION_BYTES, Writer

_KEEP = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class Keep:
    """The writer's operation that keeps a value under a name."""

    __slots__ = ("_name", "_value", "future", "size")

    def __init__(self, future: asyncio.Future[None], name: str, value: str) -> None:
        self.future = future
        self.size = OPERATION_BYTES + len(value)
        self._name, self._value = name, value

    def run(self, rows: Rows) -> None:
        """Insert or replace the row."""
        rows.connection.execute(_KEEP, (self._name, self._value))


class Attempt:
    """The writer's operation that writes without changing anything: a transaction, or the reason why not."""

    __slots__ = ("future", "size")

    def __init__(self, future: asyncio.Future[None]) -> None:
        self.future = future
        self.size = OPERATION_BYTES

    def run(self, rows: Rows) -> None:
        """Rewrite rows as they are: SQLite takes the page to the log all the same."""
        rows.connection.execute("UPDATE meta SET value = value")


def keep(writer: Writer, name: str, value: str) -> Coroutine[Any, Any, None]:
    """Keep a value; durable once the answer is there.

    Raises:
        StoreError: nothing is known to have been written.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer.submit(Keep(future, name, value))
    return _answer(future)


def attempt(writer: Writer) -> Coroutine[Any, Any, None]:
    """Find out whether the store can be written.

    Raises:
        StoreError: it cannot.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer.submit(Attempt(future))
    return _answer(future)


async def kept(reads: Reads, name: str) -> str | None:
    """The value that was kept under a name."""
    statement = select(meta.c.value).where(meta.c.name == name)
    return await reads.run(lambda connection: connection.execute(statement).scalar_one_or_none())


async def kept_names(reads: Reads, prefix: str) -> set[str]:
    """What follows a prefix in the names under which something was kept."""
    statement = select(meta.c.name).where(meta.c.name.startswith(prefix, autoescape=True))
    names = await reads.run(lambda connection: list(connection.execute(statement).scalars()))
    return {name.removeprefix(prefix) for name in names}


async def _answer(future: asyncio.Future[None]) -> None:
    await future
