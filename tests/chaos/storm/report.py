"""The figures of a storm: tasks, errors by kind, takeovers, the longest gaps. Counts only; nothing is judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.chaos.storm import errors
from tests.chaos.storm.checker import final_task
from tests.chaos.storm.record import STREAMS, Record

Json = dict[str, Any]
_CLAIMED = re.compile(r"claimed under fence \d+ \((\w+)\)")


def figures(lines: Sequence[Json], directory: Path) -> Json:
    """What a history and the logs amount to."""
    record = Record(list(lines))
    states = Counter(
        f"{script.kind} {final.state}" if (final := final_task(record, task)) else f"{script.kind} ?"
        for task, script in record.scripts.items()
    )
    streams = [op for op in record.ops if op.method in STREAMS and op.frames]
    gaps = sorted(
        (round(b[0] - a[0], 3), op.task, round(a[0], 1))
        for op in streams
        for a, b in pairwise(op.frames)
        if "INPUT_REQUIRED" not in str(a[2])
    )
    longest: dict[str, float] = {}
    for gap, task, _ in gaps:
        if task in record.scripts:
            kind = record.scripts[task].kind
            longest[kind] = max(gap, longest.get(kind, 0.0))
    silences = [
        (op.end["silence"], op.gate, round(op.ended, 1))
        for op in record.ops
        if "silence" in op.end and not record.trouble(op.gate, op.begun, op.ended)
    ]
    claims = Counter(
        found.group(1)
        for log in directory.glob("*.log")
        for found in map(_CLAIMED.search, log.read_text("utf-8", "replace").splitlines())
        if found
    )
    return {
        "tasks": len(record.scripts),
        "echoes": sum(op.first and "kind=echo" in op.note["text"] and not op.error for op in record.ops),
        "states": dict(sorted(states.items())),
        "operations": dict(Counter(op.method for op in record.ops)),
        "events": sum(len(op.frames) for op in record.ops),
        "errors": dict(Counter(errors.kind(record, op) for op in record.ops if op.error)),
        "takeovers": dict(claims),
        "longest_gaps_s": gaps[-3:],
        "longest_gap_by_kind_s": longest,
        "gap_p99_s": gaps[int(len(gaps) * 0.99)][0] if gaps else 0.0,
        "longest_silences_s": sorted(silences)[-3:],
    }  # fmt: skip


def text(told: Json) -> str:
    """For people."""
    plan = told["plan"]
    rows = [
        f"storm: seed {plan['seed']}, {plan['seconds']:.0f} s, {plan['clients']} clients",
        f"  tasks       {told['tasks']}, echoes {told['echoes']}: {told['states']}",
        f"  operations  {told['operations']}, {told['events']} events",
        f"  faults      {sum(told['faults'].values())} ({told['faults_skipped']} found nobody): {told['faults']}",
        f"  frames      {told['frames'] or 'over loopback'}",
        f"  takeovers   {sum(told['takeovers'].values())}: {told['takeovers']}",
        f"  errors      {told['errors']}",
        f"  gaps        longest between events {told['longest_gaps_s']}, p99 {told['gap_p99_s']} s",
        f"  longest gap by kind {told['longest_gap_by_kind_s']}",
        f"  silence     longest without a byte from a gateway that was well {told['longest_silences_s']}",
        f"  log         bytes by quarters {told['growth']['wal_bytes']}, most {told['growth']['wal_bytes_max']}",
    ]
    for name, life in told["growth"]["lives"].items():
        rows.append(
            f"  {name:<20}{life['seconds']} s: {life['memory_kb']} KiB, {life['files']} files, "
            f"{life['threads']} threads"
        )
    for name, wrong in told["broken"].items():
        rows += [f"  BROKEN {name}: {len(wrong)}", *(f"    {each[:700]}" for each in wrong[:8])]
    rows += [f"  WRONG {each[:1000]}" for each in told["wrong"]]
    rows.append(f"STORM: {'CLEAN' if clean(told) else 'BROKEN'} (seed {plan['seed']})")
    return "\n".join(rows)


def clean(told: Json) -> bool:
    """Every promise was kept."""
    return not told["wrong"] and not told["broken"]
