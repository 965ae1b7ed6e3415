"""The one writer of a process: everything queued becomes one transaction, one fsync, and answers in order.

Operations arrive from the event loop, gathered (``gather``). The writer thread waits for the store's turn,
takes what has piled up meanwhile, runs it inside BEGIN IMMEDIATE … COMMIT, and resolves all futures with one
wake-up of the loop. A commit that fails fails every operation of its batch and leaves nothing behind; the
connection is made anew for the next batch, so writing goes on by itself once the disk allows it. An operation
that raises on its own fails alone.

This file must not know what operations mean. The failures it prevents: an fsync per entry, an acknowledgement
before the commit, a half-written batch.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from bridge.errors import InvariantViolation
from sidecar.errors import StoreCorrupt, StoreError, StoreUnavailable
from sidecar.failpoints import reach
from sidecar.store.changes import Changes
from sidecar.store.connect import beside, connect
from sidecar.store.faults import translate
from sidecar.store.gather import Gathering
from sidecar.store.inplace import InPlace
from sidecar.store.patience import Patience
from sidecar.store.rows import Rows
from sidecar.store.turns import Turns

QUEUED_BYTES_MAX = 64 << 20
BATCH_BYTES_MAX = 512 << 10
"""A batch ends when it reaches this: with eight saturating processes a turn still comes within half a second."""

OPERATION_BYTES, CLOSE_LOOK_S = 512, 0.005


class Operation(Protocol):
    """Something that changes rows inside a transaction.

    Attributes:
        future: gets the result after the commit.
        size: bytes it keeps in memory while queued.
    """

    future: asyncio.Future[Any]
    size: int

    def run(self, rows: Rows) -> Any:
        """Change ``rows`` and return the answer; an exception must have changed nothing."""
        ...


Committed = Callable[[Changes], None]
"""Called in the event loop after a commit."""


class Writer:
    """The writer thread of one store in this process.

    Args:
        path: the database.
        boot: the host's boot id.
        committed: told after every commit, and when a look finds another process's commit.
        replaceable: see ``InPlace``.

    Attributes:
        commits, operations, entries_bytes: counted since the start.
        longest_wait_s: the longest that a turn was waited for.
    """

    def __init__(self, path: Path, boot: str, committed: Committed, *, replaceable: bool = True) -> None:
        self.commits = 0
        self.operations = 0
        self.longest_wait_s = 0.0
        self._path = path
        self._rows = Rows(boot)
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[list[Operation] | None] = SimpleQueue()
        self._gathering: Gathering[Operation] = Gathering(self._queue.put)
        self._queued_bytes = 0
        self._patience = Patience(path)
        self._halted: BaseException | None = None
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self._in_place = InPlace(path, replaceable=replaceable)
        self._turns: Turns | None = None
        self._seen_version: int | None = None
        self._backlog: deque[Operation] = deque()
        self._changes = Changes()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation, *, may_wait: bool = False) -> None:
        """Queue an operation, behind all that were queued before. From the loop's thread.

        Args:
            operation: to be committed.
            may_wait: nobody needs it at once; it may share a commit with what comes a little later.
        """
        refusal = self._refusal()
        if refusal is not None:
            operation.future.set_exception(refusal)
            return
        self._queued_bytes += operation.size
        self._patience.wait_for(operation.future)
        self._gathering.add(operation, may_wait=may_wait)

    def look(self) -> None:
        """Ask the writer to look for other processes' commits, when it comes to it."""
        if not self._closed:
            self._queue.put([])

    async def close(self) -> None:
        """Commit what is queued and stop the thread; one that hangs is left behind."""
        if not self._closed:
            self._closed = True
            self._gathering.pass_on()
            self._queue.put(None)
        while self._thread.is_alive() and not self._patience.stuck:  # noqa: ASYNC110 - a thread
            await asyncio.sleep(CLOSE_LOOK_S)

    def _refusal(self) -> BaseException | None:
        if self._closed:
            return StoreUnavailable(f"{self._path}: the store is closed")
        if self._halted is not None:
            return StoreCorrupt(f"{self._path}: this voter has halted: {self._halted}", "verify the store")
        if self._patience.stuck:
            return self._patience.refusal()
        if self._queued_bytes > QUEUED_BYTES_MAX:
            return StoreUnavailable(
                f"{self._path}: {self._queued_bytes} bytes wait to be written",
                "the same call may work in a moment",
            )
        return None

    def _work(self) -> None:
        open_for_more = True
        while open_for_more or self._backlog:
            if not self._backlog:
                open_for_more = self._collect(self._queue.get())
                if not self._backlog:
                    self._look()
                    continue
            answers: list[tuple[Operation, Any, BaseException | None]] = []
            batch: list[Operation] = []
            try:
                turns = self._ready()
                turns.take()
                try:
                    self.longest_wait_s = max(self.longest_wait_s, turns.waited_s)
                    while open_for_more and not self._queue.empty():
                        open_for_more = self._collect(self._queue.get())
                    batch = self._next_batch()
                    answers = self._commit(batch)
                finally:
                    turns.give()
            except Exception as error:  # noqa: BLE001  (the thread must outlive any fault; the operations get it)
                batch = batch or self._next_batch()
                answers = self._failed(batch, error)
            self._answer(answers)
        self._drop_connection()
        if self._turns is not None:
            self._turns.close()

    def _collect(self, operations: list[Operation] | None) -> bool:
        if operations is None:
            return False
        self._backlog.extend(operations)
        return True

    def _next_batch(self) -> list[Operation]:
        batch: list[Operation] = []
        size = 0
        while self._backlog and size < BATCH_BYTES_MAX:
            operation = self._backlog.popleft()
            size += operation.size
            batch.append(operation)
        return batch

    def _ready(self) -> Turns:
        if self._turns is None:
            self._turns = Turns(beside(self._path, "turns"))
        if self._in_place.moved():
            self._drop_connection()
        self._in_place.check(self._connection)
        if self._connection is None:
            self._connection = connect(self._path, create=False)
            self._rows.forget()
            self._seen_version = None
        return self._turns

    def _commit(self, batch: list[Operation]) -> list[tuple[Operation, Any, BaseException | None]]:
        try:
            return self._transaction(batch)
        except (sqlite3.DataError, sqlite3.InterfaceError, ValueError, OverflowError, TypeError, AttributeError):
            # A value that cannot be stored: find its operation, the others are not to suffer.
            return [answer for operation in batch for answer in self._alone(operation)]

    def _alone(self, operation: Operation) -> list[tuple[Operation, Any, BaseException | None]]:
        try:
            return self._transaction([operation])
        except (
            sqlite3.DataError,
            sqlite3.InterfaceError,
            ValueError,
            OverflowError,
            TypeError,
            AttributeError,
        ) as error:
            return [(operation, None, StoreError(f"{self._path}: this cannot be stored: {error}"))]

    def _transaction(self, batch: list[Operation]) -> list[tuple[Operation, Any, BaseException | None]]:
        connection, rows = self._connection, self._rows
        assert connection is not None
        answers: list[tuple[Operation, Any, BaseException | None]] = []
        reach("store.before_begin")
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._in_place.begun()
            foreign = rows.begin(connection)
            for operation in batch:
                try:
                    answers.append((operation, operation.run(rows), None))
                except (InvariantViolation, Exception) as error:
                    if isinstance(error, sqlite3.Error):
                        raise
                    answers.append((operation, None, error))
                    if isinstance(error, InvariantViolation):
                        self._halted = error
            rows.flush()
            reach("store.before_commit")
            connection.execute("COMMIT")
        except BaseException:
            rows.forget()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        reach("store.after_commit")
        self._in_place.check(connection)  # nothing is acknowledged that only a removed file holds
        self.commits += 1
        self.operations += len(batch)
        rows.tell(self._changes, foreign=foreign)
        return answers

    def _failed(
        self, batch: list[Operation], error: Exception
    ) -> list[tuple[Operation, Any, BaseException | None]]:
        self._rows.forget()
        self._drop_connection()
        fault = error if isinstance(error, StoreError) else translate(error, f"writing to {self._path}")
        return [(operation, None, type(fault)(fault.message, fault.hint)) for operation in batch]

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
            self._in_place.closed()

    def _look(self) -> None:
        try:
            self._ready()
            assert self._connection is not None
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        except (sqlite3.Error, OSError, StoreUnavailable):
            self._drop_connection()
            return
        if self._seen_version != version:
            self._seen_version = version
            self._changes.foreign = True
            self._answer([])

    def _answer(self, answers: list[tuple[Operation, Any, BaseException | None]]) -> None:
        changes, self._changes = self._changes, Changes()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._resolve, answers, changes)

    def _resolve(self, answers: list[tuple[Operation, Any, BaseException | None]], changes: Changes) -> None:
        self._committed(changes)
        self._patience.came_back(len(answers))
        for operation, result, error in answers:
            self._queued_bytes -= operation.size
            future = operation.future
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
