"""A short storm over hosts that share nothing, and proof that the judge of their files can find fault."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.chaos.storm import report
from tests.chaos.storm.files import disagreements
from tests.chaos.storm.run import Plan, storm

KINDS = ["dispatched", "claimed", "event", "claimed", "event", "completed", "answered"]
FENCES = [1, 1, 1, 2, 2, 2, 2]


@pytest.mark.slow
async def test_a_short_storm_over_hosts_breaks_no_promise(tmp_path: Path) -> None:
    plan = Plan(15, 6.0, clients=6, gateways=1, pace=0.8, hold=0.3, steps=(3, 10), apart=True)
    told = await storm(plan, tmp_path)
    assert report.clean(told), report.text(told)
    assert sum(told["faults"].values()) >= 3, "it did not blow"
    assert told["tasks"] >= 6


def written(path: Path) -> Path:
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE handoffs (id INTEGER, task TEXT, committed INTEGER)")
    file.execute("CREATE TABLE entries (position INTEGER, fence_n, fence_session, kind, prev BLOB, hash BLOB)")
    file.execute("INSERT INTO handoffs VALUES (3, 't', ?)", (len(KINDS),))
    for seq, (kind, n) in enumerate(zip(KINDS, FENCES, strict=True), 1):
        row = ((3 << 32) + seq, n, f"s{n}", kind, b"%d" % (seq - 1), b"%d" % seq)
        file.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
    file.commit()
    file.close()
    return path


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        ("SELECT 1", ""),
        ("UPDATE entries SET hash = x'00' WHERE position % 16 = 7", "otherwise than at another host"),
        ("UPDATE entries SET prev = x'00' WHERE position % 16 = 5", "does not follow"),
        ("DELETE FROM entries WHERE position % 16 = 3", "there are gaps"),
        ("UPDATE entries SET fence_session = 's9' WHERE position % 16 = 3", "stands after fence 1"),
        ("UPDATE entries SET kind = 'event' WHERE position % 16 = 4", "is no claim"),
        ("UPDATE entries SET kind = 'failed' WHERE position % 16 = 5", "it has 2 ends"),
        ("UPDATE entries SET kind = 'event' WHERE position % 16 = 7", "stands after the end"),
        ("UPDATE handoffs SET committed = 5", "has no end here"),
        ("DELETE FROM handoffs", "has no end here (0 entries)"),
    ],
)
def test_what_is_wrong_in_a_file_is_found(tmp_path: Path, spoil: str, found: str) -> None:
    stores = [written(tmp_path / name) for name in ("a.db", "b.db", "c.db")]
    file = sqlite3.connect(stores[1])
    file.execute(spoil)
    file.commit()
    file.close()
    wrong = disagreements(stores)
    assert any(each.startswith("b.db: task t: ") and found in each for each in wrong) if found else wrong == []
