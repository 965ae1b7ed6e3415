"""What people are told when a run is given up or a task ends: in the log, and in a dead letter's status.

Each end is told once, when it is durable; a task that goes on pays nothing for it. This file must not know when a
run is lost (``pursuit``, ``owner``) or given up (``endings``). The failure it prevents: a task that ended, or that
stays where it is, and nothing in the log that says why and what happens next.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from bridge.handoff import Handoff
from bridge.journal import Entry, Kind
from bridge.jsontext import parse_stored

log = logging.getLogger(__name__)

_BACK = "given up for another sidecar, or for this one when its agent is back"
_RETRY = "given up, to be tried again here or by another sidecar"
_NEXT = {
    "agent_gone": f"its agent is gone; {_BACK}",
    "agent_hangs": f"its agent hangs; {_BACK}",
    "no_agent_here": "there is no agent here; given up for another sidecar that has one",
    "resume_failed": f"its agent did not go on with it; {_RETRY}",
    "owner_failed": f"this program failed over it; {_RETRY}",
    "drain": "this sidecar shuts down; given up for another one",
}
_HOW = {
    "agent_gone": "the agent died",
    "agent_hangs": "the agent hung",
    "resume_failed": "the agent did not go on with it",
    "run_forgotten": "the agent forgot it",
    "owner_failed": "the sidecar failed",
    "drain": "the sidecar shut down",
}
_ERROR = b'{"error":'


def runs(count: int) -> str:
    """A number of runs."""
    return f"{count} run" if count == 1 else f"{count} runs"


def orphaned(reason: str) -> str:
    """What an orphaned handoff's log line says: why, and what happens next."""
    return f"{_NEXT.get(reason, _RETRY)} ({reason})"


def losses(entries: Iterable[Entry]) -> list[str]:
    """For each run that was begun, in order, the reason of the entry that gave it up; "" where none says it."""
    found: list[str] = []
    for entry in entries:
        if entry.body is None or entry.kind not in (Kind.BOUND, Kind.ORPHANED):
            continue
        body = parse_stored(entry.body)
        if entry.kind is Kind.BOUND and body.get("fresh") is True:
            found.append("")
        elif entry.kind is Kind.ORPHANED and found:
            found[-1] = found[-1] or str(body.get("reason") or "")
    return found


def given_up(count: int, lost: Sequence[str]) -> str:
    """What the client of a dead letter is told.

    Args:
        count: how many runs were begun.
        lost: why, see ``losses``.
    """
    how = Counter(_HOW.get(each, "the run was lost") for each in lost)
    if len(how) == 1:
        why = f"{next(iter(how))} in {'it' if count == 1 else 'each of them'}"
    else:
        why = ", ".join(f"{words} in {times} of them" for words, times in how.items())
    return f"Given up after {runs(count)}{': ' if why else ''}{why}. The journal is kept whole."


def tell_end(handoff: Handoff, entries: Iterable[Entry]) -> None:
    """Log how a task ended, if it did so with one of these entries."""
    for entry in entries:
        if entry.kind is handoff.terminal:
            level, words = _end(handoff, entry)
            about = {"task": handoff.task_id, "fence": entry.fence.n}
            log.log(level, "task %s: %s", handoff.task_id, words, extra=about)


def _end(handoff: Handoff, entry: Entry) -> tuple[int, str]:
    kind, body, after = entry.kind, entry.body or b"{}", f"after {runs(handoff.attempts)}"
    if kind is Kind.EXPIRED or (kind is Kind.REPLY and body.startswith(_ERROR)):
        said = parse_stored(body).get("error") or {}
        message = (handoff.dispatched.get("key") or {}).get("messageId")
        what = "refused" if kind is Kind.EXPIRED else f"answered with error {said.get('code')} {after}"
        return logging.WARNING, f"message {message} was {what}: {str(said.get('message'))[:200]}"
    if kind is Kind.REPLY:
        return logging.INFO, f"answered with a message {after}"
    if kind in (Kind.FAILED, Kind.REJECTED):
        reason = parse_stored(body).get("reason")
        return logging.WARNING, f"{kind} {after}: {reason}" if reason else f"{kind} by its agent {after}"
    return logging.INFO, f"{kind} {after}"
