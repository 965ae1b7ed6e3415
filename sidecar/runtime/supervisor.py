"""Finding orphans and deciding, over and over, what this sidecar should do with each.

Level-triggered: a sweep looks at all open handoffs and acts on those that nobody living owns; whatever fails is
met again by the next sweep. It is woken by what matters (an orphan, an agent that came back), and by a slow
clock that makes every lost wake-up harmless. What to do is decided by ``bridge.recovery``; this file only
gathers the facts and carries the decision out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from bridge.a2a.faults import error_object
from bridge.handoff import FINAL, Handoff, State
from bridge.journal import Draft, Entry, Kind
from bridge.jsontext import write
from bridge.lease import Evidence
from bridge.recovery import (
    Cancel,
    DeadLetter,
    Decision,
    Limits,
    Reattach,
    Resume,
    Review,
    Wait,
    decide,
)
from sidecar.errors import SidecarError, StoreError
from sidecar.runtime.claims import LEARN_AFTER_MS, learn, pass_on, stepped_back, untold
from sidecar.runtime.endings import Endings
from sidecar.runtime.facts import Facts
from sidecar.runtime.mail import Mail
from sidecar.runtime.node import Node
from sidecar.runtime.owner import Owner
from sidecar.runtime.ownership import Ownership
from sidecar.runtime.requests import Ask, Request
from sidecar.store import HandoffRow, SessionRow

log = logging.getLogger(__name__)

SWEEP_S = 0.25
SWEEP_OWN_S = 5.0
SWEEP_AGAIN_S = 0.5
SWEEP_GAP_S = 0.002
AT_ONCE = 16
_NAMED = {Evidence.LOCK_FREED: "lock"}


class Supervisor:
    """Watches all handoffs of the store for this sidecar.

    Args:
        node: what this sidecar holds in common.
        ownership: claims and drives.

    Attributes:
        mail: takes in what came for handoffs that are owned here.
    """

    def __init__(self, node: Node, ownership: Ownership) -> None:
        self._node, self._ownership = node, ownership
        self.mail = Mail(node, ownership)
        self._sessions: dict[str, SessionRow] = {}
        self._seen_since: dict[str, float] = {}
        self._own_at = node.clock.monotonic()
        self._looked_at = float("-inf")
        self._busy: dict[str, asyncio.Task[None]] = {}
        takeover = node.config.takeover
        self._limits = Limits(
            takeover.attempts_max, takeover.stagger_ms, int(node.config.journal.unacknowledged_s * 1000)
        )
        self._facts = Facts(node, self._limits)

    async def run_forever(self) -> None:
        """Sweep until cancelled."""
        node = self._node
        while True:
            try:
                async with asyncio.timeout(SWEEP_S):
                    await node.kick.wait()
            except TimeoutError:
                pass
            # Whatever comes in this moment is met by one sweep, not by one each.
            await asyncio.sleep(SWEEP_GAP_S)
            node.kick.clear()
            try:
                self._look_after_owners()
                await self.sweep()
            except StoreError as error:
                log.warning("looking for orphans failed and will be tried again: %s", error)
                node.observer.count("sweep_failures")
                self._look_again()
            except Exception:
                log.exception("looking for orphans failed and will be tried again")
                node.observer.count("sweep_failures")
                self._look_again()

    def look_at_all(self) -> None:
        """Look now, also at what this session owns itself: something that it may have waited for has happened."""
        self._own_at = float("-inf")
        self._node.kick.set()

    def _look_again(self) -> None:
        """What failed may have been about this session's own handoffs: they do not wait for their next turn."""
        self._own_at = min(self._own_at, self._node.clock.monotonic() - SWEEP_OWN_S + SWEEP_AGAIN_S)

    def _look_after_owners(self) -> None:
        """By the clock, not by the kick: it costs something for each owner."""
        node = self._node
        now = node.clock.monotonic()
        if now - self._looked_at < SWEEP_S:
            return
        self._looked_at = now
        for task in stepped_back(node, self._ownership):
            self._act(task, self._settle(task, "fenced", LEARN_AFTER_MS))
        self._ownership.let_go()
        for owner in list(self._ownership.owners.values()):
            owner.check_progress(node.config.agent.progress_limit_s)

    async def learn(self, task: str) -> None:
        """Find out how a handoff stands of which this host has missed something."""
        self._act(task, self._settle(task, "behind", LEARN_AFTER_MS))

    async def _settle(self, task: str, reason: str, orphaned_ms: int) -> None:
        later_ms = await learn(self._ownership, task, reason, orphaned_ms)
        if later_ms:
            self._look_in(later_ms)
        else:
            self.look_at_all()

    async def sweep(self) -> None:
        """Look at every open handoff once. One that fails does not keep the others from being looked at."""
        node = self._node
        if node.superseded:
            return
        self._sessions = {row.session: row for row in await node.store.sessions.list()}
        sessions = node.alive(self._sessions.values())
        living = {row.session for row in sessions}
        fit = [row for row in sessions if row.ready and not row.draining and row.group == node.group]
        mail = set(await node.store.inbox_waiting())
        now = node.clock.monotonic()
        orphans: set[str] = set()
        # What this session itself owns is looked after by its owners; now and then it is looked at all the same.
        mine = now - self._own_at > SWEEP_OWN_S
        self._own_at = now if mine else self._own_at
        but_of = living - {node.session} if mine else living
        for row in await node.store.handoffs_at_work(but_of, promised=node.session):
            if not self._claimable(row, living):
                continue
            orphans.add(row.task)
            since = self._seen_since.setdefault(row.task, now)
            # Who has just given it up comes last, even where its session does not say yet that its agent is gone.
            standbys = sorted(each.name for each in fit if not (row.released and each.session == row.owner))
            orphaned_ms = int((now - since) * 1000)
            self._act(row.task, self._recover(row, standbys, orphaned_ms, mail=row.task in mail))
        for task in sorted(mail - orphans):
            self._act(task, self._take_mail_in(task))
        for task in set(self._seen_since) - orphans:
            del self._seen_since[task]

    def _claimable(self, row: HandoffRow, living: set[str]) -> bool:
        owner = self._ownership.owners.get(row.task)
        if owner is not None and not owner.journal.lost.is_set():
            # Owned here: an owner that has nothing to do although something is due is started again.
            return owner.quiet and row.state in (State.CLAIMED, State.RUNNING, State.ORPHANED)
        own = self._node.session
        # What this session was promised and does not own keeps everybody else off for as long as it lives.
        return row.released or own in (row.owner, row.voter.promised.session) or row.owner not in living

    def _act(self, task: str, work: Coroutine[Any, Any, None]) -> None:
        if task in self._busy or len(self._busy) >= AT_ONCE:
            work.close()
            return
        running = asyncio.get_running_loop().create_task(self._guarded(task, work))
        self._busy[task] = running

    def _extra(self, task: str) -> dict[str, object]:
        owner = self._ownership.owners.get(task)
        return {"task": task, "fence": owner.journal.fence.n if owner else 0}

    async def _guarded(self, task: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SidecarError as error:
            told = "task %s: recovering failed and will be tried again: %s"
            log.warning(told, task, error, extra=self._extra(task))
            self._node.observer.count("recovery_failures")
            self._look_again()
        except Exception:
            log.exception("task %s: recovering failed", task, extra=self._extra(task))
            self._node.observer.count("recovery_failures")
            self._look_again()
        finally:
            full = len(self._busy) >= AT_ONCE
            del self._busy[task]
            if full:
                # Some were left out, perhaps of this session's own: they are not to wait for the clock.
                self.look_at_all()

    async def _recover(self, row: HandoffRow, standbys: list[str], orphaned_ms: int, *, mail: bool) -> None:
        """Take an orphan if it is this sidecar's turn; only then is there somebody who can take in its mail."""
        if not (mail and await self.mail.cancels(row.task)):
            await self._take(row, standbys, orphaned_ms)
        if mail:
            await self._take_mail_in(row.task)

    async def _take_mail_in(self, task: str) -> None:
        if await self.mail.take_in(task):
            self.look_at_all()

    async def _take(self, row: HandoffRow, standbys: list[str], orphaned_ms: int) -> None:
        node = self._node
        since = node.clock.monotonic() - orphaned_ms / 1000
        entries = await self._ownership.journal(row.task)
        handoff = Handoff.fold(row.task, entries)
        if handoff.state in FINAL:
            return
        decision: Decision = Wait("other_group")
        if handoff.dispatched.get("group", node.group) == node.group:
            decision = decide(handoff, self._facts.of(handoff, entries, standbys, orphaned_ms), self._limits)
        if isinstance(decision, Wait):
            if decision.ms is not None:
                self._look_in(decision.ms)
            elif untold(row):
                await self._settle(row.task, self._reason(row), orphaned_ms)
            elif row.owner == node.session and not row.released and await self._not_here(decision.reason):
                await pass_on(self._ownership, row.task, self._reason(row))
            return
        owner = await self._ownership.own(row.task, self._reason(row))
        if owner is None:
            return
        if any(entry.kind is not Kind.CLAIMED for entry in await self._after(owner, handoff.tip.seq)):
            # What was decided on is not what was claimed: the next look decides on what is there now.
            self._own_at = 0.0
            node.kick.set()
            return
        await self._carry_out(owner, decision, since)

    async def _not_here(self, reason: str) -> bool:
        return reason == "other_group" or (reason == "no_agent" and await self._node.others_ready())

    def _look_in(self, ms: int) -> None:
        asyncio.get_running_loop().call_later(ms / 1000, self._node.kick.set)

    async def _after(self, owner: Owner, seq: int) -> Sequence[Entry]:
        if owner.journal.handoff.tip.seq == seq:
            return ()
        await owner.journal.written()
        return await self._node.store.entries(owner.task_id, seq)

    async def _carry_out(self, owner: Owner, decision: Decision, since: float) -> None:
        node = self._node
        handoff = owner.journal.handoff
        if owner.working or handoff.terminal is not None:
            return
        match decision:
            case Reattach():
                owner.start(Request(Ask.REATTACH, since=since))
            case Resume(cut=cut):
                node.observer.count("resumed", cut="checkpoint" if cut else "start")
                owner.start(Request(Ask.RESUME, since=since))
            case Cancel():
                await owner.carry_out_cancel()
            case Review(reason=reason):
                owner.write([Draft(Kind.REVIEW, write({"reason": reason, "detail": ""}))])
            case DeadLetter(reason="unacknowledged"):
                error = error_object(
                    "Internal", "The message is too old to begin: nobody was told that it was accepted."
                )
                owner.relay.answer_error(error, Kind.EXPIRED)
            case DeadLetter():
                await Endings(node, owner.journal, owner.viewer).dead_letter(owner.relay)
            case Wait():
                pass

    def _reason(self, row: HandoffRow) -> str:
        """What shows that nobody has it, as the journal names it."""
        owner = self._sessions.get(row.owner)
        evidence = Evidence.RELEASED if row.released else (owner and owner.evidence) or Evidence.EXPIRED
        return _NAMED.get(evidence, evidence.value)
