"""The client of the container walk: it streams one census through the gateway while somebody kills containers.

    python -m examples.demo.walk http://127.0.0.1:8470 http://pages:9180

It waits for both to be there, sends one message, prints a line for each page that arrives, and says at the end
whether the one stream brought everything, in order, each once. The number that begins a line is the machine's
monotonic clock in seconds, which all containers of one machine share. This file must not know which container is
killed, nor that any is: it is a client.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import sys
import time
from collections.abc import Sequence
from typing import Final

import httpx

from examples.census import HEADER
from examples.demo.client import Seen, stream

ROWS, FILE = "census rows", "census.csv"
WAIT_S: Final = 60.0
STREAM_S: Final = 300.0
CARD: Final = "/.well-known/agent-card.json"


def say(what: str) -> None:
    """One line with the time."""
    print(f"{time.monotonic():.3f}  {what}", flush=True)


async def there(web: httpx.AsyncClient, url: str) -> str:
    """The text at an address, as soon as somebody answers there.

    Raises:
        SystemExit: nobody did in time.
    """
    deadline, last = time.monotonic() + WAIT_S, ""
    while time.monotonic() < deadline:
        try:
            answer = await web.get(url)
            if answer.status_code == httpx.codes.OK:
                return answer.text
            last = f"{answer.status_code} {answer.text[:200]}"
        except httpx.TransportError as fault:
            last = str(fault)
        await asyncio.sleep(0.1)
    raise SystemExit(f"{url} does not answer: {last}")


def judged(seen: Seen, wanted: Sequence[str]) -> str:
    """What is wrong with what the client has in the end; "" if nothing is."""
    text = seen.texts.get(ROWS, "")
    rows = list(csv.DictReader(io.StringIO(text)))
    if not seen.completed:
        return "the task did not complete"
    if [row["url"] for row in rows] != list(wanted):
        return f"{len(rows)} rows for {len(wanted)} pages, or in another order"
    if missed := [row["url"] for row in rows if len(row["sha256"]) != 64]:
        return f"not fetched: {', '.join(missed)}"
    if seen.files.get(FILE, b"").decode() != text or not text.startswith(",".join(HEADER)):
        return "the CSV file differs from the rows that were streamed"
    return ""


async def walk(url: str, pages: str) -> int:
    """Stream the census; 0 if everything came."""
    seen, shown, silence = Seen(), 0, 0.0
    async with httpx.AsyncClient(timeout=5) as web:
        wanted = (await there(web, f"{pages}/urls")).split()
        await there(web, f"{url}{CARD}")

    def on_event() -> None:
        nonlocal shown, silence
        rows = seen.chunks.get(ROWS, 0)
        silence = max(silence, seen.times[-1] - seen.times[-2] if len(seen.times) > 1 else 0.0)
        if rows > shown:
            shown = rows
            say(f"page {rows} of {len(wanted)}" + (f" after {silence:.2f} s of silence" if silence > 1 else ""))
            silence = 0.0
        elif len(seen.times) == 1:
            say(f"task {seen.task_id}")

    say(f"one message to {url}: {len(wanted)} pages to count")
    try:
        async with asyncio.timeout(STREAM_S):
            await stream(url, "\n".join(wanted), seen, on_event)
    except Exception as fault:  # noqa: BLE001 - whatever the client met is the finding
        say(f"the stream broke: {type(fault).__name__}: {fault}")
        return 1
    wrong = judged(seen, wanted)
    silent = f"longest silence {seen.longest_silence():.2f} s"
    say(f"stream ended: {len(seen.times)} events, {silent}, {seen.replaced} replacements")
    say(
        f"WALK: RED: {wrong}"
        if wrong
        else f"WALK: GREEN: {len(wanted)} of {len(wanted)} pages, each once, in order"
    )
    return 1 if wrong else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the client."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where the client believes the agent to be")
    parser.add_argument("pages", help="the page server")
    args = parser.parse_args(argv)
    return asyncio.run(walk(args.url.rstrip("/"), args.pages.rstrip("/")))


if __name__ == "__main__":
    sys.exit(main())
