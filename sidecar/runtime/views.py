"""The row that reads and lists use, made from what was journalled.

It is a view: ``verify`` makes it again from the journal and compares. A row is written only when something in it
changed, so a stream of artifact chunks costs none.
"""

from __future__ import annotations

from collections.abc import Collection

from bridge.a2a.dialect import parse_timestamp
from bridge.a2a.extension import URI
from bridge.a2a.fold import TaskFold, task_json
from bridge.gist import at_work
from bridge.handoff import Handoff, State
from bridge.journal import TERMINAL, Kind
from sidecar.ports import Clock
from sidecar.records import Caller, Json, TaskView


def row_of(handoff: Handoff, fold: TaskFold, caller: Caller, context_id: str, at_ms: int) -> TaskView:
    """The row of a handoff.

    Args:
        handoff: its state.
        fold: the Task as clients see it.
        caller: whose task it is.
        context_id: the public context id.
        at_ms: the status time where the status itself carries none.
    """
    exists = fold.exists and handoff.terminal not in (Kind.REPLY, Kind.EXPIRED)
    status = fold.status if exists else {}
    finished = task_json(fold) if exists and handoff.terminal in TERMINAL else None
    return TaskView(
        handoff.task_id,
        caller.tenant,
        caller.principal,
        # A reply may name a context of its agent's; its row is of no task, and says what the journal says of it.
        context_id if exists else handoff.dispatched.get("context") or "",
        str(_at_work(handoff)),
        status.get("state", ""),
        _moment(status, at_ms),
        exists,
        finished,
    )


def _at_work(handoff: Handoff) -> State:
    return at_work(handoff.state, due=bool(handoff.due), cancel=handoff.cancel_pending)


def _moment(status: Json, otherwise: int) -> int:
    text = status.get("timestamp")
    try:
        return parse_timestamp(text) if isinstance(text, str) else otherwise
    except ValueError:
        return otherwise


class Viewer:
    """Remembers the last row of one task and makes the next one when it differs.

    Attributes:
        caller: whose task it is.
        context_id: the public context id, "" until the agent opened one.
        extension_activated: the client asked for the durability extension's metadata.
        fold: the Task as clients see it, ahead of the commit by what was just written.
    """

    def __init__(
        self, fold: TaskFold, caller: Caller, context_id: str, clock: Clock, extensions: Collection[str]
    ) -> None:
        self.caller, self.context_id, self.fold = caller, context_id, fold
        self.extension_activated = URI in extensions
        self._clock = clock
        self._seen: tuple[object, ...] = ()
        self._status: Json | None = None

    def row(self, handoff: Handoff) -> TaskView | None:
        """The row, or None where it is the one that was made last."""
        key = (_at_work(handoff), self.context_id, self.fold.exists)
        if key == self._seen and self.fold.status is self._status:
            return None
        self._seen, self._status = key, self.fold.status
        return row_of(handoff, self.fold, self.caller, self.context_id, self._clock.wall_ms())
