"""Where a run took place: hardware, versions, what a disk write costs, and how busy the machine was."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.requests import WRK
from benchmarks.stand import NGINX
from tests.integration.processes import ROOT

DISTRIBUTIONS = ("a2a-sdk", "aiohttp", "httptools", "orjson", "sqlalchemy", "starlette", "uvicorn", "uvloop")
BUSY_PER_CORE = 0.3
"""A load average above this times the cores, before anything was started, is somebody else's work."""


def described() -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _said("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
        "changed": len(_said("git", "-C", str(ROOT), "status", "--porcelain", "bridge", "sidecar").splitlines()),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _cpu(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "versions": {name: version(name) for name in DISTRIBUTIONS},
        "nginx": _said(NGINX, "-v").removeprefix("nginx version: nginx/") if NGINX else None,
        "wrk": _said(WRK, "-v").split(" [")[0] if WRK else None,
        "fsync_ms": fsync_ms(),
        "load_average": os.getloadavg()[0],
    }


def busy(load_average: float, cores: int) -> bool:
    return load_average > BUSY_PER_CORE * cores


def fsync_ms(count: int = 200) -> float:
    """The median cost of appending 300 bytes durably, where the stores of the run lie."""
    times = []
    with TemporaryDirectory(prefix="dhp-bench-") as directory:
        file = os.open(Path(directory) / "file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for _ in range(count):
                began = time.perf_counter()
                os.write(file, b"x" * 300)
                os.fdatasync(file)
                times.append(time.perf_counter() - began)
        finally:
            os.close(file)
    return sorted(times)[count // 2] * 1e3


def _cpu() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        if line.startswith("model name")
    ]
    return names[0] if names else platform.machine()


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()
