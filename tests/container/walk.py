"""One walk: a client that streams a census through the gateway, and what can be measured around it.

All times are the machine's monotonic clock, which its containers share: of the command that kills, of the death
(told by the kernel), of the message's arrival at the other agent (written down by that agent) and of the client's
next page (written down by the client).
"""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.container.engine import Project, monotonic_lines

WALK_S = 90.0
LOOK_S = 0.02


def until(condition: Callable[[], object], within_s: float, what: str) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(LOOK_S)


class Takeover(NamedTuple):
    """What a kill cost, in milliseconds after the death.

    Attributes:
        command: from the command to the death (negative times would be before it).
        called: the other agent has the message.
        shown: the client has its next page.
    """

    command: float
    called: float
    shown: float

    def __str__(self) -> str:
        return (
            f"the kill command takes {self.command:.0f} ms to the death; {self.called:.0f} ms after it the other "
            f"agent is called, {self.shown:.0f} ms after it the client has its next page"
        )


class Walk:
    """One client and its task.

    Args:
        project: the containers.
        out: file for what the client says.
    """

    def __init__(self, project: Project, out: Path) -> None:
        self.project, self._out = project, out
        self._client: subprocess.Popen[bytes] | None = None
        self.killed: tuple[float, float] = (0.0, 0.0)

    def begin(self) -> None:
        """Start the client."""
        self._client = self.project.client(self._out)

    def said(self) -> list[tuple[float, str]]:
        """What the client has said so far."""
        return list(monotonic_lines(self._out.read_text(encoding="utf-8", errors="replace").splitlines()))

    def pages(self) -> int:
        """How many pages the client has."""
        return sum(said.startswith("page ") for _, said in self.said())

    def wait_for_pages(self, count: int) -> None:
        """Wait until the client has so many pages."""

        def there() -> bool:
            assert self._client is not None
            assert self._client.poll() is None, f"the client has ended: {self._out.read_text()[-2000:]}"
            return self.pages() >= count

        until(there, WALK_S, f"the client has {count} pages")

    def task(self) -> str:
        """The task's id."""
        return next(said.removeprefix("task ") for _, said in self.said() if said.startswith("task "))

    def journal(self) -> list[dict[str, Any]]:
        """The task's journal, exported in the gateway's container."""
        return [
            json.loads(line)
            for line in self.project.run_in(
                self.project.stack.gateway, "dhp-sidecar", "export", self.task()
            ).splitlines()
        ]

    def moves(self) -> list[tuple[str, str]]:
        """Who came to own the task, and by which evidence, in order.

        Only where the owner changed: a run that did not reach its agent, because the engine's name server was
        reloading just then, is claimed again by the same sidecar.
        """
        claims = [entry["body"] for entry in self.journal() if entry["kind"] == "claimed"]
        groups = itertools.groupby(claims, lambda claim: str(claim["owner"]))
        return [(owner, str(next(group)["reason"])) for owner, group in groups]

    def owners(self) -> list[str]:
        """Who owned the task, one after the other."""
        return [owner for owner, _ in self.moves()]

    def at_work(self) -> tuple[str, str]:
        """The letter of the sidecar that has the task, and of the other one."""
        letter = self.owners()[-1].removeprefix("sidecar-")
        return letter, {"b": "c", "c": "b"}[letter]

    def service(self, letter: str) -> str:
        """The service of a sidecar."""
        return f"{self.project.stack.sidecar}{letter}"

    def kill(self, service: str) -> None:
        """``docker kill``."""
        self.killed = self.project.kill(service)

    def takeover(self, other_agent: str) -> Takeover:
        """Wait for the next page after the kill; what it cost."""
        said, died = self.killed

        until(lambda: self._called(other_agent, died), 30, f"{other_agent} is called")
        called = self._called(other_agent, died)[0]

        def shown() -> list[float]:
            return [at for at, what in self.said() if what.startswith("page ") and at > called]

        until(shown, 30, "the client has its next page")
        return Takeover((died - said) * 1000, (called - died) * 1000, (shown()[0] - died) * 1000)

    def end(self) -> str:
        """Wait for the client's end; its verdict."""
        assert self._client is not None
        self._client.wait(WALK_S)
        said = self.said()
        assert said[-1][1].startswith("WALK: "), self._out.read_text()[-2000:]
        return "\n".join(what for _, what in said[-2:])

    def close(self) -> None:
        """End the client."""
        if self._client is not None and self._client.poll() is None:
            self._client.kill()
            self._client.wait()

    def _called(self, agent: str, after: float) -> list[float]:
        lines = (json.loads(line) for line in self.project.logs(agent) if line.startswith('{"received"'))
        return [line["received"] for line in lines if line["received"] > after]
