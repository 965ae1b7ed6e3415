"""One handoff that this session owns, and everything that can be wanted of it.

Its pursuit of the agent runs in a task of its own: no client connection is its parent, so no client that goes away
can take it along. This file must not know who may own a handoff (``ownership``) or when an orphan is taken
(``supervisor``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from bridge.a2a.dialect import AUTH_REQUIRED, CANCELED
from bridge.a2a.faults import A2AFault
from bridge.handoff import State
from bridge.journal import TERMINAL, Draft, Kind
from bridge.jsontext import parse_stored, write
from sidecar.errors import AgentError, StoreError
from sidecar.records import Json, KeyRow
from sidecar.runtime import repeats
from sidecar.runtime.asides import Asides
from sidecar.runtime.endings import Endings, has_ended
from sidecar.runtime.node import Node
from sidecar.runtime.owned import OwnedJournal
from sidecar.runtime.pursuit import Pursuit
from sidecar.runtime.relay import Relay
from sidecar.runtime.requests import Ask, Request, Requests
from sidecar.runtime.views import Viewer

CANCEL_GRACE_S = 2.0
ANSWER_ENDS_S = 1.0
NAME_LOOK_S = 0.02
REBOUND_LOOK_FIRST_S = 0.1
REBOUND_LOOK_MOST_S = 2.0
_TO_HAND_OVER = (State.CLAIMED, State.RUNNING, State.SUSPENDED)


class Owner:
    """Drives one handoff.

    Args:
        node: what this sidecar holds in common.
        journal: the handoff's journal, owned by this session.
        requests: makes the messages that the agent gets.
        viewer: makes the row that reads use.
        on_idle: called when nothing is left to do for now.

    Attributes:
        idle_since: when it last had something to do (seconds, monotonic).
    """

    def __init__(
        self, node: Node, journal: OwnedJournal, requests: Requests, viewer: Viewer,
        on_idle: Callable[[Owner], None],
    ) -> None:  # fmt: skip
        self._node, self.journal, self.viewer = node, journal, viewer
        self._asides = Asides()
        self._pursuit = Pursuit(node, journal, requests, viewer, self._asides)
        self._on_idle = on_idle
        self._work: asyncio.Task[None] | None = None
        self.idle_since = node.clock.monotonic()
        self._answered: set[KeyRow] = set()
        journal.on_lost = self._pursuit.stop_following

    @property
    def task_id(self) -> str:
        """The public task id."""
        return self.journal.task_id

    @property
    def relay(self) -> Relay:
        """Journals what the agent sends."""
        return self._pursuit.relay

    @property
    def over(self) -> bool:
        """A terminal entry stands in the journal."""
        return self.journal.handoff.terminal is not None

    @property
    def ended(self) -> bool:
        """The terminal entry is durable."""
        return self.over and self.journal.committed == self.journal.handoff.tip.seq

    @property
    def working(self) -> bool:
        """A request to the agent is being followed."""
        return self._work is not None and not self._work.done()

    @property
    def quiet(self) -> bool:
        """Nothing runs for it and everything that it wrote is committed."""
        return not self.working and not len(self._asides) and self.journal.settled

    @property
    def rests(self) -> bool:
        """It has ended, or waits for its client: a sweep would find nothing to do."""
        handoff = self.journal.handoff
        waits = handoff.state is State.SUSPENDED and not handoff.due and not handoff.cancel_pending
        return self.over or waits

    @property
    def silent_s(self) -> float:
        """For how long the run that is followed has shown nothing (seconds)."""
        return self._node.clock.monotonic() - self._pursuit.progress_at

    def start(self, request: Request) -> None:
        """Begin to drive the handoff; returns at once."""
        self._work = asyncio.get_running_loop().create_task(self._drive(request))

    def write(self, drafts: Sequence[Draft], keys: Sequence[KeyRow] = (), inbox: Sequence[int] = ()) -> int:
        """Journal something that did not come from the agent."""
        self.idle_since = self._node.clock.monotonic()
        return self.journal.write(drafts, self.viewer.row, keys, inbox)

    async def take_input(
        self, body: Json, key: KeyRow, headers: Mapping[str, str], inbox: Sequence[int] = ()
    ) -> int | None:
        """Journal a later message and see that the agent gets it; once, however many sidecars it was sent to.

        Returns:
            The position of its ``input`` entry; None if another session owned the handoff before it was durable.

        Raises:
            A2AFault: the task has ended.
        """
        # Nothing is awaited between this look and the write: two of the same cannot both find nothing.
        generation, stands = repeats.placed(self.journal.handoff.inputs, body["id"], key)
        if stands:
            return await self._stands(body, inbox)
        if self.over:
            raise has_ended(self.task_id, self.viewer.fold.state)
        waited = self.journal.handoff.state is State.SUSPENDED
        position = self.write([Draft(Kind.INPUT, write(body))], [replace(key, generation=generation)], inbox)
        self.relay.note_input(body)
        if not await self.journal.written(position):
            return None
        request = Request(Ask.FOLLOW, body, headers, position)
        if waited:
            await self._settle_down()
            if self._node.draining:
                await self.hand_over("drain")  # whoever claims it finds the answer in the journal
            elif not self.over:  # another message may have come first and led to the end
                self.start(request)
        elif self.working:
            self._asides.start(self._forward(request))
        return position

    async def _stands(self, body: Json, inbox: Sequence[int]) -> int | None:
        if inbox:
            self.write([Draft(Kind.ANSWERED, write({"messageId": "repeated"}))], (), inbox)
        if not await self.journal.written():
            return None
        return await repeats.position(self._node.store, self.task_id, body["id"], body["digest"])

    def note_answered(self, message_id: str, key: KeyRow, inbox: Sequence[int] = ()) -> None:
        """Record that the response to a message was written out, so that its id is free for a new one."""
        generation, stands = repeats.placed(self.journal.handoff.inputs, message_id, key)
        done = replace(key, generation=generation if stands else key.generation, answered=True)
        if inbox or done not in self._answered:
            self._answered.add(done)
            body = {"messageId": message_id, "generation": done.generation}
            self.write([Draft(Kind.ANSWERED, write(body))], [done], inbox)

    async def cancel(self, body: Json, inbox: Sequence[int] = ()) -> bool:
        """Record the wish, pass it to the agent, and see that the task ends.

        Returns:
            Whether the wish is durable: if the task has not ended, the next owner carries it out.

        Raises:
            A2AFault: it has ended already.
        """
        if self.over:
            raise A2AFault("TaskNotCancelable", f"Task {self.task_id} has already ended", {"taskId": self.task_id})
        if not await self.journal.written(self.write([Draft(Kind.CANCEL, write(body))], (), inbox)):
            return False
        await self.carry_out_cancel()
        return True

    async def carry_out_cancel(self) -> None:
        """Have a recorded wish to cancel carried out: by the agent if it can, else by the sidecar's own word."""
        agent_task = self.relay.ids.agent_task
        if agent_task and not self.over:
            try:
                async with asyncio.timeout(CANCEL_GRACE_S):
                    answer = await self._node.link.cancel(agent_task)
                if answer is not None:
                    self.relay.snapshot(answer)
            except (AgentError, TimeoutError):
                pass  # it may be hanging or gone: the grace below covers both
        deadline = self._node.clock.monotonic() + CANCEL_GRACE_S
        while not self.over and self._work is not None and self.working:
            left = deadline - self._node.clock.monotonic()
            if left <= 0:
                break
            await asyncio.wait([self._work], timeout=left)
        self.relay.finish(CANCELED, "Canceled by the client.")
        await self.journal.written()
        self._pursuit.stop_following()

    def agent_lost(self, reason: str) -> None:
        """The agent's process is known to be gone or to hang: give the run up."""
        if self.working:
            self._pursuit.interrupt(lambda endings: endings.orphan(reason))

    def check_progress(self, limit_s: float) -> None:
        """A run that is alive but has shown nothing for too long is set aside for an operator."""
        waits = self.viewer.fold.state == AUTH_REQUIRED
        if self.working and self.silent_s > limit_s and not waits:
            self._pursuit.interrupt(lambda endings: endings.review("no_progress"))

    async def hand_over(self, reason: str) -> None:
        """Give the handoff up, so that another sidecar may claim it at once; tell the agent's run to stop."""
        if self.journal.lost.is_set():
            return
        working = self.working
        Endings(self._node, self.journal, self.viewer).orphan(reason, _TO_HAND_OVER)
        given_up = await self.journal.written()
        self.journal.abandon()
        # Where another session was faster, the run may be that one's by now: see _stop_superseded_run.
        if working and given_up and not self.over:
            with suppress(TimeoutError):  # it may hang; whoever resumes does not wait for it
                async with asyncio.timeout(CANCEL_GRACE_S):
                    await self._pursuit.tell_to_stop()

    async def tell_to_stop(self) -> None:
        """Ask the agent to cancel the run that was followed last."""
        await self._pursuit.tell_to_stop()

    async def close(self) -> None:
        """Stop whatever runs for it, without a word to the journal."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        await self._asides.cancel()

    async def _drive(self, request: Request) -> None:
        try:
            await self._pursuit.run(request)
            await self.journal.written()
            if self.journal.lost.is_set() and not self.over:
                await self._stop_superseded_run()
        finally:
            self.idle_since = self._node.clock.monotonic()
            self._on_idle(self)
            if not self.rests:
                self._node.kick.set()

    async def _forward(self, request: Request) -> None:
        # A run that has just begun is not known by name yet: without one the message would begin another.
        while not self.relay.ids.agent_task:
            if not self.working or self.journal.lost.is_set():
                return
            await asyncio.sleep(NAME_LOOK_S)
        await self._pursuit.forward(request)
        if self._work is not None:
            await asyncio.wait([self._work])
        if self.journal.handoff.state is State.SUSPENDED and not self.working and not self.journal.lost.is_set():
            # The stream that was followed ended at a question; this message's turn may have led on from there.
            self.start(Request(Ask.REATTACH))

    async def _settle_down(self) -> None:
        """The last request has led to a question: let its stream end before the next one begins."""
        while self._work is not None and not self._work.done():  # several messages may wait here: one goes on
            await asyncio.wait([self._work], timeout=ANSWER_ENDS_S)
            self._pursuit.stop_following()
            await asyncio.wait([self._work])

    async def _stop_superseded_run(self) -> None:
        """Another session owns the handoff: this run should not go on, unless the other one took it over.

        Only what the other one journals can tell. Until it has, the run is left alone: a newer boot may need a
        while to begin, and then finds the run that it is to go on with.
        """
        pause = REBOUND_LOOK_FIRST_S
        while (bound := await self._bound_by_other()) is None:
            await asyncio.sleep(pause)
            pause = min(pause * 2, REBOUND_LOOK_MOST_S)
        if (bound.get("endpoint"), bound.get("task")) != (self._node.endpoint, self.relay.ids.agent_task):
            await self._pursuit.tell_to_stop()

    async def _bound_by_other(self) -> Json | None:
        """What the new owner has bound ({}: it has ended the task), None while it has not."""
        try:
            entries = await self._node.store.entries(self.task_id, self.journal.committed)
        except StoreError:
            return None
        if any(each.kind in TERMINAL for each in entries):
            return {}
        bound = [each.body for each in entries if each.kind is Kind.BOUND and each.body is not None]
        return parse_stored(bound[-1]) if bound else None
