"""What to do with a handoff that nobody is running: reattach, resume, cancel, ask a person, give up, or wait.

The sweep is level-triggered: any sidecar may ask at any time, as often as it likes, and gets the same answer for
the same facts. Two that act at once are sorted out by their fences, so an answer may be wrong about others but
never dangerous. The failures this prevents: a living run being run twice, a cancelled task being resumed, a task
that waits for its client being resumed for nothing, a poisonous task killing one agent after the other.

This file must not know how the facts were found (probes, leases, gossip) or how a decision is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from bridge.handoff import FINAL, Handoff, State

STAGGER_MS = 200
ATTEMPTS_MAX = 5
DISPATCH_MAX_MS = 60_000
FRUITLESS_MAX = 3


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now.

    Attributes:
        reason: stable code, for logs and for ``show``.
        ms: ask again after this long; None where only a change of the facts can help.
    """

    reason: str
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class Reattach:
    """Ask the bound agent for its task and follow it; differences become events. No new attempt."""

    bound: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resume:
    """Begin a new run.

    Attributes:
        cut: journal position of the checkpoint to resume from; 0 to begin at the beginning.
        run: number of the new run, from 1.
    """

    cut: int
    run: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Carry out the client's wish.

    Attributes:
        bound: the run to be told; None where there is none.
    """

    bound: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Review:
    """Set it aside, visibly, for an operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """End it as failed (``expired`` where no run ever began) and keep it whole."""

    reason: str


@dataclass(frozen=True, slots=True)
class Apply:
    """The agent's task has ended or asks something: apply the snapshot that it answered with."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """The run is lost: give the handoff up to whoever can resume it."""

    reason: str


Decision = Wait | Reattach | Resume | Cancel | Review | DeadLetter


class BoundRun(StrEnum):
    """What is known of the run that the handoff was bound to last."""

    ALIVE = "alive"  # its agent was asked and has it
    UNKNOWN = "unknown"  # this sidecar can reach its agent and has not asked yet
    GONE = "gone"  # its agent is dead, hangs, has forgotten it, or is beyond this sidecar's reach


@dataclass(frozen=True, slots=True)
class Situation:
    """What this sidecar knows about a handoff beyond its journal.

    Attributes:
        claimable: this session owns it, or leases and evidence allow a claim (``lease.may_claim``).
        mine: this sidecar, under this or an earlier session, was its last owner.
        agent_ready: the agent beside this sidecar takes new runs.
        draining: this sidecar is shutting down and begins nothing.
        bound_run: see ``BoundRun``.
        rank: this sidecar's place among the standbys with free capacity (``rank``), 0 first.
        orphaned_ms: for how long it has been claimable, as seen from here.
        unacknowledged_ms: for how long the dispatch has waited without its client having been answered; 0 where
            the client was.
        unknown_effects: steps whose effect was intended, has no receipt, and cannot be asked about.
    """

    claimable: bool
    mine: bool
    agent_ready: bool
    draining: bool = False
    bound_run: BoundRun = BoundRun.GONE
    rank: int = 0
    orphaned_ms: int = 0
    unacknowledged_ms: int = 0
    unknown_effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that an operator sets.

    Attributes:
        attempts_max: runs of one handoff across all owners.
        stagger_ms: how long each standby waits for the one ranked before it.
        dispatch_max_ms: a dispatch whose client was never answered does not run after this long.
    """

    attempts_max: int = ATTEMPTS_MAX
    stagger_ms: int = STAGGER_MS
    dispatch_max_ms: int = DISPATCH_MAX_MS


_NO_LIMITS_GIVEN = Limits()


def decide(handoff: Handoff, seen: Situation, limits: Limits = _NO_LIMITS_GIVEN) -> Decision:
    """What this sidecar should do with a handoff now.

    Args:
        handoff: fold of its journal.
        seen: what else is known here.
        limits: the operator's bounds.
    """
    waiting = _nothing_to_do(handoff, seen)
    if waiting is not None:
        return waiting
    # The one that can reach the living run need not queue behind standbys that would repeat it.
    reachable = handoff.bound is not None and seen.bound_run is not BoundRun.GONE
    delay = 0 if seen.mine or reachable else my_delay_ms(seen.rank, limits.stagger_ms) - seen.orphaned_ms
    if delay > 0:
        return Wait("not_first", delay)
    if handoff.cancel_pending:
        return Cancel(handoff.bound)
    if handoff.bound is not None and reachable:
        return Reattach(handoff.bound)
    if handoff.attempts == 0 and seen.unacknowledged_ms > limits.dispatch_max_ms:
        return DeadLetter("unacknowledged")
    if handoff.attempts >= limits.attempts_max:
        return DeadLetter("attempts")
    if seen.unknown_effects:
        return Review("unknown_effect")
    if not seen.agent_ready:
        return Wait("no_agent")
    return Resume(handoff.cut, handoff.attempts + 1)


def _nothing_to_do(handoff: Handoff, seen: Situation) -> Wait | None:
    if handoff.state is State.ABSENT or handoff.state in FINAL:
        return Wait(handoff.state.value)
    if seen.draining:
        return Wait("draining")
    if not seen.claimable:
        return Wait("held")
    # A cancel needs neither the client's answer nor the operator's.
    if handoff.cancel_pending:
        return None
    if handoff.state is State.REVIEW:
        return Wait("review")
    if handoff.state is State.SUSPENDED and not handoff.due:
        return Wait("suspended")
    return None


def rank(standbys: Sequence[str], task_id: str) -> list[str]:
    """Standbys in the order in which they should try, by rendezvous hash (Thaler and Ravishankar, 1998).

    Everyone who knows the same names computes the same order, each task has its own, and a name that comes or goes
    moves only the tasks that were its own.

    Args:
        standbys: names of sidecars of the agent's group with free capacity, in any order.
        task_id: public task id.
    """
    return sorted(standbys, key=lambda name: (sha256(f"{task_id}\0{name}".encode()).digest(), name))


def my_delay_ms(rank: int, stagger_ms: int = STAGGER_MS) -> int:
    """How long the standby at this rank leaves a claimable handoff to those before it."""
    return rank * stagger_ms


class Asked(StrEnum):
    """What GetTask showed after a stream had ended cleanly without a terminal state."""

    DONE = "done"  # terminal, or it waits for the client
    WORKING = "working"
    NOT_FOUND = "not_found"
    NO_ANSWER = "no_answer"


def after_end(
    bound: dict[str, Any], asked: Asked, fruitless: int, fruitless_max: int = FRUITLESS_MAX
) -> Apply | Reattach | Review | Orphan:
    """What the end of a stream means: by itself neither completion nor death.

    Args:
        bound: the run whose stream ended.
        asked: what its agent then said about it.
        fruitless: reattachments in a row that brought nothing new.
        fruitless_max: after that many a run that is "working" and silent goes to an operator.
    """
    if asked is Asked.DONE:
        return Apply()
    if asked is Asked.NOT_FOUND:
        return Orphan("run_forgotten")
    if asked is Asked.NO_ANSWER:
        return Orphan("agent_gone")
    return Review("silent_end") if fruitless >= fruitless_max else Reattach(bound)
