"""Act 1: an agent that keeps checkpoints is killed at page 20, and no page that is done is fetched again."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Final

import httpx

from examples.census import HEADER
from examples.demo import client
from examples.demo.client import Seen
from examples.demo.stage import Actor
from examples.demo.takeover import Pair, Scene, play, read_journal

TITLE: Final = "Act 1 — census: the agent keeps checkpoints and is killed at page 20"
STORY: Final = "An agent fetches web pages and writes a CSV. It is killed; another one goes on with the next page."
KILL_AT: Final = 20
PACE_S: Final = 0
LATENCY_S: Final = 0.05
"""Pages come slowly, so that the SIGKILL usually meets one in flight."""

ROWS, FILE = "census rows", "census.csv"


def rows_of(seen: Seen) -> list[dict[str, str]]:
    """The CSV as the client has it so far."""
    return list(csv.DictReader(io.StringIO(seen.texts.get(ROWS, ""))))


def _last_row(seen: Seen) -> str:
    line = seen.texts.get(ROWS, "").rstrip().rsplit("\n", 1)[-1]
    url, size, _, title, words = next(csv.reader([line]), HEADER) if line else HEADER
    return f"{url}  {size} bytes  {words} words  {title}"


async def run(scene: Scene, pages: Actor, pages_url: str, urls: Sequence[str] | None) -> None:
    """Play the act.

    Args:
        scene: the stage.
        pages: the page server.
        pages_url: its address.
        urls: pages to count instead of the server's own.
    """
    await scene.stage.ready(pages)
    async with httpx.AsyncClient() as web:
        wanted = list(urls) if urls else (await web.get(f"{pages_url}/urls")).text.split()
        kill_at = min(KILL_AT, max(1, len(wanted) // 3))

        def progress(seen: Seen) -> None:
            rows = seen.chunks.get(ROWS, 0)
            scene.display.progress(min(rows, len(wanted)), len(wanted), "pages", _last_row(seen))

        await play(scene, "\n".join(wanted), lambda seen: seen.chunks.get(ROWS, 0) >= kill_at, progress)
        counts: dict[str, int] = (await web.get(f"{pages_url}/counts")).json()
    _check_result(scene, wanted)
    facts = await read_journal(scene)
    covered = facts.get("covered")
    facts["covered"] = len(covered) if isinstance(covered, list) else 0
    if urls is None:
        _check_fetches(scene, wanted, counts, facts["covered"])
    await _check_other(scene, scene.pair)


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


def _check_fetches(scene: Scene, wanted: Sequence[str], counts: dict[str, int], covered: int) -> None:
    names = [url.rsplit("/", 1)[1].removesuffix(".html") for url in wanted]
    again = [name for name in names[:covered] if counts.get(name, 0) != 1]
    flight = {name: counts[name] for name in names[covered:] if counts.get(name, 0) > 1}
    scene.act.facts["fetches"] = {
        "total": sum(counts.values()),
        "covered_by_checkpoint_at_takeover": covered,
        "covered_and_fetched_again": again,
        "in_flight_and_fetched_again": sorted(flight),
    }
    scene.act.check(
        "no page that a checkpoint covers was fetched again",
        covered > 0 and not again,
        f"{covered} pages covered at the takeover, again: {', '.join(again) or 'none'} (page server's count)",
    )
    scene.act.check(
        "at most the one page in flight was fetched twice",
        len(flight) <= 1 and all(count == 2 for count in flight.values()),
        f"in flight: {', '.join(flight) or 'none'}; {sum(counts.values())} fetches in all",
    )


async def _check_other(scene: Scene, pair: Pair) -> None:
    if not scene.seen.task_id:
        return
    try:
        task: Any = await client.get_task(pair.other_url, scene.seen.task_id)
    except Exception as failure:  # noqa: BLE001 - whatever the client met is the finding
        scene.act.check("GetTask on the other sidecar tells the same", kept=False, seen=str(failure))
        return
    same = client.task_text(task, ROWS) == scene.seen.texts.get(ROWS) and task.status.state == scene.seen.state
    scene.act.check("GetTask on the other sidecar tells the same", same, f"{len(task.artifacts)} artifacts")
