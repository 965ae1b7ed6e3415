"""What the agent is asked for one handoff, and the relay that takes what it answers.

Binds ``bridge.a2a.resume`` to what this handoff's journal says; knows nothing of connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bridge.a2a.ids import IdMap
from bridge.a2a.reconcile import Run
from bridge.a2a.resume import Attempt, Progress, delivered, first_message, followup_message, resume_message
from bridge.a2a.shown import Shown
from sidecar.records import Json
from sidecar.runtime.node import Node
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.relay import Relay
from sidecar.runtime.views import Viewer


class Ask(StrEnum):
    """What the agent is asked next."""

    BEGIN = "begin"  # the client's message, for the first time
    RESUME = "resume"  # a new run after another one was lost
    FOLLOW = "follow"  # a later message, or a recorded one again
    REATTACH = "reattach"  # nothing: follow the run that is there


@dataclass(frozen=True, slots=True)
class Request:
    """The next thing to ask.

    Attributes:
        ask: what.
        input: body of the ``input`` entry for FOLLOW.
        headers: of the living caller, if there is one.
        position: journal position of that entry, 0 for a replay.
        since: when what is recovered was first seen without an owner (seconds, monotonic); None otherwise.
    """

    ask: Ask
    input: Json = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    position: int = 0
    since: float | None = None


class Requests:
    """Makes what the agent is asked.

    Args:
        node: what this sidecar holds in common.
        shown: what clients were shown so far.
    """

    def __init__(self, node: Node, shown: Shown) -> None:
        self._node, self._shown = node, shown

    def relay(self, journal: OwnedJournal, viewer: Viewer, *, again: bool = False) -> Relay:
        """A relay for the run that is there, or (``again``) for a new one from the cut."""
        handoff = journal.handoff
        bound = handoff.bound or {}
        known = ("", "") if again else (bound.get("task", ""), bound.get("context", ""))
        ids = IdMap(handoff.task_id, viewer.context_id, *known)
        seed = self._seed(journal, viewer)
        fresh = not again and handoff.attempts <= 1
        run = Run(self._shown, fresh=fresh, reattached=not again, seed=seed)
        return Relay(journal, run, ids, viewer, self._node.endpoint, self._node.observer)

    def opening(self, journal: OwnedJournal, relay: Relay, *, again: bool) -> Json:
        """The message that begins a run: the client's own, or the same again with where to go on."""
        request = journal.handoff.dispatched["intent"]["inputs"]
        if not again:
            return first_message(request, relay.ids, self._attempt(journal))
        message = resume_message(request, relay.ids, self._attempt(journal), self._progress(relay))
        relay.run.answer_sent()
        return message

    def follow_up(self, entry: Json, journal: OwnedJournal, relay: Relay) -> Json:
        """A later message, or a recorded one again, for the run that is there."""
        message = followup_message(entry, relay.ids, self._attempt(journal), self._progress(relay))
        relay.run.answer_sent()
        return message

    def going(self, journal: OwnedJournal, request: Request) -> None:
        """A request is about to go out: the first one after a claim is what makes it a takeover."""
        if journal.claim:
            self._node.observer.count("takeovers", reason=journal.claim)
            journal.claim = ""
            if request.since is not None:
                self._node.observer.observe("takeover", self._node.clock.monotonic() - request.since)

    def _attempt(self, journal: OwnedJournal) -> Attempt:
        return Attempt(journal.handoff.attempts, journal.fence.n, self._node.link.durable)

    def _progress(self, relay: Relay) -> Progress:
        shown, cut = self._shown, self._shown.cut
        return Progress(
            checkpoint=None if cut is None else cut.state,
            receipts=tuple(shown.receipts),
            delivered=delivered(relay.viewer.fold.task(), len(shown.statuses)),
            answer=relay.run.owed,
        )

    def _seed(self, journal: OwnedJournal, viewer: Viewer) -> Json:
        message = journal.handoff.dispatched["intent"]["inputs"].get("message") or {}
        return {
            "id": journal.task_id,
            "contextId": viewer.context_id,
            "status": {"state": "TASK_STATE_SUBMITTED"},
            "history": [{**message, "taskId": journal.task_id, "contextId": viewer.context_id}],
        }
