"""A voter: the real rules of ``bridge.quorum`` and ``bridge.lease`` over a simulated disk.

It takes requests in any order and any number of times, decides on what it has written, and answers only once that
is durable. Leases and evidence live in its memory, promises and entries on its disk. This file must not contain a
rule: it carries out what the rules decide, as ``sidecar.store.voter`` does for SQLite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bridge.journal import Kind, tip_of
from bridge.lease import Evidence, Lease, forgetful, may_claim, renewed
from bridge.proposal import (
    AppendAnswered,
    ClaimAnswered,
    Event,
    PrefixRead,
    PreVoted,
    ReadPrefix,
    SendAppend,
    SendClaim,
    SendPreVote,
)
from bridge.quorum import Claim, Granted, Refusal, Refused, VoterView, decide_append, decide_claim
from tests.simulation.disk import Disk, Stored
from tests.simulation.options import MARGIN_MS, TTL_MS

if TYPE_CHECKING:
    from tests.simulation.clocks import HostClock
    from tests.simulation.kernel import Process
    from tests.simulation.world import World

Asked = SendPreVote | SendClaim | ReadPrefix | SendAppend
Reply = Callable[[Event], None]


class Session(NamedTuple):
    """One life of one sidecar.

    Attributes:
        name: its boot nonce.
        member: the sidecar, in every life.
        boot: which life, in order.
    """

    name: str
    member: str
    boot: int


class Voter:
    """One voter.

    Args:
        world: whose promises are watched.
        process: that it lives in.
        clock: of its host.
        identity: of its disk.
    """

    def __init__(self, world: World, process: Process, clock: HostClock, identity: str) -> None:
        self.process, self.clock = process, clock
        self.disk = Disk(world.kernel, process, identity)
        self.disk.on_synced = self._synced
        self.booted_ms = 0
        self.heard: dict[str, bool] = {}
        self._world = world
        self._leases: dict[str, Lease] = {}
        self._boots: dict[str, int] = {}
        self._released: dict[str, bool] = {}

    def crash(self) -> None:
        """The process has ended: memory is gone, the disk has what it has."""
        self.disk.crash()
        self._leases, self._boots, self._released, self.heard = {}, {}, {}, {}

    def boot(self) -> None:
        """It lives again. Grants were times on a clock that may have begun anew."""
        self.booted_ms = self.clock.ms()
        for task, stored in self.disk.written.items():
            if stored.view.granted is not None:
                self.disk.written[task] = stored._replace(view=stored.view._replace(granted=None))

    # --- what it knows ----------------------------------------------------------------------------------------

    def stored(self, task: str) -> Stored:
        """A journal as it has written it."""
        return self.disk.written.get(task) or Stored(VoterView.empty(task))

    def durable(self, task: str) -> Stored:
        """A journal as its disk has it."""
        return self.disk.synced.get(task) or Stored(VoterView.empty(task))

    def hear(self, session: Session) -> None:
        """A session has renewed, by whatever message."""
        now = self.clock.ms()
        lease = self._leases.get(session.name) or Lease(session.name, now, TTL_MS, MARGIN_MS)
        self._leases[session.name] = renewed(lease, now)
        self._boots[session.member] = max(self._boots.get(session.member, 0), session.boot)

    def release(self, session: str) -> None:
        """A session let all of its handoffs go."""
        self._released[session] = True

    def blocks(self, stored: Stored, candidate: str) -> bool:
        """Whether a live lease of another session stands in a claim's way."""
        holder = stored.view.tip.fence.session
        if holder in ("", candidate) or stored.released:
            return False
        now, evidence = self.clock.ms(), self._evidence(holder)
        if evidence is None and forgetful(self.booted_ms, now, TTL_MS, MARGIN_MS):
            return True
        return not may_claim(self._leases.get(holder), evidence, now)

    def _evidence(self, session: str) -> Evidence | None:
        if self._released.get(session):
            return Evidence.RELEASED
        member, _, boot = session.rpartition(".")
        return Evidence.NEWER_BOOT if self._boots.get(member, 0) > int(boot) else None

    # --- what it is asked -------------------------------------------------------------------------------------

    def ask(self, session: Session, task: str, asked: Asked, reply: Reply) -> None:
        """A request has arrived; the answer leaves when what it rests on is durable."""
        self.hear(session)
        answer = self._decide(task, asked) if asked.voter == self.disk.identity else self._stranger(task, asked)
        self._world.watch.asked(self, task, asked, answer)
        self.disk.when_durable(lambda: reply(answer))

    def _decide(self, task: str, asked: Asked) -> Event:
        match asked:
            case SendPreVote(voter=voter, claim=claim):
                vote = self._vote(task, claim)
                return PreVoted(voter, claim.fence, vote if isinstance(vote, Refused) else vote[1])
            case SendClaim(voter=voter, claim=claim):
                vote = self._vote(task, claim)
                if isinstance(vote, Refused):
                    return ClaimAnswered(voter, claim.fence, vote)
                self._write(task, self.stored(task)._replace(view=vote[0]))
                return ClaimAnswered(voter, claim.fence, vote[1])
            case ReadPrefix(voter=voter, tip=tip):
                prefix = self.stored(task).entries[: tip.seq]
                return PrefixRead(voter, tip, prefix if tip_of(task, prefix) == tip else None)
            case SendAppend():
                return self._append(task, asked)

    def _vote(self, task: str, claim: Claim) -> tuple[VoterView, Granted] | Refused:
        stored = self.stored(task)
        blocks = self.blocks(stored, claim.candidate)
        return decide_claim(stored.view, claim, holder_blocks=blocks, now_ms=self.clock.ms())

    def _append(self, task: str, asked: SendAppend) -> AppendAnswered:
        append, before = asked.append, self.stored(task)
        voters = len(self._world.voter_ids)
        decided = decide_append(before.view, append, before.hash_at, voters=voters)
        if isinstance(decided, Refused):
            return AppendAnswered(asked.voter, append.fence, decided)
        view, plan, acknowledged = decided
        entries, released = before.entries, before.released
        if plan.cut_from is not None:
            self._world.kernel.fired["suffix cut"] += 1
            entries = entries[: plan.cut_from - 1]
        for entry in plan.add:
            if entry.kind in (Kind.ORPHANED, Kind.CLAIMED):
                released = entry.kind is Kind.ORPHANED
        if view != before.view or plan.add:
            self._write(task, Stored(view, entries + plan.add, released))
        if 0 < append.committed <= view.committed:
            self.disk.when_durable(lambda: self.heard.update({task: True}))
        return AppendAnswered(asked.voter, append.fence, acknowledged)

    def _write(self, task: str, after: Stored) -> None:
        self._world.watch.wrote(self, task, self.stored(task), after)
        self.disk.write(task, after)

    def _synced(self, task: str, stored: Stored) -> None:
        self._world.watch.synced(self, task, stored)

    def _stranger(self, task: str, asked: Asked) -> Event:
        # It stands where the named voter stood, and has another file: it has no vote.
        nothing = VoterView.empty(task)
        refused = Refused(Refusal.UNKNOWN_VOTER, nothing.promised, nothing.tip, 0)
        match asked:
            case SendPreVote(voter=voter, claim=claim):
                return PreVoted(voter, claim.fence, refused)
            case SendClaim(voter=voter, claim=claim):
                return ClaimAnswered(voter, claim.fence, refused)
            case ReadPrefix(voter=voter, tip=tip):
                return PrefixRead(voter, tip, None)
            case SendAppend(voter=voter, append=append):
                return AppendAnswered(voter, append.fence, refused)
