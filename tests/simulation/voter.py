"""A voter: the real rules of ``bridge.quorum`` and ``bridge.session`` over a simulated disk.

It takes requests in any order and any number of times, decides on what it has written, and answers only once that
is durable. What it heard of sessions lives in its memory, promises and entries on its disk. This file must not
contain a rule: it carries out what the rules decide, as ``sidecar.store.voter`` does for SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bridge.catchup import chunk, holds
from bridge.journal import Entry, Kind
from bridge.lease import Evidence
from bridge.placement import MEMBERS, MemberList, member_list, misplaced
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
from bridge.quorum import (
    Claim,
    Granted,
    Refused,
    VoterView,
    decide_append,
    decide_claim,
    decide_dispatch,
)
from bridge.session import Renewal, SessionsHeard
from bridge.tombstone import Tombstone, bury, decide_purge
from bridge.voterid import misdirected
from bridge.voterset import alone
from tests.simulation.disk import Disk, Stored
from tests.simulation.kernel import MS
from tests.simulation.options import MARGIN_MS, TTL_MS

if TYPE_CHECKING:
    from tests.simulation.clocks import HostClock
    from tests.simulation.kernel import Process
    from tests.simulation.world import World


class SendDispatch(SendAppend):
    """The first append of a journal with one voter, which claims it in the same transaction."""

    __slots__ = ()


Asked = SendPreVote | SendClaim | ReadPrefix | SendAppend
Reply = Callable[[Event, bool], None]


class Voter:
    """One voter.

    Args:
        world: whose promises are watched.
        process: that it lives in.
        clock: of its host.
        identity: of its disk.

    Attributes:
        heard: handoffs of which it was told, in this life, what is committed.
        touched_us: when it took an append of each handoff last.
    """

    def __init__(self, world: World, process: Process, clock: HostClock, identity: str) -> None:
        self.process, self.clock = process, clock
        self.disk = Disk(world.kernel, process, identity)
        self.disk.on_synced = self._synced
        self.sessions = SessionsHeard(0, TTL_MS, MARGIN_MS)
        self.heard: dict[str, bool] = {}
        self.touched_us: dict[str, int] = {}
        self._kept: dict[str, bool] = {}
        self._world = world
        self._list: tuple[Stored, MemberList] | None = None
        self._said: dict[tuple[object, ...], bool] = {}

    def crash(self) -> None:
        """The process has ended: memory is gone, the disk has what it has."""
        self.disk.crash()
        self.heard, self.touched_us, self._kept = {}, {}, {}

    def boot(self) -> None:
        """It lives again. Grants were times on a clock that may have begun anew."""
        self.sessions = SessionsHeard(self.clock.ms(), TTL_MS, MARGIN_MS)
        for task, stored in self.disk.written.items():
            if stored.view.granted is not None:
                self.disk.written[task] = stored._replace(view=stored.view._replace(granted=None))
            self._keep(task, stored)

    # --- what it knows ----------------------------------------------------------------------------------------

    def stored(self, task: str) -> Stored:
        """A journal as it has written it."""
        return self.disk.written.get(task) or Stored(VoterView.empty(task))

    def durable(self, task: str) -> Stored:
        """A journal as its disk has it."""
        return self.disk.synced.get(task) or Stored(VoterView.empty(task))

    def hear(self, renewal: Renewal) -> bool:
        """A session has renewed, by whatever message; whether this voter stands by it."""
        return self.sessions.renewed(renewal, self.clock.ms())

    def release(self, renewal: Renewal) -> None:
        """A session let go of everything."""
        self._world.kernel.fired["release heard"] += 1
        self.sessions.released(renewal, self.clock.ms())

    def blocks(self, stored: Stored, candidate: str) -> bool:
        """Whether a live lease of another session stands in a claim's way."""
        evidence = Evidence.RELEASED if stored.released else None
        blocks = self.sessions.blocks(stored.view.tip.fence.session, candidate, self.clock.ms(), evidence)
        return blocks and not self._world.suspects()

    # --- what it is asked -------------------------------------------------------------------------------------

    def form(self, journal: Stored) -> None:
        """It has met all other voters, and holds the member list."""
        self._write(MEMBERS, journal)
        self.disk.when_durable(lambda: None)

    def held_list(self) -> MemberList:
        """The member list as it holds it."""
        stored = self.stored(MEMBERS)
        if self._list is None or self._list[0] is not stored:
            self._list = stored, member_list(stored.entries, stored.view.committed)
        return self._list[1]

    def knows_all(self, stored: Stored) -> bool:
        """Whether it is the only voter of a journal: what it has is all that anybody can have been shown."""
        return self._alone(stored.entries, stored.view.committed)

    def _alone(self, entries: Sequence[Entry], committed: int) -> bool:
        # The rule reads only what names voters; what it said of that does not change.
        naming = [entry for entry in entries if entry.kind in (Kind.DISPATCHED, Kind.VOTERS)]
        known = bool(naming) and naming[-1].seq <= committed
        key = (self.disk.identity, known, *(entry.hash for entry in naming))
        if key not in self._said:
            self._said[key] = alone(naming, committed, self.disk.identity)
        return self._said[key]

    def ask(self, renewal: Renewal, task: str, asked: Asked, reply: Reply) -> None:
        """A request has arrived; the answer leaves when what it rests on is durable.

        With it leaves whether this voter stands by the session that asked: every request is a renewal.
        """
        stands = self.hear(renewal)
        refused = misdirected(VoterView.empty(task), asked.voter, self.disk.identity)
        if refused is None:
            answer = self._decide(task, asked)
        else:
            answer, stands = _refusing(asked, refused), False
        self._world.watch.asked(self, task, asked, answer)
        self.disk.when_durable(lambda: reply(answer, stands))

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
            case ReadPrefix():
                return self._read(task, asked)
            case SendAppend():
                return self._append(task, asked)

    def _vote(self, task: str, claim: Claim) -> tuple[VoterView, Granted] | Refused:
        stored = self.stored(task)
        blocks = self.blocks(stored, claim.candidate)
        return decide_claim(stored.view, claim, holder_blocks=blocks, now_ms=self.clock.ms())

    def _read(self, task: str, asked: ReadPrefix) -> PrefixRead:
        stored, tip, after = self.stored(task), asked.tip, asked.after
        fired = self._world.kernel.fired
        if not holds(stored.view, tip, stored.hash_at):
            fired["prefix gone while it was read"] += after > 0
            return PrefixRead(asked.voter, tip, None, after)
        fired["prefix read in chunks"] += after > 0
        entries = chunk(stored.entries[: tip.seq], after, self._world.options.bounds)
        return PrefixRead(asked.voter, tip, entries, after)

    def _append(self, task: str, asked: SendAppend) -> AppendAnswered:
        append, before = asked.append, self.stored(task)
        refused = misplaced(before.view, append, self.held_list()) if self._world.listed else None
        if refused is not None:
            self._world.kernel.fired["dispatch refused: misplaced"] += 1
            return AppendAnswered(asked.voter, append.fence, refused)
        # A journal that is longer and equal stays as it is.
        joined = max(before.entries[: append.after_seq] + tuple(append.entries), before.entries, key=len)
        voters = 1 if self._alone(joined, before.view.committed) else 2
        dispatch = isinstance(asked, SendDispatch)
        rule = decide_dispatch if dispatch else decide_append
        decided = rule(before.view, append, before.hash_at, voters=voters)
        if isinstance(decided, Refused):
            self._world.kernel.fired["dispatch met another"] += dispatch
            return AppendAnswered(asked.voter, append.fence, decided)
        view, plan, acknowledged = decided
        self.touched_us[task] = self._world.kernel.now
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
        self._keep(task, stored)

    # --- what it deletes --------------------------------------------------------------------------------------

    def purge(self, task: str) -> None:
        """Delete a handoff, if it may."""
        stored = self.stored(task)
        decided = decide_purge(stored.view, task, stored.end)
        if decided is not None and not stored.view.purged:
            self._world.kernel.fired["purged"] += 1
            self._delete(task, decided[0])

    def bury(self, stone: Tombstone) -> None:
        """Another voter has purged it."""
        stored = self.stored(stone.task)
        if not stored.view.purged:
            ended = 0 < stored.end <= stored.view.committed
            what = "unfinished copy" if stored.entries and not ended else "copy" if ended else "task it never had"
            self._world.kernel.fired[f"buried: {what}"] += 1
            self._delete(stone.task, bury(stored.view, stone))

    def _delete(self, task: str, view: VoterView) -> None:
        self._write(task, Stored(view))
        self.disk.when_durable(lambda: None)

    def _keep(self, task: str, stored: Stored) -> None:
        # Retention counts from when this voter, in this life, knew of the end.
        retention = self._world.options.retention_ms
        if retention and task not in self._kept and 0 < stored.end <= stored.view.committed:
            self._kept[task] = True
            label = f"{self.process.name} has kept {task} long enough"
            self._world.kernel.after(retention * MS, self.process, label, self.purge, task)


def _refusing(asked: Asked, refused: Refused) -> Event:
    # It stands where the named voter stood, and has another file: it has no vote.
    match asked:
        case SendPreVote(voter=voter, claim=claim):
            return PreVoted(voter, claim.fence, refused)
        case SendClaim(voter=voter, claim=claim):
            return ClaimAnswered(voter, claim.fence, refused)
        case ReadPrefix(voter=voter, tip=tip, after=after):
            return PrefixRead(voter, tip, None, after)
        case SendAppend(voter=voter, append=append):
            return AppendAnswered(voter, append.fence, refused)
