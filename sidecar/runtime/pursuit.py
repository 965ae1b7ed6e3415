"""Asking the agent and following what it does, until nothing is left to ask.

The loop is always the same: a request is recorded, made durable, sent; its events go through the relay; the way it
ends decides the next request, or that there is none. The end of a stream is not death, and a living run is not run
twice: before anything is repeated the agent is asked (``_reattach``).

This file must not know what clients want (``owner``) or who may own a handoff (``ownership``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from bridge.a2a.dialect import FAILED, INPUT_REQUIRED
from bridge.a2a.faults import ERRORS, error_object
from bridge.a2a.overlap import Overlap
from bridge.a2a.shown import tells_of
from bridge.handoff import State
from bridge.journal import Kind
from sidecar.errors import AgentError, AgentUnavailable
from sidecar.failpoints import reach
from sidecar.ports import AgentRun, EndKind, Probe, RunEnd
from sidecar.records import Json
from sidecar.runtime.asides import Asides
from sidecar.runtime.endings import LATE_EVENTS_S, Endings, read_out, unusable
from sidecar.runtime.node import Node
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.patience import Patience
from sidecar.runtime.relay import Relay
from sidecar.runtime.requests import Ask, Request, Requests
from sidecar.runtime.views import Viewer

log = logging.getLogger(__name__)

PAUSE_FIRST_S = 0.02
PAUSE_MOST_S = 2.0
FAULT_PAUSE_S = 1.0
BROKEN_MAX = 2
_TASK_NOT_FOUND = ERRORS["TaskNotFound"].jsonrpc


class Pursuit:
    """Drives the agent for one handoff.

    Args:
        node: what this sidecar holds in common.
        journal: the handoff's journal, owned by this session.
        requests: makes the messages that the agent gets.
        viewer: makes the row that reads use.
        asides: keeps what runs beside the loop.

    Attributes:
        relay: journals what the agent sends; a new one for each run.
        progress_at: when the run last showed that it goes on (seconds, monotonic).
    """

    def __init__(
        self, node: Node, journal: OwnedJournal, requests: Requests, viewer: Viewer, asides: Asides
    ) -> None:
        self._node, self._journal, self._requests, self._viewer = node, journal, requests, viewer
        self._asides = asides
        self._endings = Endings(node, journal, viewer)
        self._agent_run: AgentRun | None = None
        self._interrupt: Callable[[], None] | None = None
        self.relay: Relay = requests.relay(journal, viewer)
        self.progress_at = node.clock.monotonic()
        self._patience = Patience(node, journal)
        self._forwarded: set[int] = set()
        self._broken = 0

    async def run(self, request: Request | None) -> None:
        """Carry out a request and all that follow from it."""
        self._interrupt = None
        self._patience.renew()
        try:
            while request is not None and not self._journal.lost.is_set():
                request = await self._carry_out(request)
        except Exception:
            log.exception("task %s: following its agent failed", self._journal.task_id, extra=self._extra())
            self._node.observer.count("owner_failures")
            self._endings.orphan("owner_failed")
            # Others may try at once; here the same fault would only come again, as fast as it can be made.
            await asyncio.sleep(FAULT_PAUSE_S)

    def interrupt(self, ending: Callable[[Endings], None]) -> None:
        """Stop following the run and end it in this way."""
        self._interrupt = lambda: ending(self._endings)
        self.stop_following()

    def stop_following(self) -> None:
        """Close the connection to the run; what the run does is its own affair."""
        if self._agent_run is not None:
            self._asides.start(self._agent_run.close())

    async def tell_to_stop(self) -> None:
        """Ask the agent to cancel the run, if it can be reached."""
        agent_task = self.relay.ids.agent_task
        try:
            if agent_task:
                await self._node.link.cancel(agent_task)
        except AgentError as error:
            told = "task %s: its run could not be told to stop: %s"
            log.info(told, self._journal.task_id, error, extra=self._extra())

    async def forward(self, request: Request) -> None:
        """A message for a run that is at work: the agent gets it beside the stream that is being followed."""
        self._forwarded.add(request.position)
        agent_run = await self._node.link.start(self._message(request), request.headers)
        reading = self._asides.start(_read(agent_run))
        while not (reading.done() or self.relay.over or self._journal.lost.is_set()):
            await asyncio.wait([reading], timeout=FAULT_PAUSE_S)
        await asyncio.wait([reading], timeout=LATE_EVENTS_S)
        await agent_run.close()
        if (end := agent_run.end) is not None and end.error is not None and not self.relay.over:
            self._endings.refuse_input(request.input, request.position, end.error, "")

    # --- one request ------------------------------------------------------------------------------------------

    async def _carry_out(self, request: Request) -> Request | None:
        ask = request.ask
        if ask is Ask.RESUME:
            self.relay = self._requests.relay(self._journal, self._viewer, again=True)
        if ask in (Ask.BEGIN, Ask.RESUME) and not self._node.link.ready:
            there = await self._patience.agent()
            if not there and await self._node.others_ready():
                self._endings.orphan("no_agent_here")
                return None
        due = self._journal.handoff.due  # as it is before the binding, which counts as giving
        recorded = ask is Ask.BEGIN and self._journal.handoff.state is State.RUNNING
        if ask is Ask.FOLLOW:
            self.relay.ids.rebind()
        bound = self.relay.expect(fresh=ask in (Ask.BEGIN, Ask.RESUME))
        if not recorded:
            self._journal.write([bound], self._viewer.row)
        # The agent hears of nothing that is not durable.
        if not await self._journal.written():
            return None
        self._requests.going(self._journal, request)
        reach("request.before_send")
        self.progress_at = self._node.clock.monotonic()
        if ask is Ask.REATTACH:
            return await self._reattach(due)
        end = await self._follow(await self._node.link.start(self._message(request), request.headers))
        if self._settled():
            return self._after_settling()
        if self.relay.heard == 0:
            return await self._nothing_heard(request, end, due)
        self._broken = 0
        if end.kind is EndKind.TOO_LARGE:
            self._asides.start(self.tell_to_stop())
            self.relay.finish(FAILED, f"The agent sent an event above the limit: {end.detail}")
            return None
        return await self._reattach()

    def _message(self, request: Request) -> Json:
        if request.ask is Ask.FOLLOW:
            return self._requests.follow_up(request.input, self._journal, self.relay)
        return self._requests.opening(self._journal, self.relay, again=request.ask is Ask.RESUME)

    async def _follow(self, agent_run: AgentRun, overlap: Overlap | None = None) -> RunEnd:
        relay = self.relay
        self._agent_run = agent_run
        if self._journal.lost.is_set() or self._interrupt is not None:
            await agent_run.close()
        batches = agent_run.batches()
        async for batch in batches:
            moved = relay.moved
            taken = batch if overlap is None else batch[: overlap.safe(batch)]
            relay.take(taken)
            # A run that is followed again repeats its Task: only what is new in it is progress.
            if overlap is None or relay.moved > moved:
                self.progress_at = self._node.clock.monotonic()
            if relay.over or relay.replay is not None:
                # The connection is worth keeping: the stream is read to its end, for a while.
                self._asides.start(read_out(agent_run, batches, self._node.observer))
                return RunEnd(EndKind.CLEAN)
            if len(taken) < len(batch):
                await agent_run.close()
                break
            await self._journal.room()
        return agent_run.end or RunEnd(EndKind.CLOSED)

    def _settled(self) -> bool:
        """Nothing has to be found out about how the request ended."""
        relay = self.relay
        return bool(
            relay.over
            or relay.suspended
            or relay.replay is not None
            or self._interrupt is not None
            or self._journal.lost.is_set()
        )

    def _after_settling(self) -> Request | None:
        if self._interrupt is not None and not self.relay.over:
            self._interrupt()
        elif self.relay.replay is not None and not self._journal.lost.is_set():
            return Request(Ask.FOLLOW, self.relay.replay)
        return None

    # --- how a request may end --------------------------------------------------------------------------------

    async def _nothing_heard(self, request: Request, end: RunEnd, due: Mapping[int, Json]) -> Request | None:
        """The request led to no event at all."""
        unreachable = end.kind is EndKind.REFUSED
        if unreachable or await self._node.link.probe() is Probe.REFUSED:
            if request.ask is Ask.BEGIN and unreachable and not await self._node.others_ready():
                if await self._patience.agent():
                    return request
                text = f"The agent of sidecar {self._node.name} is not reachable: send the message again later."
                self.relay.answer_error(error_object("Internal", text), Kind.EXPIRED)
                return None
            self._endings.orphan("agent_gone")
            return None
        if end.kind is EndKind.BROKEN and request.ask is not Ask.RESUME and self._broken < BROKEN_MAX:
            # Nobody has answered: the process that had the request may be gone, and another one in its place.
            self._broken += 1
            return request if request.ask is Ask.BEGIN else await self._reattach(due)
        error = end.error or error_object("InvalidAgentResponse", unusable(end))
        if request.ask is Ask.BEGIN or self._is_first_answer(end):
            self.relay.answer_error(error)
        elif request.ask is Ask.RESUME:
            log.warning("task %s: resuming failed: %s", self._journal.task_id, error, extra=self._extra())
            self._endings.orphan("resume_failed")
            await self._patience.before_again()
        elif error.get("code") == _TASK_NOT_FOUND:
            return await self._again()
        else:
            self._endings.refuse_input(request.input, request.position, error, INPUT_REQUIRED)
        return None

    def _is_first_answer(self, end: RunEnd) -> bool:
        """The agent's answer to a message that was accepted elsewhere is its client's, as if it had come here."""
        answered = end.error is not None or (
            end.kind is not EndKind.BROKEN and self._journal.handoff.attempts <= 1
        )
        return answered and not self.relay.run.shown.begun

    async def _reattach(self, due: Mapping[int, Json] | None = None) -> Request | None:
        """The stream ended but the task did not: ask the agent, and follow the run if it is there.

        Args:
            due: where an earlier owner had the run: later messages that it may have died over.
        """
        pause, agent_task = PAUSE_FIRST_S, self.relay.ids.agent_task
        while not self._settled():
            moved = self.relay.moved
            try:
                task = await self._node.link.get(agent_task)
            except AgentUnavailable:
                self._endings.orphan("agent_gone")
                return None
            except AgentError as error:
                told = "task %s: its agent does not answer: %s"
                log.info(told, self._journal.task_id, error, extra=self._extra())
            else:
                if task is None:
                    return await self._again()
                overlap = Overlap(task)
                self.relay.snapshot(task)
                if self.relay.moved > moved:
                    self.progress_at = self._node.clock.monotonic()
                if due is not None and not self._settled():
                    answer = self.relay.run.owes(task)
                    if answer is not None:
                        return Request(Ask.FOLLOW, answer)
                    if not self._forward_unheard(task, due) and self.relay.run.shown.awaits(task):
                        self._endings.wait_again()
                        return None
                    due = None
                if not self._settled():
                    await self._follow(await self._node.link.subscribe(agent_task), overlap)
            if not self._settled():
                pause = PAUSE_FIRST_S if self.relay.moved > moved else min(pause * 2, PAUSE_MOST_S)
                await asyncio.sleep(pause)
        return self._after_settling()

    def _forward_unheard(self, task: Json, due: Mapping[int, Json]) -> bool:
        unheard = {at: body for at, body in due.items() if at not in self._forwarded and not tells_of(task, body)}
        for position, body in unheard.items():
            self._asides.start(self.forward(Request(Ask.FOLLOW, body, {}, position)))
        return bool(unheard)

    async def _again(self) -> Request | None:
        """The agent has forgotten the run: it begins anew, unless it has begun too often."""
        if self._journal.handoff.attempts < self._node.config.takeover.attempts_max:
            return Request(Ask.RESUME)
        await self._endings.dead_letter(self.relay, "run_forgotten")
        return None

    def _extra(self) -> dict[str, object]:
        return {"task": self._journal.task_id, "fence": self._journal.fence.n}


async def _read(agent_run: AgentRun) -> None:
    async for _ in agent_run.batches():
        pass
