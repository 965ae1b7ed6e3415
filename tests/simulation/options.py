"""Swarm options: every seed switches on a random subset of the faults, and draws how hard each of them strikes.

With all faults on at once most worlds die early and alike; a world with three kinds of trouble goes deep in them
(Groce et al., Swarm Testing, 2012). This file must not know how a fault is made.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from bridge.catchup import DEFAULT_BOUNDS, Bounds

TTL_MS = 1_000
MARGIN_MS = 100
NAMES = "abcdefghij"

FAULTS = (
    "loss", "repeat", "slow", "partition", "kill_effect", "kill", "power", "pause", "disk_dead", "disk_lost",
    "drift", "jump", "freeze", "agent_kill", "agent_hang", "agent_breaks", "client_moves", "cancel", "twice",
    "eager", "cut_off", "drain", "move", "receipt_lost", "late", "purge",
    "request_lost",
)  # fmt: skip


@dataclass
class Options:
    """What may go wrong in a world, and what its work is.

    Attributes:
        on: the kinds of fault that are switched on.
        voters: of a handoff: 1 (a database of its own) or 3 (each beside a sidecar).
        pair: two hosts, each the only voter of what the other one dispatches.
        sidecars: how many.
        tasks: how many.
        safety_ms: how long faults strike before everything is healed.
        loss, repeat, slow: of each message.
        slow_ms: a delayed message is delayed by up to this.
        pace_ms: mean time between two events of an agent, more or less.
        every_ms: mean time between faults that strike by the clock.
        held_bytes: room for what a run says while its owner cannot reach its voters.
        fuse: mean number of effects between kills at an effect.
        retention_ms: voters purge what has ended for so long; 0 for never.
        bounds: of what one message carries of a journal.
        errands: agents also do something outside.
        outage: two of three hosts die and stay dead while everything else is healed.
        suspicion: how often a voter takes a living session for dead, as if its address had refused; only where
            clocks are wild, since no lease survives it.
    """

    on: frozenset[str] = frozenset()
    voters: int = 3
    pair: bool = False
    sidecars: int = 3
    tasks: int = 1
    safety_ms: int = 4_000
    loss: float = 0.0
    repeat: float = 0.0
    slow: float = 0.0
    slow_ms: int = 50
    pace_ms: int = 20
    every_ms: int = 500
    held_bytes: int = 1 << 20
    fuse: int = 0
    retention_ms: int = 0
    bounds: Bounds = DEFAULT_BOUNDS
    suspicion: float = 0.0
    rates: dict[str, float] = field(default_factory=dict)
    errands: bool = False
    outage: bool = False

    @property
    def tombstones_ms(self) -> int:
        """How long a handoff has to be quiet before its followers ask for a tombstone; 0 where nobody purges."""
        return max(1_000, self.retention_ms) if self.retention_ms or self.has("purge") else 0

    def has(self, fault: str) -> bool:
        """Whether a kind of fault is switched on."""
        return fault in self.on


def drawn(rng: random.Random) -> Options:
    """The options of a seed."""
    on = frozenset(fault for fault in FAULTS if rng.random() < 0.35)
    bounds = rng.choice((DEFAULT_BOUNDS, Bounds(1), Bounds(3), Bounds(8), Bounds(bytes_max=2_000)))
    retention_ms = rng.choice((0, 0, 0, 200, 1_000, 3_000))
    hard = rng.choice((0.02, 0.05, 0.15))
    hosts = rng.choice(("database", "pair", "three", "three", "three", "three", "five"))
    options = Options(
        on,
        voters=1 if hosts in ("database", "pair") else 3,
        pair=hosts == "pair",
        sidecars={"database": rng.choice((2, 3)), "pair": 2, "three": 3, "five": 5}[hosts],
        tasks=rng.choice((1, 1, 1, 2, 3)),
        safety_ms=rng.choice((1_500, 3_000, 5_000)),
        loss=hard if "loss" in on else 0.0,
        repeat=hard if "repeat" in on else 0.0,
        slow=hard if "slow" in on else 0.0,
        slow_ms=rng.choice((10, 100, 1_500)),
        pace_ms=rng.choice((20, 100, 250) if "cut_off" in on else (5, 20, 100)),
        every_ms=rng.choice((250, 600, 1_500)),
        held_bytes=rng.choice((300, 1_500, 1 << 20)),
        fuse=rng.choice((30, 100, 300)) if "kill_effect" in on else 0,
        retention_ms=retention_ms,
        bounds=bounds,
    )
    if hosts == "five" and rng.random() < 0.1:
        options.sidecars = 10  # rare: it costs
    wild = "freeze" in on
    options.suspicion = rng.choice((0.0, 0.0, 0.3, 1.0)) if wild else 0.0
    for name in NAMES[: max(5, options.sidecars)]:
        spread = 0.4 if wild else 0.03
        options.rates[name] = 1.0 + (rng.random() * 2 - 1) * spread if "drift" in on else 1.0
    options.errands = rng.random() < 0.5
    if hosts == "three" and rng.random() < 0.15:
        # Disks that are lost besides would leave nobody to come back.
        options.outage, options.on = True, on - {"disk_lost", "move"}
    return options
