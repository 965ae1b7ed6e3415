"""What the demo has measured: a timeline, checks, and what the exported journals say.

Numbers come in here from the run and leave as JSON; this file must not start, kill or ask anything. It prevents a
demo that is green because it forgot to look: without a single check, or with one that failed, it is red.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.journal import TERMINAL, Entry, Kind, from_line


@dataclass(frozen=True, slots=True)
class Check:
    """One promise and whether this run kept it.

    Attributes:
        name: the promise.
        kept: the outcome.
        seen: the numbers behind it.
    """

    name: str
    kept: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened.

    Attributes:
        at_ms: milliseconds since the demo began.
        who: a process, or the client.
        what: for people.
    """

    at_ms: int
    who: str
    what: str


@dataclass(slots=True)
class Act:
    """One act's findings.

    Attributes:
        title: of the act.
        checks: promises, in the order in which they were looked at.
        facts: measured numbers by name.
        journal: what the exported journal says, see ``journal_facts``.
        seconds: from the curtain to the verdict.
    """

    title: str
    checks: list[Check] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    journal: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def check(self, name: str, kept: bool, seen: str) -> None:
        """Write one promise down."""
        self.checks.append(Check(name, kept, seen))

    @property
    def green(self) -> bool:
        """Every promise was looked at and kept."""
        return bool(self.checks) and all(check.kept for check in self.checks)


class Evidence:
    """Everything measured in one run of the demo."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.acts: list[Act] = []
        self.timeline: list[Note] = []

    def act(self, title: str) -> Act:
        """Begin an act."""
        self.acts.append(Act(title))
        return self.acts[-1]

    def note(self, who: str, what: str, at: float | None = None) -> Note:
        """Write down what happened.

        Args:
            who: a process, or the client.
            what: for people.
            at: monotonic seconds; now if left out.
        """
        seconds = (time.monotonic() if at is None else at) - self.began
        note = Note(round(seconds * 1000), who, what)
        self.timeline.append(note)
        return note

    @property
    def green(self) -> bool:
        """There was at least one act and every one is green."""
        return bool(self.acts) and all(act.green for act in self.acts)

    def broken(self) -> list[str]:
        """One line for every promise that was not kept, with its act."""
        return [
            f"FAIL {act.title.partition(' — ')[0]}: {check.name}: {check.seen}"
            for act in self.acts
            for check in act.checks
            if not check.kept
        ]

    def write(self, path: Path) -> None:
        """Leave everything as a JSON file."""
        document = {
            "green": self.green,
            "seconds": round(time.monotonic() - self.began, 3),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "acts": [
                {
                    "title": act.title,
                    "green": act.green,
                    "seconds": act.seconds,
                    "checks": [{"name": c.name, "kept": c.kept, "seen": c.seen} for c in act.checks],
                    "facts": act.facts,
                    "journal": act.journal,
                }
                for act in self.acts
            ],
            "timeline": [{"at_ms": n.at_ms, "who": n.who, "what": n.what} for n in sorted_notes(self.timeline)],
        }
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def sorted_notes(notes: Sequence[Note]) -> list[Note]:
    """In the order of time: some notes are written down after what they tell of."""
    return sorted(notes, key=lambda note: note.at_ms)


def journal_facts(export: bytes) -> dict[str, Any]:
    """Read an exported journal.

    Args:
        export: JSON lines.

    Returns:
        ``entries`` count, ``hash`` of the last, ``fences`` as claimed (n, session, owner, attempt, reason, seq),
        whether it has ``ended``, ``rewound`` and ``checkpoints`` counts, and ``covered``: the state of the last
        checkpoint before the last claim, None without one.
    """
    entries = [from_line(line)[1] for line in export.splitlines() if line.strip()]
    claims = [entry for entry in entries if entry.kind is Kind.CLAIMED]
    takeover = claims[-1].seq if len(claims) > 1 else 0
    steps = [entry for entry in entries if entry.kind is Kind.STEP]
    before = [entry for entry in steps if entry.seq < takeover]
    return {
        "entries": len(entries),
        "hash": entries[-1].hash if entries else "",
        "fences": [_fence(entry) for entry in claims],
        "checkpoints": len(steps),
        "ended": any(entry.kind in TERMINAL for entry in entries),
        "rewound": sum(entry.kind is Kind.REWOUND for entry in entries),
        "covered": _body(before[-1]).get("state") if before else None,
    }


def _fence(claim: Entry) -> dict[str, Any]:
    body = _body(claim)
    return {"n": claim.fence.n, "session": claim.fence.session, "seq": claim.seq} | {
        name: body.get(name) for name in ("owner", "attempt", "reason")
    }


def _body(entry: Entry) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(entry.body) if entry.body else {}
    return read
