"""An agent that keeps checkpoints: it fetches pages and counts them, and never fetches one again that is done.

    python -m examples.census --port 9101

The message lists one URL a line (or start it with ``--urls FILE``). Each page becomes one row of a CSV: url,
bytes, sha256, title, words. What to learn here is one argument: ``checkpoint=`` on the last event of a piece of
work. The row and the state reach the journal as one event, so there is no moment at which one exists without the
other. Without a sidecar the same code is an ordinary agent.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path

import httpx
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.types import Part, TaskState

from examples import serving
from sidecar.worker import declare_durable, durable_run

HEADER = ("url", "bytes", "sha256", "title", "words")
ROWS = "rows"
FILE = "file"
PROGRESS_EVERY = 10

_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_NO_TEXT = re.compile(rb"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def csv_line(values: Sequence[object]) -> str:
    """One line of CSV with its line end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()


def row_of(url: str, body: bytes) -> str:
    """What the census says about one page."""
    found = _TITLE.search(body)
    title = found[1].decode("utf-8", "replace").strip() if found else ""
    words = len(_NO_TEXT.sub(b" ", body).split())
    return csv_line((url, len(body), hashlib.sha256(body).hexdigest(), title, words))


class Census(serving.Cancelable):
    """Counts pages.

    Args:
        urls: what to count when the message names nothing.
        pace: seconds of rest after each page.
    """

    def __init__(self, urls: Sequence[str], pace: float) -> None:
        self._urls = list(urls)
        self._pace = pace

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Fetch what the last checkpoint does not have yet."""
        run = await durable_run(context, event_queue)
        urls = [line for line in context.get_user_input().split() if "://" in line] or self._urls
        rows: list[str] = run.last_checkpoint or []
        if not urls:
            await run.reject(run.new_agent_message([Part(text="No URL: list one a line.")]))
            return
        if not rows:
            await run.start_work()
        again = httpx.AsyncHTTPTransport(retries=2)  # a name server that restarts is no reason to leave a page out
        async with httpx.AsyncClient(transport=again, follow_redirects=True, timeout=20) as web:
            for place in range(len(rows), len(urls)):
                rows.append(await self._count(web, urls[place]))
                head = csv_line(HEADER) if place == 0 else ""
                if len(rows) % PROGRESS_EVERY == 0:
                    said = run.new_agent_message([Part(text=f"{len(rows)} of {len(urls)} pages")])
                    await run.update_status(TaskState.TASK_STATE_WORKING, said)
                await run.add_artifact(
                    [Part(text=head + rows[-1])],
                    ROWS,
                    name="census rows",
                    append=place > 0,
                    last_chunk=len(rows) == len(urls),
                    checkpoint=rows,
                )
                await asyncio.sleep(self._pace)
        whole = (csv_line(HEADER) + "".join(rows)).encode()
        await run.add_artifact(
            [Part(raw=whole, filename="census.csv", media_type="text/csv")],
            FILE,
            name="census.csv",
            last_chunk=True,
        )
        await run.complete()

    @staticmethod
    async def _count(web: httpx.AsyncClient, url: str) -> str:
        try:
            answer = await web.get(url)
            answer.raise_for_status()
        except httpx.HTTPError as failure:
            return csv_line((url, 0, "", f"not fetched: {failure}".replace("\n", " "), 0))
        return row_of(url, answer.content)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the agent."""
    parser = serving.options(__doc__, 9101)
    parser.add_argument("--urls", type=Path, help="file with one URL a line, for messages that name none")
    parser.add_argument("--pace", type=float, default=0.05, help="seconds of rest a page, default 0.05")
    args = parser.parse_args(argv)
    urls = args.urls.read_text(encoding="utf-8").split() if args.urls else []
    card = declare_durable(serving.card("census", "Counts the bytes and words of web pages.", args))
    serving.serve(Census(urls, args.pace), card, args)


if __name__ == "__main__":
    main()
