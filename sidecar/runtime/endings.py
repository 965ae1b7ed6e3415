"""The ways in which this sidecar itself ends, parks or gives up a handoff's run.

Each is one append with its count and its log line, so that an operator who reads only one of journal, metrics
and log is told the same. This file must not know when one of them is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import suppress

from bridge.a2a.dialect import FAILED, INPUT_REQUIRED
from bridge.a2a.faults import A2AFault
from bridge.handoff import State
from bridge.journal import Draft, Entry, Kind
from bridge.jsontext import write
from sidecar.errors import StoreError
from sidecar.ports import AgentRun, Observer, RunEnd
from sidecar.records import Json
from sidecar.runtime import lastwords
from sidecar.runtime.node import Node
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.relay import Relay
from sidecar.runtime.views import Viewer

log = logging.getLogger(__name__)

LATE_EVENTS_S = 5.0


class Endings:
    """Ends runs of one handoff.

    Args:
        node: what this sidecar holds in common.
        journal: the handoff's journal.
        viewer: makes the row that reads use.
    """

    def __init__(self, node: Node, journal: OwnedJournal, viewer: Viewer) -> None:
        self._node, self._journal, self._viewer = node, journal, viewer

    async def dead_letter(self, relay: Relay, last: str = "") -> None:
        """Every attempt is used up: the task fails, its journal is kept whole.

        Args:
            relay: of the task.
            last: why the last run was lost, where no entry says it.
        """
        lost = await self._losses()
        if relay.over or self._journal.lost.is_set():
            return
        if last and lost:
            lost[-1] = lost[-1] or last
        relay.finish(FAILED, lastwords.given_up(self._journal.handoff.attempts, lost))
        self._node.observer.count("dead_letters")
        task = self._journal.task_id
        log.error(
            "task %s: given up after %s (takeover.attempts_max); last: %s; see dhp-sidecar show %s",
            task, lastwords.runs(self._journal.handoff.attempts), (lost and lost[-1]) or "unknown", task[:8],
            extra=self._extra(),
        )  # fmt: skip

    async def _losses(self) -> list[str]:
        """Why each run was lost; nothing where the store cannot say: a task is given up all the same."""
        journal, entries = self._journal, list[Entry]()
        with suppress(StoreError):
            while more := await self._node.store.entries(journal.task_id, entries[-1].seq if entries else 0):
                entries.extend(more)
        return lastwords.losses(entries)

    def orphan(self, reason: str, of: Collection[State] = (State.CLAIMED, State.RUNNING)) -> None:
        """The run is lost: whoever can resume the handoff may claim it.

        Args:
            reason: why, as the journal says it.
            of: the states in which there is something to give up.
        """
        journal = self._journal
        if journal.lost.is_set() or journal.handoff.state not in of:
            return
        self._write(Kind.ORPHANED, {"reason": reason, "by": self._node.name})
        self._node.observer.count("orphaned", reason=reason)
        log.warning("task %s: %s", *self._about(lastwords.orphaned(reason)), extra=self._extra())

    def review(self, reason: str) -> None:
        """Nobody can tell what the run is doing: an operator has to look, nothing resets."""
        self._write(Kind.REVIEW, {"reason": reason, "detail": "The run is alive but leads to nothing."})
        self._node.observer.count("reviews", reason=reason)
        log.error("task %s: needs review: %s", *self._about(reason), extra=self._extra())

    def refuse_input(self, input_body: Json, position: int, error: Json, suspended: str) -> None:
        """The agent refused a later message: its sender is told; a task that waited goes on waiting.

        Args:
            input_body: body of the ``input`` entry.
            position: where that entry stands; 0 for a replay.
            error: JSON-RPC error object of the agent.
            suspended: task state to wait in again; "" where the run goes on.
        """
        body = {"messageId": input_body.get("id", "?"), "input": position, "error": error}
        self._write(Kind.ANSWERED, body)
        if suspended:
            self.wait_again(suspended)

    def wait_again(self, state: str = INPUT_REQUIRED) -> None:
        """The run waits for its client, as it did before it was asked."""
        self._write(Kind.SUSPENDED, {"state": state})

    def _write(self, kind: Kind, body: Json) -> None:
        self._journal.write([Draft(kind, write(body))], self._viewer.row)

    def _about(self, what: object) -> tuple[object, object]:
        return self._journal.task_id, what

    def _extra(self) -> dict[str, object]:
        return {"task": self._journal.task_id, "fence": self._journal.fence.n}


async def read_out(agent_run: AgentRun, batches: AsyncIterator[list[Json]], observer: Observer) -> None:
    """Read a stream whose task has ended to its own end, for a while: its connection can then be used again."""
    try:
        async with asyncio.timeout(LATE_EVENTS_S):
            async for batch in batches:
                observer.count("events_after_terminal", len(batch))
    except TimeoutError:
        pass
    finally:
        await agent_run.close()


def unusable(end: RunEnd) -> str:
    """What is said of a request that led to nothing that could be used."""
    status = f" (HTTP status {end.status})" if end.status else ""
    return f"The agent's answer cannot be used{status}: {end.detail or end.kind.value}"


def has_ended(task_id: str, state: str) -> A2AFault:
    """What a client is told that wants something new of a task which has ended."""
    return A2AFault("UnsupportedOperation", f"Task {task_id} is in terminal state {state}", {"taskId": task_id})
