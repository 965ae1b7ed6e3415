"""Processes that are forked off one which has imported everything already: real ones, at a twentieth of the cost.

Starting an interpreter and importing the SDK takes most of a second of a core, a fork takes milliseconds; a suite
starts hundreds. What is forked runs its module as ``python -m`` would, with its own arguments, environment and
log, and is a process like any other: it can be killed, stopped and measured. ``STAGE_FORK=0`` starts interpreters
instead.

One parent for each module to run, so that a sidecar does not hold what only an agent imports. A parent ends with
the tests, and takes its children along. This file must not know what the modules do.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import runpy
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from sidecar.testing.processes import Running

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = {
    # With what a new store's migrations import, and what a first name or time looks up.
    "sidecar.cli": ("sidecar.main", "alembic.command", "alembic.autogenerate", "encodings.idna", "zoneinfo"),
    "tests.integration.agents": (
        "tests.integration.agents",
        "uvicorn",
        "uvicorn.logging",
        "starlette.applications",
    ),
    "tests.integration.raw_agent": ("tests.integration.raw_scripts",),
}
"""What is run, and what its parent imports beforehand."""


class Forked:
    """A child of a parent that was started here."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self._parent, self.pid = parent, pid

    @property
    def returncode(self) -> int:
        """As ``subprocess`` has it: minus the signal's number."""
        return self._parent.ended[self.pid]

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        self._parent.hear(0)
        return self._parent.ended.get(self.pid)

    def wait(self) -> int:
        """Block until it has ended."""
        while self.pid not in self._parent.ended:
            self._parent.hear(1)
        return self.returncode


class Parent:
    """A process that forks on demand."""

    def __init__(self, module: str) -> None:
        command = [sys.executable, "-m", "tests.integration.forking", module]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self._buffer = b""
        self._started: list[int] = []
        self.ended: dict[int, int] = {}
        atexit.register(self.close)

    def fork(self, arguments: list[str], env: dict[str, str], log: int) -> Forked:
        """Start a child; ``log`` is an open file of this process."""
        assert self._process.stdin is not None
        order = {"arguments": arguments, "env": env, "log": str(Path(f"/proc/self/fd/{log}").readlink())}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        while not self._started:
            self.hear(1)
        return Forked(self, self._started.pop())

    def hear(self, timeout_s: float) -> None:
        """Take in who has started and who has ended."""
        assert self._process.stdout is not None
        stdout = self._process.stdout.fileno()
        if select.select([stdout], [], [], timeout_s)[0]:
            chunk = os.read(stdout, 4096)
            assert chunk, "the process that forks has ended"
            *lines, self._buffer = (self._buffer + chunk).split(b"\n")
            for line in lines:
                word, pid, status = line.split()
                if word == b"started":
                    self.ended.pop(int(pid), None)
                    self._started.append(int(pid))
                else:
                    self.ended[int(pid)] = int(status)

    def close(self) -> None:
        """End it, and its children with it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


_parents: dict[str, Parent] = {}


def start(command: list[str], *, stdout: Any, env: dict[str, str], **more: Any) -> Running:
    """``subprocess.Popen`` for ``python -m MODULE …``, by a fork where that makes no difference."""
    module = command[2]
    # What reads its environment while it is imported must not have been imported before.
    if os.environ.get("STAGE_FORK") == "0" or module not in PRELOADED or "DHP_FAILPOINTS" in env:
        return subprocess.Popen(command, stdout=stdout, env=env, **more)
    parent = _parents.get(module) or _parents.setdefault(module, Parent(module))
    return parent.fork(command[3:], env, stdout.fileno())


def main() -> None:
    """Be a parent: one order a line on standard input, reports on standard output, the end with the input."""
    module = sys.argv[1]
    for name in PRELOADED[module]:
        __import__(name)
    gc.collect()
    gc.freeze()  # what is the same in all of them is looked through by none of them
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: set[int] = set()
    buffer = b""
    while True:
        ready, _, _ = select.select([0, heard], [], [])
        if heard in ready:
            os.read(heard, 4096)
            _reap(children)
        if 0 in ready:
            chunk = os.read(0, 1 << 20)
            if not chunk:
                break
            *orders, buffer = (buffer + chunk).split(b"\n")
            for order in orders:
                pid = os.fork()
                if pid == 0:
                    _become(module, **json.loads(order))
                children.add(pid)
                os.write(1, b"started %d 0\n" % pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        children.discard(pid)
        os.write(1, b"ended %d %d\n" % (pid, os.waitstatus_to_exitcode(status)))


def _become(module: str, arguments: list[str], env: dict[str, str], log: str) -> None:
    """The child: as if it had been started anew."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    sys.argv = [module, *arguments]
    status = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - reported as the interpreter would
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
