"""Voters, candidates and a network that loses, repeats and reorders: deterministic, driven by a list of numbers.

Leases are left out on purpose (``holder_blocks`` is always false): they only decide when to try, so every promise
checked here must hold however badly they are timed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from bridge.catchup import DEFAULT_BOUNDS, Bounds, chunk, holds
from bridge.journal import TERMINAL, Draft, Entry, Fence, Kind, verify
from bridge.jsontext import write
from bridge.proposal import (
    AppendAnswered,
    Began,
    ClaimAnswered,
    Committed,
    Effect,
    Elapsed,
    Event,
    Lost,
    Opened,
    OpenJournal,
    PrefixRead,
    PreVoted,
    ReadPrefix,
    SendAppend,
    SendClaim,
    SendPreVote,
)
from bridge.proposer import Proposer, Stage
from bridge.quorum import Append, Refused, VoterView, decide_append, decide_claim
from bridge.seal import AFTER_END
from bridge.tombstone import decide_purge
from bridge.voterid import misdirected
from bridge.voterset import alone

TASK = "t"

Asked = SendPreVote | SendClaim | ReadPrefix | SendAppend


class Message(NamedTuple):
    """Something under way: to a voter by name, or to a candidate ("")."""

    to: str
    arrive: Callable[[], None]


@dataclass
class Disk:
    """One voter's stored state; a crash loses nothing of it."""

    id: str
    view: VoterView = field(default_factory=lambda: VoterView.empty(TASK))
    entries: list[Entry] = field(default_factory=list)

    def hash_at(self, seq: int) -> str | None:
        return self.entries[seq - 1].hash if 1 <= seq <= len(self.entries) else None


