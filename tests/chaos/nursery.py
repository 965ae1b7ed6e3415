"""Processes that start quickly: forked from one that has imported everything, instead of importing it again.

    python -m tests.chaos.nursery

One JSON line on stdin ({argv, env, log}) starts one process and is answered with its id; what it is given runs as
``python -m argv[0] argv[1:]`` would. Real processes that are really killed: a test of dozens of lives and deaths
only saves the half second of imports in each. When stdin ends, everything that was started here is killed.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = ("sidecar.main", "tests.integration.agents", "uvicorn", "starlette.applications", "uvicorn.lifespan.on")


class Forked:
    """As much of ``subprocess.Popen`` as ``tests.integration.processes`` uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._end, select.POLLIN)
            if poll.poll(None if timeout is None else timeout * 1000):
                os.close(self._end)
                self.returncode = -signal.SIGKILL  # nobody but its parent knows
        return self.returncode


class Nursery:
    """A running nursery; ``popen`` stands in for ``subprocess.Popen``.

    Args:
        namespaces: in which network namespace a process runs, by the name of its log; the others run in this one.
    """

    def __init__(self, namespaces: Mapping[str, str] | None = None) -> None:
        self._namespaces = namespaces or {}
        command = [sys.executable, "-m", "tests.chaos.nursery"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self._asking = threading.Lock()

    def popen(self, command: list[str], *, env: dict[str, str], stdout: Any, **_: Any) -> Forked:
        assert command[1] == "-m"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            namespace = self._namespaces.get(Path(stdout.name).stem, "")
            line = json.dumps({"argv": command[2:], "env": env, "log": stdout.name, "namespace": namespace})
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            return Forked(int(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    started: list[int] = []
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for them
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(wanted)
        started.append(os.pidfd_open(pid))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for child in started:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)


def enter(namespace: str) -> None:
    """Be in a network namespace from now on (``ip netns``)."""
    file = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(file, 0):
        raise OSError(ctypes.get_errno(), f"network namespace {namespace} cannot be entered")
    os.close(file)


def become(wanted: dict[str, Any]) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if wanted["namespace"]:
            enter(wanted["namespace"])
        log = os.open(wanted["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update(wanted["env"])
        sys.modules.pop(wanted["argv"][0], None)  # it runs under another name
        sys.argv = wanted["argv"]
        runpy.run_module(wanted["argv"][0], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - its log is the only one that can be told
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
