"""A voter's file against the rules in memory: owners come and go, adopt, cut, repeat themselves and die.

After every answer the file must say what the rules say, show what is committed, and keep the gist of all of it.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from bridge.catchup import holds
from bridge.gist import Gist, folded
from bridge.handoff import TRANSITIONS, State
from bridge.journal import TERMINAL, Draft, Entry, Fence, Kind, tip_of
from bridge.quorum import Append, Claim, Refused, VoterView, decide_append, decide_claim
from sidecar.records import NO_RIDERS, Riders
from sidecar.store import LocalVoter, Store
from tests.contract.journals import view_of
from tests.contract.peering import Said, grown, part

STEPS = 60


@dataclass
class Reference:
    """The rules over a list."""

    view: VoterView = field(default_factory=lambda: VoterView.empty("t"))
    log: list[Entry] = field(default_factory=list)

    def hash_at(self, seq: int) -> str | None:
        return self.log[seq - 1].hash if 1 <= seq <= len(self.log) else None

    def append(self, append: Append) -> object:
        decided = decide_append(self.view, append, self.hash_at, voters=2)
        if isinstance(decided, Refused):
            return decided
        self.view, plan, answer = decided
        if plan.cut_from is not None:
            del self.log[plan.cut_from - 1 :]
        self.log += plan.add
        return answer

    def claim(self, claim: Claim, *, ask: bool) -> object:
        decided = decide_claim(self.view, claim, holder_blocks=False, now_ms=0, grant_ms=0)
        if isinstance(decided, Refused):
            return decided
        if not ask:
            self.view = decided[0]
        return decided[1]


@dataclass
class Owner:
    """One that adopted what it found, and goes on under its fence."""

    fence: Fence
    log: list[Entry]
    committed: int = 0


class World:
    """One voter, its reference, and everybody who ever owned the handoff."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.reference = Reference()
        self.owners: list[Owner] = []
        self.sent: list[tuple[Append, Riders]] = []
        self.shown = 0
        self.seen: Counter[str] = Counter()

    async def step(self, voter: LocalVoter) -> None:
        roll = self.chance.random()
        if roll < 0.12 or not self.owners:
            await self._claim(voter)
        elif roll < 0.25 and self.sent:
            await self._send(voter, *self.chance.choice(self.sent))  # late, or once more
        else:
            owner = self.owners[-1] if self.chance.random() < 0.8 else self.chance.choice(self.owners)
            self._write(owner)
            append = self._next(owner)
            riders = self._riders(owner) if self.chance.random() < 0.5 else NO_RIDERS
            self.sent.append((append, riders))
            await self._send(voter, append, riders)

    async def _claim(self, voter: LocalVoter) -> None:
        fence = Fence(self.reference.view.promised.n + self.chance.choice([0, 1, 1, 2]), f"s{len(self.owners)}")
        claim = Claim("t", fence, fence.session)
        for ask in (True, False):
            answer = await (voter.pre_vote(claim) if ask else voter.claim(claim))
            expected = self.reference.claim(claim, ask=ask)
            assert answer == expected
            if isinstance(expected, Refused):
                return
        # Another majority may have a shorter journal, but never one without what is committed.
        kept = self.chance.randint(self.reference.view.committed, len(self.reference.log))
        log = self.reference.log[:kept] or grown("t", [], fence, [Draft(Kind.DISPATCHED, b"{}")])
        self.owners.append(Owner(fence, grown("t", log, fence, [Draft(Kind.CLAIMED, b"{}")])))

    def _write(self, owner: Owner) -> None:
        state = folded(Gist(), [entry.kind for entry in owner.log]).state
        kinds = sorted(set(TRANSITIONS[state]) - {Kind.CLAIMED, Kind.VOTERS})
        kinds = [kind for kind in kinds if kind not in TERMINAL or self.chance.random() < 0.2]
        for kind in self.chance.choices(kinds, k=self.chance.randint(0, 2)) if kinds else []:
            if kind in TRANSITIONS[folded(Gist(), [entry.kind for entry in owner.log]).state]:
                body = b'{"x":%d}' % self.chance.randint(0, 9)
                owner.log = grown("t", owner.log, owner.fence, [Draft(kind, body)])

    def _next(self, owner: Owner) -> Append:
        last = owner is self.owners[-1]
        same = sum(1 for mine, its in zip(owner.log, self.reference.log, strict=False) if mine == its)
        if last and same == len(self.reference.log) and self.chance.random() < 0.3:
            # What this voter has under the last fence others may have, too; from then on it stays.
            owner.committed = self.chance.randint(owner.committed, len(self.reference.log))
        after = same if self.chance.random() < 0.6 else self.chance.randint(0, len(owner.log))
        until = self.chance.choice([len(owner.log), self.chance.randint(after, len(owner.log))])
        return part("t", owner.log, after, owner.fence, owner.committed, until)

    def _riders(self, owner: Owner) -> Riders:
        seq = self.chance.randint(1, len(owner.log))
        return Riders(view_of("t", status_at=seq, context_id=owner.log[seq - 1].hash), seq)

    async def _send(self, voter: LocalVoter, append: Append, riders: Riders) -> None:
        before, log = self.reference.view, [*self.reference.log]
        expected = self.reference.append(append)
        answer = await voter.append_soon(append, riders, asked=voter.voter)
        assert answer == expected
        after = self.reference.view
        self.seen["refused" if isinstance(expected, Refused) else "taken"] += 1
        self.seen["cut"] += log != self.reference.log[: len(log)]
        self.seen["something else told after a cut"] += self._told_else(log)
        self.seen["word alone"] += after.committed > before.committed and after.tip == before.tip

    def _told_else(self, log: list[Entry]) -> bool:
        kept = sum(1 for old, new in zip(log, self.reference.log, strict=False) if old == new)
        added = [entry.kind for entry in self.reference.log[kept:]]
        wrong = folded(folded(Gist(), [entry.kind for entry in log]), added)
        return kept < len(log) and wrong != folded(Gist(), [entry.kind for entry in self.reference.log])

    async def check(self, store: Store, voter: LocalVoter) -> None:
        reference, view = self.reference, self.reference.view
        row = await store.handoff_row("t")
        if row is None:
            assert view == VoterView.empty("t")
            return
        assert row.voter._replace(granted=None, granted_until_ms=0) == view._replace(
            granted=None, granted_until_ms=0
        )
        assert await store.entries("t") == reference.log[: view.committed]
        gist = folded(Gist(), [entry.kind for entry in reference.log])
        assert (row.state, row.released) == (gist.word.value, gist.released)
        ended = next((entry.seq for entry in reference.log if entry.kind in TERMINAL), 0)
        assert row.terminal == (0 < ended <= view.committed)
        waits = view.committed == len(reference.log) and gist.word in (State.SUSPENDED, State.REVIEW)
        assert bool(await store.handoffs_at_work()) == bool(reference.log and not waits and not row.terminal)
        await self._check_prefix(voter)
        shown = await store.view("t")
        seq = shown.status_at if shown is not None else 0
        assert self.shown <= seq <= view.committed
        assert shown is None or shown.context_id == reference.log[seq - 1].hash
        self.seen["row shown"] += seq > self.shown
        self.shown = seq

    async def _check_prefix(self, voter: LocalVoter) -> None:
        reference = self.reference
        owner = self.chance.choice(self.owners)
        tip = tip_of("t", owner.log[: self.chance.randint(1, len(owner.log))])
        after = self.chance.randint(0, tip.seq)
        there = holds(reference.view, tip, reference.hash_at)
        expected = tuple(reference.log[after : tip.seq]) if there else None
        read = await voter.read_prefix("t", tip, after)
        if expected and expected[-1].kind is not Kind.REWOUND:
            assert read == expected
        assert (read is None) == (expected is None)


async def history(seed: int, path: Path) -> Counter[str]:
    world = World(seed)
    store = await Store.open(path, alone=False)
    voter = store.local_voter(Said(), listed=False)
    for number in range(STEPS):
        await world.step(voter)
        await world.check(store, voter)
        if number % 25 == 24:
            await store.close()
            store = await Store.open(path, alone=False)
            voter = store.local_voter(Said(), listed=False)
            world.seen["opened again"] += 1
    await store.close()
    return world.seen


async def test_the_file_says_what_the_rules_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.store.voter.now_ms", count(10_000, 1_000).__next__)  # grants run out at once
    seen: Counter[str] = Counter()
    for seed in range(12):
        seen += await history(seed, tmp_path / f"{seed}.db")
    happened = {"refused", "taken", "cut", "something else told after a cut", "word alone", "row shown"}
    assert set(seen) == happened | {"opened again"}