@dataclass
class World:
    """Everything that happens, one numbered choice at a time."""

    names: tuple[str, ...]
    bounds: Bounds = DEFAULT_BOUNDS
    now_ms: int = 0
    disks: dict[str, Disk] = field(default_factory=dict)
    candidates: list[Proposer] = field(default_factory=list)
    network: list[Message] = field(default_factory=list)
    shown: dict[int, Entry] = field(default_factory=dict)
    owners: dict[int, str] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    drafts: int = 0
    appends: list[Append] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.disks = {name: Disk(name) for name in self.names}

    def wipe(self, name: str, new_id: str) -> None:
        """The voter comes back empty, under another id; what is sent to the old one still reaches its host."""
        self.disks[name] = self.disks[new_id] = Disk(new_id)

    def purge(self, name: str) -> bool:
        """The voter's retention has passed; whether it was allowed to delete."""
        disk = self.disks[name]
        ends = [entry.seq for entry in disk.entries if entry.kind in TERMINAL]
        purged = decide_purge(disk.view, TASK, ends[0] if ends else 0)
        if purged is not None:
            disk.view, disk.entries = purged[0], []
        return purged is not None

    def stand(self, n: int, *sets: tuple[str, ...]) -> Proposer:
        """Another session wants the handoff; sessions may well choose the same n."""
        candidate = Proposer(TASK, Fence(n, f"s{len(self.candidates)}"), sets or (self.names,), self.bounds)
        self.candidates.append(candidate)
        self.tell(candidate, Began())
        return candidate

    def offer(self, candidate: Proposer, *kinds: Kind) -> None:
        """The owner appends something."""
        self.drafts += 1
        body = write({"x": self.drafts, "voters": self.names})
        self.tell(candidate, Opened(self.now_ms, [Draft(kind, body) for kind in kinds]))

    def change(self, owner: Proposer, *names: str) -> None:
        """The owner wants other voters; new ones begin empty."""
        for name in names:
            self.disks.setdefault(name, Disk(name))
        self.tell(owner, Opened(self.now_ms, [Draft(Kind.VOTERS, write({"voters": names}))]))

    def tell(self, candidate: Proposer, event: Event) -> None:
        for effect in candidate.handle(event):
            self.carry_out(candidate, effect)

    def carry_out(self, candidate: Proposer, effect: Effect) -> None:
        match effect:
            case OpenJournal():
                first = () if candidate.log else (Kind.DISPATCHED,)
                self.offer(candidate, *first, Kind.CLAIMED, *(() if candidate.ended else (Kind.EVENT,)))
            case Committed():
                self.show(candidate, effect.seq)
            case Lost():
                self.lost.append(effect)
            case SendPreVote() | SendClaim() | ReadPrefix() | SendAppend():
                self.network.append(Message(effect.voter, lambda: self.arrive(candidate, effect)))

    def arrive(self, candidate: Proposer, effect: Asked) -> None:
        """A voter takes a request, writes, and only then answers."""
        disk = self.disks[effect.voter]
        answer = self.answer(candidate.fence, disk, effect)
        self.network.append(Message("", lambda: self.tell(candidate, answer)))

    def elapse(self, candidate: Proposer) -> None:
        """Nothing has come for a while."""
        self.tell(candidate, Elapsed())

    def run(self, away: str = "") -> None:
        """Deliver everything, in order; messages to one voter are lost while it is away."""
        while self.network:
            message = self.network.pop(0)
            if not away or message.to != away:
                message.arrive()
            self.check()

    def answer(self, fence: Fence, disk: Disk, asked: Asked) -> Event:
        unknown = misdirected(disk.view, asked.voter, disk.id)
        match asked:
            case SendPreVote() if unknown:
                return PreVoted(asked.voter, fence, unknown)
            case SendClaim() if unknown:
                return ClaimAnswered(asked.voter, fence, unknown)
            case SendAppend() if unknown:
                return AppendAnswered(asked.voter, fence, unknown)
            case SendPreVote():
                vote = decide_claim(disk.view, asked.claim, holder_blocks=False, now_ms=self.now_ms)
                return PreVoted(asked.voter, fence, vote if isinstance(vote, Refused) else vote[1])
            case SendClaim():
                claimed = decide_claim(disk.view, asked.claim, holder_blocks=False, now_ms=self.now_ms)
                if isinstance(claimed, Refused):
                    return ClaimAnswered(asked.voter, fence, claimed)
                disk.view = claimed[0]
                return ClaimAnswered(asked.voter, fence, claimed[1])
            case ReadPrefix():
                there = holds(disk.view, asked.tip, disk.hash_at)
                prefix = chunk(disk.entries[: asked.tip.seq], asked.after, self.bounds)
                return PrefixRead(asked.voter, asked.tip, prefix if there else None, asked.after)
            case SendAppend():
                self.appends.append(asked.append)
                log = [*disk.entries[: asked.append.after_seq], *asked.append.entries]
                voters = 1 if alone(log, disk.view.committed, disk.id) else len(self.disks)
                appended = decide_append(disk.view, asked.append, disk.hash_at, voters=voters)
                if isinstance(appended, Refused):
                    return AppendAnswered(asked.voter, fence, appended)
                disk.view, plan, acknowledged = appended
                keep = len(disk.entries) if plan.cut_from is None else plan.cut_from - 1
                disk.entries = disk.entries[:keep] + list(plan.add)
                return AppendAnswered(asked.voter, fence, acknowledged)

    def show(self, candidate: Proposer, seq: int) -> None:
        """What a client sees is what every later owner must have."""
        for entry in candidate.log[:seq]:
            assert self.shown.setdefault(entry.seq, entry) == entry, f"entry {entry.seq} shown twice"

    def choose(self, action: int, pick: int) -> None:
        """One step of a schedule."""
        if action == 0:
            promised = max(disk.view.promised.n for disk in self.disks.values())
            self.stand(max(1, promised + pick % 3))
        elif action == 1 and self.candidates:
            self.tell(self.candidates[pick % len(self.candidates)], Elapsed())
        elif action == 2 and self.candidates:
            candidate = self.candidates[pick % len(self.candidates)]
            if candidate.stage in (Stage.OPENING, Stage.OWNING) and not candidate.ended:
                self.offer(candidate, Kind.EVENT if pick % 5 else Kind.COMPLETED)
        elif action == 3:
            self.now_ms += pick % 700
        elif self.network:
            at = pick % len(self.network)
            if action == 4:
                self.network.pop(at)  # lost
            elif action == 5:
                self.network[at].arrive()  # and will arrive again
            else:
                self.network.pop(at).arrive()
        self.check()

    def heal(self) -> Proposer:
        """Every message arrives, once and in order: a new candidate must get through."""
        self.network.clear()
        self.now_ms += 1_000
        candidate = self.stand(max(disk.view.promised.n for disk in self.disks.values()) + 1)
        while self.network:
            self.network.pop(0).arrive()
            self.check()
        return candidate

    def check(self) -> None:
        """The promises, after every step."""
        for disk in self.disks.values():
            if disk.view.purged:
                continue
            assert verify(TASK, disk.entries) == disk.view.tip
            assert disk.view.committed <= len(disk.entries)
            ends = [entry.seq for entry in disk.entries if entry.kind in TERMINAL]
            assert len(ends) <= 1, "two ends"
            assert all(entry.kind in (Kind.CLAIMED, *AFTER_END) for seq in ends for entry in disk.entries[seq:])
            for entry in disk.entries:
                session = self.owners.setdefault(entry.fence.n, entry.fence.session)
                assert session == entry.fence.session, f"two sessions share n={entry.fence.n}"
            for entry in disk.entries[: disk.view.committed]:
                assert self.shown.setdefault(entry.seq, entry) == entry, "committed prefixes differ"
        for candidate in self.candidates:
            if candidate.stage is Stage.OWNING:
                # It cannot have what a later owner committed, but all that came before.
                older = [entry for entry in self.shown.values() if entry.fence <= candidate.fence]
                assert all(candidate.log[entry.seq - 1 : entry.seq] == [entry] for entry in older), "entry lost"
