"""From the agent's events to journal entries: one run of one task.

Every event goes through the same four steps: marks of the durability extension are taken off, ids become public,
the reconciliation decides what clients still have to see, and the outcome is journalled in one append. This file
must not know why a run was started or how its connection ended; ``owner`` does.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bridge.a2a import extension
from bridge.a2a.dialect import CANCELED, INPUT_REQUIRED, context_id_of, state_of, status_of
from bridge.a2a.ids import IdMap
from bridge.a2a.reconcile import Finish, Outcome, Replay, Reply, Run, Show, Suspend, drafts
from bridge.a2a.shapes import settle_event, settle_task
from bridge.errors import BridgeError
from bridge.handoff import State
from bridge.journal import Draft, Kind
from bridge.jsontext import write
from sidecar.ports import Observer
from sidecar.records import Json
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.views import Viewer

log = logging.getLogger(__name__)


class Relay:
    """Journals what the agent sends.

    Args:
        journal: the handoff's journal, owned by this session.
        run: the reconciliation of this run with what was shown.
        ids: public and agent ids; the agent's are unknown until its first event.
        viewer: makes the row that reads use.
        endpoint: the agent's address, for the ``bound`` entry.
        observer: counts what is dropped.

    Attributes:
        over: a terminal was journalled.
        suspended: a question was asked and waits for an input.
        replay: a recorded input that answers the question which this run just repeated.
        moved: how many entries this run has led to: progress.
    """

    def __init__(
        self, journal: OwnedJournal, run: Run, ids: IdMap, viewer: Viewer, endpoint: str, observer: Observer
    ) -> None:
        self.journal, self.run, self.ids, self.viewer = journal, run, ids, viewer
        self._endpoint, self._observer = endpoint, observer
        self.over = False
        self.suspended = False
        self.replay: Json | None = None
        self.moved = 0
        self.heard = 0
        self._known: tuple[str, str] = ("", "")
        self._opening = False

    def expect(self, *, fresh: bool) -> Draft:
        """A request is about to go to the agent.

        Args:
            fresh: a new run of the agent, as against a follow-up or a reattachment.

        Returns:
            The ``bound`` entry that must be durable before the agent hears of it: attempts are counted before
            they begin, so that a task which kills its agent at once cannot do so for ever.
        """
        self.suspended = False
        self.replay = None
        self.heard = 0
        self._opening = True
        self._known = self.ids.bound()
        return self._bound(fresh=fresh)

    def take(self, batch: Sequence[Json]) -> None:
        """Journal a batch of StreamResponse objects of the agent."""
        outcomes: list[Outcome] = []
        binding: list[Draft] = []
        for event in batch:
            self.heard += 1
            if self.over:
                self._observer.count("events_after_terminal")
                continue
            try:
                more = self._receive(event, binding)
            except BridgeError as error:
                self._drop(error)
                continue
            outcomes.extend(more)
            self.over = bool(more) and isinstance(more[-1], Finish | Reply)
        self._journal(binding, outcomes)

    def snapshot(self, task: Json) -> None:
        """Journal what a Task object of the running agent shows beyond what is known."""
        if self.over:
            return
        binding: list[Draft] = []
        try:
            settle_task(task)
            extension.take({"task": task}, activated=self.viewer.extension_activated)
            self._adopt_context(task.get("contextId") or "")
            self.ids.task_to_public(task)
            self._settle(binding)
            ended = self._ended_by_wish({"task": task})
            outcomes = self.run.snapshot(task) if ended is None else ended
        except BridgeError as error:
            self._drop(error)
            return
        self._journal(binding, outcomes)

    def finish(self, state: str, text: str) -> None:
        """End the task by the sidecar's own word (cancel, exhausted budget, a fault of its run)."""
        if not self.over:
            message = {
                "messageId": f"{self.journal.task_id}-{self.journal.fence.n}",
                "role": "ROLE_AGENT",
                "taskId": self.journal.task_id,
                "contextId": self.ids.public_context,
                "parts": [{"text": text}],
            }
            self._journal([], self.run.finish_by_sidecar(state, message, reason=text))

    def note_input(self, body: Json) -> None:
        """A later message of the client was journalled."""
        self.run.shown.apply(Kind.INPUT, body)
        self.viewer.fold.add_message(body["message"])

    def answer_error(self, error: Json, kind: Kind = Kind.REPLY) -> None:
        """End a message that never became a task with an error."""
        if not self.over:
            self.over = True
            self._write([Draft(kind, write({"error": error}))])

    def _receive(self, event: Json, binding: list[Draft]) -> list[Outcome]:
        settle_event(event)
        marks, event = extension.take(event, activated=self.viewer.extension_activated)
        if self._opening:
            self._adopt_context(context_id_of(event))
        self.ids.to_public(event)
        if self._opening and "message" not in event:
            self._settle(binding)
        ended = self._ended_by_wish(event)
        return self.run.receive(event, marks) if ended is None else ended

    def _ended_by_wish(self, event: Json) -> list[Outcome] | None:
        # A re-run that is canceled on its client's wish leaves what is shown as it is: nothing is superseded.
        if self.run.fresh or not self.journal.handoff.cancel_pending or state_of(event) != CANCELED:
            return None
        message = (status_of(event) or {}).get("message")
        return self.run.finish_by_sidecar(CANCELED, message)

    def _adopt_context(self, agent_context: str) -> None:
        # A client that named no context gets the one that its agent opened.
        if not self.ids.public_context:
            self.ids.public_context = agent_context
            self.viewer.context_id = agent_context

    def _settle(self, binding: list[Draft]) -> None:
        # The first event of a request tells which agent task answers it: recorded for whoever reattaches.
        self._opening = False
        if self.ids.bound() != self._known:
            self._known = self.ids.bound()
            binding.append(self._bound(fresh=False))

    def _bound(self, *, fresh: bool) -> Draft:
        task, context = self._known
        body = {"endpoint": self._endpoint, "task": task, "context": context, "fresh": fresh}
        return Draft(Kind.BOUND, write(body))

    def _journal(self, binding: list[Draft], outcomes: list[Outcome]) -> None:
        fold = self.viewer.fold
        for outcome in outcomes:
            if isinstance(outcome, Show):
                fold.apply(outcome.event)
            elif isinstance(outcome, Finish):
                fold.apply(outcome.event)
                self.over = True
            elif isinstance(outcome, Reply):
                self.over = True
            elif isinstance(outcome, Suspend):
                self.suspended = outcome.state == INPUT_REQUIRED
            elif isinstance(outcome, Replay):
                self.replay = outcome.message
        written = [*binding, *drafts(outcomes)]
        if written:
            # What is shown in the middle of a stream may share a disk write; what somebody waits for may not.
            self._write(written, may_wait=not (self.over or self.suspended or self.replay))

    def _write(self, written: Sequence[Draft], *, may_wait: bool = False) -> None:
        if self.journal.handoff.state is State.ORPHANED:
            # Given up a moment ago (a drain): what its run still says belongs to nobody.
            self._observer.count("events_dropped", len(written), reason="given_up")
            return
        self.moved += len(written)
        self.journal.write(written, view_of=self.viewer.row, may_wait=may_wait)

    def _drop(self, error: BridgeError) -> None:
        log.warning(
            "task %s: an event of its agent was dropped: %s", self.journal.task_id, error,
            extra={"task": self.journal.task_id, "fence": self.journal.fence.n},
        )  # fmt: skip
        self._observer.count("events_dropped", reason=error.code)
