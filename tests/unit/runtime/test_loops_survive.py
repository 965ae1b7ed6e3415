"""No fault of one round ends a loop that the process lives by: it is told, counted, and the next round comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sidecar.config import Config
from sidecar.errors import StoreUnavailable
from sidecar.runtime import storewatch, supervisor
from sidecar.runtime.clock import HostClock
from sidecar.runtime.hangs import HangWatch
from sidecar.runtime.membership import Membership
from sidecar.runtime.storewatch import StoreWatch
from sidecar.runtime.supervisor import Supervisor


class World:
    """A node of which everything fails that is asked of it, and that counts how often."""

    def __init__(self) -> None:
        self.tried = 0
        self.counted: list[str] = []
        self.enough = asyncio.Event()
        self.config = SimpleNamespace(
            lease=SimpleNamespace(ttl_ms=40, margin_ms=10),
            takeover=Config().takeover,
            journal=Config().journal,
            agent=SimpleNamespace(probe_timeout_s=0.01, hang_limit_s=1, progress_limit_s=1),
        )
        self.clock, self.kick = HostClock(), asyncio.Event()
        self.superseded = self.draining = False
        self.group, self.session, self.name, self.judges_from, self.patience_s = "", "s", "n", 0.0, 1.0
        self.observer, self.link = self, SimpleNamespace(ready=True, probe=self.fail)
        self.store = SimpleNamespace(sessions=SimpleNamespace(renew=self.fail, list=self.fail), step_back=list)
        self.owners = {"t": SimpleNamespace(working=True, silent_s=9.0, check_progress=lambda _: None)}

    def let_go(self) -> None:
        self.kick.set()

    def count(self, name: str) -> None:
        self.counted.append(name)

    async def fail(self, *_: object, **__: object) -> None:
        self.tried += 1
        if self.tried == 3:
            self.enough.set()
        raise OSError(24, "Too many open files")


LOOPS: dict[str, Callable[[Any], Coroutine[Any, Any, None]]] = {
    "supervisor": lambda world: Supervisor(world, world).run_forever(),
    "membership": lambda world: Membership(world, cast("Any", SimpleNamespace(session="s")), world).run_forever(),
    "hangs": lambda world: HangWatch(world, world).run_forever(),
    "store": lambda world: StoreWatch(world.fail).run_forever(),
}


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_loop_goes_on(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storewatch, "LOOK_FAILING_S", 0.01)
    world = World()
    running = asyncio.ensure_future(LOOPS[loop](world))
    async with asyncio.timeout(5):
        await asyncio.wait(
            (running, asyncio.ensure_future(world.enough.wait())), return_when=asyncio.FIRST_COMPLETED
        )
    assert not running.done()
    assert world.counted or loop == "store"
    running.cancel()


async def test_case_21_what_this_session_owns_is_looked_at_again_soon_after_a_look_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An own look comes every 5 s (for ever, here): one that failed must not have been the only one."""
    monkeypatch.setattr(supervisor, "SWEEP_S", 0.01)
    monkeypatch.setattr(supervisor, "SWEEP_OWN_S", 3600.0)
    looks: list[bool] = []
    failures = 3

    async def at_work(but_of: set[str], promised: str) -> list[Any]:
        looks.append("s" not in but_of)
        if sum(looks) in range(1, failures + 1) and looks[-1]:
            raise StoreUnavailable("failing")
        return []

    async def nothing() -> list[Any]:
        return []

    world: Any = World()
    session = SimpleNamespace(session="s", ready=True, draining=False, group="")
    world.alive = lambda _: [session]
    world.store = SimpleNamespace(
        sessions=SimpleNamespace(list=nothing), inbox_waiting=nothing, handoffs_at_work=at_work, step_back=list
    )
    world.owners = {}
    watching = Supervisor(world, world)
    monkeypatch.setattr(supervisor, "SWEEP_AGAIN_S", 0.0)
    watching._own_at -= 3601
    running = asyncio.ensure_future(watching.run_forever())
    async with asyncio.timeout(5):
        while not looks or looks[-1] or sum(looks) <= failures:
            await asyncio.sleep(0.01)
    running.cancel()
    assert sum(looks) == failures + 1
    assert world.counted == ["sweep_failures"] * failures
