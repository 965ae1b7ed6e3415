"""A line that flips bits, is cut and goes silent, under load: what is heard was said, once and in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from bridge.journal import Entry
from bridge.quorum import Appended
from sidecar.errors import PeerUnavailable
from tests.hosts.peer_lines import BadLine
from tests.hosts.peer_side import append, entries, link, port, until

BLOWS = ("flip", "cut", "silent", "none")


async def _blow(line: BadLine, kind: str, rng: random.Random) -> None:
    if kind == "flip":
        line.flip_at = line.carried_now + rng.randrange(400, 40_000)
    elif kind == "cut":
        line.cut()
    elif kind == "silent":
        line.silent = True
        await asyncio.sleep(rng.uniform(0.05, 0.4))
        line.silent = False
        line.cut()  # what was swallowed leaves a gap that no connection survives
    await asyncio.sleep(rng.uniform(0.02, 0.15))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_what_is_heard_was_said_once_and_in_order(
    seed: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sidecar.peers.line.DIAL_AGAIN_S", (0.01, 0.05))
    monkeypatch.setattr("sidecar.peers.channel.TICK_S", 0.15)
    rng = random.Random(seed)
    said: list[Entry] = entries(12_000, size=300)
    outcomes: Counter[str] = Counter()
    storm_over = False

    async def speak(first: int) -> None:
        """One of several that share the link; each waits for a few answers at a time."""
        for at in range(first, len(said), 4 * 5):
            if storm_over:
                return
            asked = {index: to.append_soon(append([said[index]])) for index in range(at, min(at + 5, len(said)))}
            for index, future in asked.items():
                try:
                    answer = await asyncio.wait_for(asyncio.shield(future), 20)
                except PeerUnavailable:
                    outcomes["unknown"] += 1
                else:
                    assert isinstance(answer, Appended)
                    assert (answer.seq, answer.hash) == (said[index].seq, said[index].hash)
                    answered.append(index)
            if not to.connected:
                await asyncio.sleep(0.01)

    answered: list[int] = []
    async with port() as end, BadLine(end.url) as line, link(line.url, timeout_s=3) as to:
        speaking = [asyncio.create_task(speak(first)) for first in range(0, 20, 5)]
        for _ in range(12):
            kind = rng.choice(BLOWS)
            outcomes[kind] += 1
            await _blow(line, kind, rng)
        storm_over = True
        await asyncio.gather(*speaking)
        await until(lambda: to.connected)
        assert isinstance(await to.append_soon(append(said[:1])), Appended)
        heard = [each.entries[0] for each in end.handler.appends[:-1]]
        assert line.made > 1
        assert (line.flipped > 0) == (outcomes["flip"] > 0)
        assert end.metrics.value("dhp_sidecar_peers_malformed_total", code="malformed") == 0
    assert all(said[entry.seq - 1] == entry for entry in heard)  # to the last byte
    assert max(Counter(entry.seq for entry in heard).values()) == 1
    assert {said[index].seq for index in answered} <= {entry.seq for entry in heard}
    by_speaker = [[entry.seq for entry in heard if (entry.seq - 1) // 5 % 4 == speaker] for speaker in range(4)]
    assert all(each == sorted(each) for each in by_speaker)
    assert len(answered) > 50
    assert outcomes["unknown"] > 0
    assert not [each for each in caplog.records if each.exc_info]
