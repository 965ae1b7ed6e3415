"""Several processes on one store: races have one winner, kills lose nothing that was acknowledged."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

from bridge.journal import Fence, Kind, verify
from bridge.lease import Evidence
from sidecar.store import Store
from tests.contract.journals import beginning

ROOT = Path(__file__).parents[2]
RACED = 60


def start(module: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.contract.{module}", *arguments],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


async def test_of_two_processes_that_claim_the_same_handoffs_exactly_one_wins_each(store: Store, url: str) -> None:
    dead = Fence(1, "dead")
    await asyncio.gather(*(store.voter.append(beginning(f"t{n}", dead)) for n in range(RACED)))
    racers = [start("racing_claimer", url, name, str(RACED)) for name in ("one", "two")]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate(timeout=30)[0]) for racer in racers]
    assert all(won), "one of them won everything: this was no race"
    assert sorted(won[0] + won[1]) == sorted(f"t{n}" for n in range(RACED))
    for name, tasks in zip(("one", "two"), won, strict=True):
        for task in tasks:
            entries = await store.entries(task)
            assert verify(task, entries).seq == 4
            assert [entry.kind for entry in entries[2:]] == [Kind.CLAIMED, Kind.COMPLETED]
            assert entries[3].body == f'{{"by":"{name}"}}'.encode()


async def test_after_a_kill_every_acknowledged_append_is_there_and_the_chain_verifies(
    store: Store, url: str
) -> None:
    chance = random.Random(4)
    for round_ in range(4):
        task = f"killed-{round_}"
        writer = start("killed_writer", url, task)
        assert writer.stdout is not None
        session = writer.stdout.readline().split()[1]
        for _ in range(chance.randrange(1, 60)):
            writer.stdout.readline()
        assert (await store.sessions.row(session)).evidence is None  # type: ignore[union-attr]
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in writer.communicate()[0].splitlines() if line.isdigit()]
        entries = await store.entries(task, 0, 1_000_000)
        row = await store.handoff_row(task)
        assert row is not None
        assert verify(task, entries) == row.voter.tip
        assert len(entries) >= max(acknowledged, default=18)
        gone = await store.sessions.row(session)
        assert gone is not None
        assert gone.evidence is Evidence.LOCK_FREED
