"""Whether anything grows: memory, open files and threads of each process, the write-ahead log of the store.

A life that is long enough is cut into quarters; the first is for warming up, the last is compared with the second.
The steady gateway lives through the whole storm. This file must not know what the processes do.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

LONG_S = 60.0
MEMORY_MORE, MEMORY_MORE_KB = 1.25, 12 << 10
FILES_MORE = 20
THREADS_MORE = 3
WAL_BYTES_MAX = 64 << 20


class Sample(NamedTuple):
    """One look at one process: when, private memory, open files, threads."""

    t: float
    memory_kb: int
    files: int
    threads: int


class Samples:
    """All looks of a storm."""

    def __init__(self) -> None:
        self.lives: dict[tuple[str, int], list[Sample]] = {}
        self.log: list[tuple[float, int]] = []

    def take(self, t: float, name: str, pid: int) -> None:
        """Look at a process."""
        with suppress(OSError, KeyError):
            lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
            told = {
                name: value.split()[0]
                for name, _, value in (line.partition(":") for line in lines)
                if value.split()
            }
            files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
            sample = Sample(t, int(told["RssAnon"]), files, int(told["Threads"]))
            self.lives.setdefault((name, pid), []).append(sample)

    def wal(self, t: float, store: Path) -> None:
        """Look at the store's log."""
        with suppress(OSError):
            self.log.append((t, store.with_name(store.name + "-wal").stat().st_size))

    def figures(self) -> dict[str, Any]:
        """The quarters of each long life, and of the log."""
        lives = {
            f"{name}/{pid}": {
                "seconds": round(samples[-1].t - samples[0].t),
                "memory_kb": quarters([each.memory_kb for each in samples]),
                "files": quarters([each.files for each in samples]),
                "threads": quarters([each.threads for each in samples]),
            }
            for (name, pid), samples in self.lives.items()
            if samples[-1].t - samples[0].t >= LONG_S
        }
        sizes = [size for _, size in self.log]
        return {"lives": lives, "wal_bytes": quarters(sizes), "wal_bytes_max": max(sizes, default=0)}

    def wrong(self) -> list[str]:
        """What has grown."""
        found: list[str] = []
        figures = self.figures()
        for name, life in figures["lives"].items():
            memory, files, threads = life["memory_kb"], life["files"], life["threads"]
            if memory[3] > memory[1] * MEMORY_MORE + MEMORY_MORE_KB:
                found.append(f"{name}: memory grows: {memory} KiB by quarters of its life")
            if files[3] > files[1] + FILES_MORE:
                found.append(f"{name}: open files grow: {files}")
            if threads[3] > threads[1] + THREADS_MORE:
                found.append(f"{name}: threads grow: {threads}")
        if figures["wal_bytes_max"] > WAL_BYTES_MAX:
            found.append(f"the store's log grew to {figures['wal_bytes_max']} bytes")
        return found


def quarters(values: list[int]) -> list[int]:
    """The median of each quarter."""
    cuts = [len(values) * part // 4 for part in range(5)]
    return [round(median(values[a:b])) if b > a else 0 for a, b in pairwise(cuts)]
