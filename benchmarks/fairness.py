"""Fairness: how long saturating processes on one store wait for a commit (``tests.alone.saturating_writer``)."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process

import orjson

from benchmarks.figures import Figures
from benchmarks.scale import Scale
from benchmarks.stand import Stand
from tests.integration.processes import ROOT


async def writers(stand: Stand, scale: Scale, figures: Figures) -> None:
    """Two and eight processes that append as fast as the store takes it."""
    figures.open("writers.rate", "Entries of all writers together", "entries/s")
    figures.open("writers.longest", "Longest wait of a writer for a commit", "ms", more_is_better=False)
    figures.open("writers.share", "Commits of the least served writer to the most served", "ratio")
    for count in scale.writers:
        reports = await _write(stand, count, scale.writers_s)
        way = f"{count} writers"
        figures.add("writers.rate", way, sum(each["entries_per_s"] for each in reports))
        figures.add("writers.longest", way, *(each["longest_ms"] for each in reports))
        commits = [each["commits"] for each in reports]
        figures.add("writers.share", way, min(commits) / max(commits))


async def _write(stand: Stand, count: int, seconds: float) -> list[dict[str, float]]:
    url = f"sqlite:///{stand.directory / f'writers-{count}'}.db"
    module = ("-m", "tests.alone.saturating_writer", url)
    started: list[Process] = []
    try:
        for index in range(count):
            arguments = (*module, f"writer-{index}", str(seconds))
            started.append(
                await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdin=PIPE, stdout=PIPE)
            )
        for process in started:
            assert process.stdout is not None
            await process.stdout.readline()
        said = await asyncio.gather(*(process.communicate(b"go\n") for process in started))
        return [orjson.loads(out) for out, _ in said]
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
