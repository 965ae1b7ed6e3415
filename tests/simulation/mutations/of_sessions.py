"""Rules of leases and sessions, broken: who counts as living, and who may still act and read."""

from __future__ import annotations

from tests.simulation.mutations.mutation import Edit, Mutation, Worlds

LEASE = "bridge.lease"
HAND = "tests.simulation.hand"
SIDECAR = "tests.simulation.sidecar"

SESSIONS = (
    Mutation(
        "no booted-voter wait",
        "living owners stay",
        (Edit(LEASE, "return now_ms < booted_ms + ttl_ms + margin_ms", "return False"),),
        Worlds(on=("kill", "cut_off"), off=("freeze",)),
    ),
    Mutation(
        "owner counts its lease from receipt",
        "living owners stay",
        (
            Edit(
                "tests.simulation.session",
                "if self.own.answered(voter, sent_ms, self._car.clock.ms()):",
                "if self.own.answered(voter, self._car.clock.ms(), self._car.clock.ms()):",
            ),
            Edit(
                "tests.simulation.standing",
                "max(self._proven_ms.get(voter, 0), sent_ms)",
                "self._hand.car.clock.ms()",
            ),
        ),
        Worlds(on=("slow",), off=("freeze",)),
    ),
    Mutation(
        "a living holder does not stand in the way",
        "living owners stay",
        (Edit(LEASE, "return not live(holder, now_ms, boot=boot)", "return True"),),
    ),
    Mutation(
        "a living holder does not stand in the way, and nobody looks at grants",
        "one owner acts at a time",
        (
            Edit(LEASE, "return not live(holder, now_ms, boot=boot)", "return True"),
            Edit("tests.simulation.checkers.all", "    LivingOwnersStay,\n", ""),
        ),
        covered="the promise that living owners stay sees the grants, before anybody can act on them",
    ),
    Mutation(
        "an owner never stops",
        "nothing without a majority",
        (Edit(LEASE, "return now_ms < lease.since_ms + lease.ttl_ms - lease.margin_ms", "return True"),),
        Worlds(off=("freeze",), having={"outage": True}),
    ),
    Mutation(
        "no proof of ownership after a lapse",
        "living owners stay",
        (Edit("bridge.session", "if ms >= self._unbroken_ms.get(voter, ms + 1)]", "if voter in self._leases]"),),
        Worlds(on=("cut_off",), off=("freeze",), having={"pace_ms": 250, "voters": 3}),
    ),
)
