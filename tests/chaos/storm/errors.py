"""Which errors a client may see, each with the moment at which the design foresees it; all others are faults.

gateway          the connection to a gateway that was in trouble itself: clients reconnect, by design
ended            the task had ended: too late to cancel, to subscribe, to answer
cancel_waits     a cancel that its owner could not carry out within 5 s, while something was in trouble: ask again
no_agent         nobody had an agent for longer than a new message waits: send it again
draining         a gateway that was told to stop takes nothing new: send it elsewhere
no_majority      neither sidecar was there, where each has a store of its own: send it again
store_held       a stopped process held the store's write lock: SQLite has one, and nobody can take it away
left             the client itself hung up
"""

from __future__ import annotations

import re

from tests.chaos.storm.record import Op, Record

UNFORESEEN = "unforeseen"
PAIRS = [("agent-a", "sidecar-a"), ("agent-b", "sidecar-b")]
ABSENT_S = 1.5
"""A new message waits 4 s for an agent; what is in trouble is noticed earlier than it is ready again."""

RECENT_S = 10.0
ALONE = [("sidecar-a",), ("sidecar-b",)]
NO_MAJORITY = re.compile("voters do not answer|no majority of its voters|is not known yet|cannot be written")


def kind(record: Record, op: Op) -> str:
    """The name of an operation's error."""
    said = str(op.end.get("said", ""))
    gate = record.trouble(op.gate, op.begun, op.ended)
    # A message that is sent again before the answer to it is on record is told the same once more.
    absent = record.total_trouble(PAIRS, op.begun - RECENT_S, op.ended) if "is not reachable" in said else 0.0
    alone = gate or record.total_trouble(ALONE, op.begun - RECENT_S, op.ended) > 0
    match op.error:
        case "left":
            return "left"
        case "transport" if gate:
            return "gateway"
        case "-32002" | "-32004":
            return "ended"
        case "-32603" if "has not canceled it yet" in said and record.fault_within(op.begun - RECENT_S, op.ended):
            return "cancel_waits"
        case "-32603" if "is not reachable" in said and absent > ABSENT_S:
            return "no_agent"
        case "-32603" if NO_MAJORITY.search(said) and alone:
            return "no_majority"
        case "-32603" if "database is locked" in said and record.stopped(op.begun, op.ended):
            return "store_held"
        case "-32603" if "shutting down" in said and gate:
            return "draining"
    return UNFORESEEN
