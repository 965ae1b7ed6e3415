"""All acts but the second: an agent that keeps checkpoints is struck at page 20; no page is counted twice."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from examples.census import HEADER
from examples.demo import client
from examples.demo.cast import KILL_AGENT
from examples.demo.client import Seen
from examples.demo.ledger import read_journal
from examples.demo.stage import Actor
from examples.demo.takeover import Piece, Scene, play

STRIKE_AT: Final = 20
LATENCY_S: Final = 0.05
"""Pages come slowly, so that the blow usually meets one in flight."""

ROWS, FILE = "census rows", "census.csv"


@dataclass(frozen=True, slots=True)
class Pages:
    """What is counted.

    Attributes:
        server: the page server, of all acts.
        urls: pages to count instead of the server's own.
        most: count no more than so many.
    """

    server: Actor
    urls: Sequence[str] | None = None
    most: int | None = None

    async def wanted(self, web: httpx.AsyncClient) -> list[str]:
        """The addresses."""
        urls = list(self.urls) if self.urls else (await web.get(f"{self.server.url}/urls")).text.split()
        return urls[: self.most]

    async def counts(self, web: httpx.AsyncClient) -> Counter[str]:
        """How often each page was fetched so far, as the server tells."""
        return Counter((await web.get(f"{self.server.url}/counts")).json())


def rows_of(seen: Seen) -> list[dict[str, str]]:
    """The CSV as the client has it so far."""
    return list(csv.DictReader(io.StringIO(seen.texts.get(ROWS, ""))))


def _last_row(seen: Seen) -> str:
    line = seen.texts.get(ROWS, "").rstrip().rsplit("\n", 1)[-1]
    url, size, _, title, words = next(csv.reader([line]), HEADER) if line else HEADER
    return f"{url}  {size} bytes  {words} words  {title}"


async def run(scene: Scene, pages: Pages) -> None:
    """Play the act.

    Args:
        scene: the stage.
        pages: what is counted.
    """
    await scene.stage.ready(pages.server)
    async with httpx.AsyncClient() as web:
        wanted = await pages.wanted(web)
        strike_at = min(STRIKE_AT, max(1, len(wanted) // 3))
        earlier: Counter[str] = Counter()

        async def before() -> None:
            nonlocal earlier
            earlier = await pages.counts(web)

        def progress(seen: Seen) -> None:
            rows = seen.chunks.get(ROWS, 0)
            scene.display.progress(min(rows, len(wanted)), len(wanted), "pages", _last_row(seen))

        def due(seen: Seen) -> bool:
            return seen.chunks.get(ROWS, 0) >= strike_at

        await play(scene, Piece("\n".join(wanted), due, progress, before))
        counts = await pages.counts(web) - earlier
    _check_result(scene, wanted)
    facts = await read_journal(scene)
    covered = facts.get("covered")
    facts["covered"] = len(covered) if isinstance(covered, list) else 0
    if pages.urls is None:
        check_fetches(scene, wanted, counts, facts["covered"])
    await _check_other(scene)


def _check_result(scene: Scene, wanted: Sequence[str]) -> None:
    rows = rows_of(scene.seen)
    right = [row["url"] for row in rows] == list(wanted) and all(len(row["sha256"]) == 64 for row in rows)
    words = sum(int(row["words"] or 0) for row in rows)
    scene.act.facts |= {"pages": len(rows), "words": words}
    scene.act.check(
        f"{len(wanted)} of {len(wanted)} pages, in order, each once",
        scene.seen.completed and right,
        f"{len(rows)} rows, {words} words, {'completed' if scene.seen.completed else 'not completed'}",
    )
    rowed, filed = scene.seen.texts.get(ROWS, ""), scene.seen.files.get(FILE, b"").decode()
    head = ",".join(HEADER)
    scene.act.check(
        "the CSV file is equal to the rows that were streamed",
        bool(rowed) and rowed == filed and rowed.startswith(head),
        f"{len(filed.encode())} bytes",
    )


def check_fetches(scene: Scene, wanted: Sequence[str], counts: Counter[str], covered: int) -> None:
    """Whether anything was done twice that need not have been.

    Args:
        scene: gets the findings.
        wanted: the addresses, in order.
        counts: fetches by page, as the page server counted them.
        covered: how many of the first pages the last checkpoint before the takeover has.
    """
    names = [url.rsplit("/", 1)[1].removesuffix(".html") for url in wanted]
    again = [name for name in names[:covered] if counts[name] != 1]
    flight = {name: counts[name] for name in names[covered:] if counts[name] > 1}
    scene.act.facts["fetches"] = {
        "total": counts.total(),
        "covered_by_checkpoint_at_takeover": covered,
        "covered_and_fetched_again": again,
        "in_flight_and_fetched_again": list(flight),
    }
    scene.act.check(
        "no page that a checkpoint covers was fetched again",
        covered > 0 and not again,
        f"{covered} pages covered at the takeover, again: {', '.join(again) or 'none'} (page server's count)",
    )
    told = f"in flight: {', '.join(flight) or 'none'}; {counts.total()} fetches in all"
    # What a dead agent left behind is still read and journalled. With the sidecar goes what was on its way there:
    # on a slow machine that may be a row or two, always those right behind what is covered.
    next_ones = list(flight) == names[covered : covered + len(flight)] and set(flight.values()) <= {2}
    if scene.blow is KILL_AGENT:
        scene.act.check("at most the one page in flight was fetched twice", next_ones and len(flight) <= 1, told)
    else:
        scene.act.check("only what was on its way to the journal was fetched twice", next_ones, told)


async def _check_other(scene: Scene) -> None:
    if not scene.seen.task_id or scene.side is None:
        return
    other = scene.cast.other(scene.side)
    name = f"GetTask on sidecar {other.letter} tells the same"
    try:
        task: Any = await client.get_task(other.sidecar.url, scene.seen.task_id)
    except Exception as failure:  # noqa: BLE001 - whatever the client met is the finding
        scene.act.check(name, kept=False, seen=str(failure))
        return
    same = client.task_text(task, ROWS) == scene.seen.texts.get(ROWS) and task.status.state == scene.seen.state
    scene.act.check(name, same, f"{len(task.artifacts)} artifacts")
