"""What the log is told of one line to a peer: that it is up, that it was lost, why it is not used; each once.

A connection that is closed and made anew at once is one line; a peer that dies is one line, too: how it was lost
and why it cannot be dialled. Who was never met in this life gets a moment, as a whole cluster may start at once.
The failures this prevents: an alarm for every start, two alarms for one death, and a sentence that does not say
who it is about and what to do.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from sidecar.peers.sealing import Rejected, Rejection

log = logging.getLogger("sidecar.peers.line")

GRACE_S = 5.0
"""How long a peer that was never met may be away before that is told."""


class Fault(NamedTuple):
    """Why a line is not up.

    Attributes:
        kind: a word for machines; who is away for the same kind of reason as before is not told of again.
        problem: a sentence's end that begins with a verb; the peer's name goes before it.
        todo: what an operator can do, "" where nothing has to be done.
    """

    kind: str
    problem: str
    todo: str = ""


SILENT, AWAY = "silent", "unreachable"
_DIALLED = "it is dialled until it answers"

# The first half of a sentence fits both ends: who finds that something does not fit, and who is told.
_WORDS = {
    Rejection.SECRET: (
        "the two have different cluster secrets",
        "give every sidecar of the cluster the same --cluster-secret-file, and restart the one that had another",
    ),
    Rejection.VERSION: (
        "the two speak no common version of the peer protocol",
        "run releases that follow one another on all hosts",
    ),
    Rejection.CLUSTER: (
        "the two belong to different clusters",
        "take its address out of --peers here, and this one's there",
    ),
    Rejection.LOOPBACK_ONLY: (
        "without a cluster secret only sidecars of one host talk",
        "give every sidecar of the cluster the same --cluster-secret-file",
    ),
    Rejection.OLD_COPY: (
        "a store was set back to an older copy of itself, and has forgotten what it promised since",
        "put its newest file back; if that is lost, replace this one by a copy (cp and mv): that is another voter",
    ),
    Rejection.CROWDED: ("too many connections are open there", "see what else connects to its peer port"),
    Rejection.LATE: ("the handshake took too long", "see whether one of the two hosts is short of CPU"),
}

_DETAILED = (Rejection.VERSION, Rejection.CLUSTER, Rejection.LOOPBACK_ONLY, Rejection.OLD_COPY)


def reason(why: Rejected) -> str:
    """Why a connection is refused, for people; with the detail that only one side may know."""
    words, _ = _WORDS.get(why.code, ("", ""))
    if not words:
        return str(why)
    detail = why.detail if why.code in _DETAILED else ""
    if detail and why.told:
        detail = f"it says: {detail}"
    return f"{words} ({why.code}{': ' if detail else ''}{detail})"


def remedy(why: Rejected) -> str:
    """What an operator can do about a refusal, "" where nobody knows."""
    return _WORDS.get(why.code, ("", ""))[1]


class Outage:
    """One line's.

    Args:
        url: of the peer, as configured.
        now: seconds, by the clock that all calls use.
    """

    def __init__(self, url: str, now: float) -> None:
        self._url = url
        self._since = now
        self._met = False
        self._lost = ""
        self._told = ""

    def up(self, name: str, now: float, *, anew: bool) -> None:
        """It is connected; ``anew``: to another life of the peer than last time."""
        life = ": it was started anew" if anew else ""
        if self._told:
            again = "again " if self._met else ""
            self._say(logging.INFO, "up", f"connected to {name} {again}after {now - self._since:.1f} s{life}")
        elif self._lost:
            self._say(logging.INFO, "up", f"{name} {self._lost}, and is connected again at once{life}")
        else:
            self._say(logging.INFO, "up", f"connected to {name}")
        self._met, self._lost, self._told = True, "", ""

    def lost(self, name: str, fault: Fault, now: float) -> None:
        """It was connected. What it was lost by is told with what the next dial shows; silence is told now."""
        self._since = now
        if fault.kind == SILENT:
            self._told = SILENT
            self._say(logging.WARNING, SILENT, f"{name} {fault.problem}; {_DIALLED}")
        else:
            self._lost = fault.problem

    def down(self, name: str, fault: Fault, now: float, *, refused: bool = False) -> None:
        """A dial was of no use. A refusal is told at once: waiting does not mend it."""
        if fault.kind == self._told or (self._told == SILENT and fault.kind == AWAY):
            return
        if not refused and not self._met and now - self._since < GRACE_S:
            return
        before = f"{self._lost}, and " if self._lost else ""
        self._told, self._lost = fault.kind, ""
        self._say(logging.WARNING, fault.kind, f"{name} {before}{fault.problem}; {fault.todo or _DIALLED}")

    def itself(self, now: float) -> None:
        """It leads back to this sidecar: nothing is wrong."""
        if self._told != Rejection.ITSELF:
            self._say(logging.INFO, str(Rejection.ITSELF), f"{self._url} in --peers is this sidecar itself")
        self._told, self._since = str(Rejection.ITSELF), now

    def _say(self, level: int, why: str, text: str) -> None:
        log.log(level, "%s", text, extra={"peer": self._url, "why": why})
