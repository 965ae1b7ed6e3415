"""What this sidecar knows of a handoff beyond its journal, as ``bridge.recovery`` wants it.

This file must not decide anything. The failure it prevents: a decision that rests on a fact which one part of the
runtime sees otherwise than another.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge.handoff import Handoff
from bridge.journal import Entry, Kind
from bridge.recovery import BoundRun, Limits, Situation, rank
from sidecar.runtime.node import Node


class Facts:
    """Gathers them.

    Args:
        node: what this sidecar holds in common.
        limits: the operator's bounds.
    """

    def __init__(self, node: Node, limits: Limits) -> None:
        self._node, self._limits = node, limits

    def of(self, handoff: Handoff, entries: Sequence[Entry], standbys: list[str], orphaned_ms: int) -> Situation:
        """What is known here of a handoff that can be claimed.

        Args:
            handoff: fold of its journal.
            entries: that journal.
            standbys: names of the sidecars that could run it.
            orphaned_ms: for how long nobody living has owned it, as seen from here.
        """
        node = self._node
        mine = handoff.owner == node.name
        order, given_up, waited_ms = rank(standbys, handoff.task_id), _given_up(entries), orphaned_ms
        if not mine and handoff.owner in order and not given_up:
            # It is back, and the run may have outlived it: it is left the time that a claim may take it.
            order = [handoff.owner, *(each for each in order if each != handoff.owner)]
            waited_ms = max(0, orphaned_ms - int(node.patience_s * 1000))
        return Situation(
            claimable=True,
            mine=mine,
            agent_ready=node.link.ready,
            draining=node.draining,
            bound_run=self._bound_run(handoff, entries),
            rank=order.index(node.name) if node.name in order else len(order),
            orphaned_ms=waited_ms,
            unacknowledged_ms=self._unacknowledged_ms(handoff, entries, orphaned_ms),
        )

    def _bound_run(self, handoff: Handoff, entries: Sequence[Entry]) -> BoundRun:
        # An orphaned entry says that the run is gone, whoever claimed since; without one, it may have outlived
        # its sidecar.
        bound = handoff.bound
        reachable = bound is not None and bound["endpoint"] == self._node.endpoint and bound["task"]
        if _given_up(entries) or not reachable or not self._node.link.ready:
            return BoundRun.GONE
        return BoundRun.UNKNOWN

    def _unacknowledged_ms(self, handoff: Handoff, entries: Sequence[Entry], orphaned_ms: int) -> int:
        if handoff.answered or any(entry.kind is Kind.EVENT for entry in entries):
            return 0
        accepted = handoff.dispatched.get("accepted") or {}
        if accepted.get("host", self._node.store.voter_id) != self._node.store.voter_id:
            return orphaned_ms  # of another host's clock nothing is known here but how long it has been silent
        if accepted.get("boot") != self._node.clock.boot:
            # The host has booted since: whoever asked has long been told that the connection broke.
            return self._limits.dispatch_max_ms + 1
        return max(0, int(self._node.clock.monotonic() * 1000) - int(accepted["ms"]))


def _given_up(entries: Sequence[Entry]) -> bool:
    """The last that was said of its run is that it is gone."""
    said = (each.kind for each in reversed(entries) if each.kind in (Kind.BOUND, Kind.ORPHANED))
    return next(said, None) is Kind.ORPHANED
