"""One storm from beginning to end: clients and faults, then calm, then everything has to come to its end.

First anything may happen and only safety is asked for; then the faults stop, everything is started again, and
progress is demanded. Afterwards the history is judged, the store verified, and nothing may be left.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.chaos.net.hosts import Hosts
from tests.chaos.storm import links, report
from tests.chaos.storm.checker import BOUND_S, FINAL, judge
from tests.chaos.storm.clients import STEPS, Board, StormClient
from tests.chaos.storm.faults import SIDECARS, STEADY_GATE, Fault, schedule
from tests.chaos.storm.files import disagreements
from tests.chaos.storm.history import History, read
from tests.chaos.storm.wire import Wire
from tests.chaos.storm.world import World

Json = dict[str, Any]
TOLD_EVERY_S = 30.0
PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to blow.

    Attributes:
        seed: of the faults and of the clients' choices.
        seconds: how long.
        clients: how many.
        gateways: 1 (which is only stopped for moments) or 2 (the other is killed as well).
        declared: the agents declare the durability extension.
        pace: mean seconds between faults.
        hold: stretches or shortens how long what is hit stays away.
        steps: how many steps the tasks have.
        apart: each sidecar and the gateway is a host with a store of its own, and the others' peer.
        networked: besides, each is in a network namespace, and the network between them has faults as well.
    """

    seed: int
    seconds: float
    clients: int = 20
    gateways: int = 2
    declared: bool = True
    pace: float = 1.5
    hold: float = 1.0
    steps: tuple[int, ...] = STEPS
    apart: bool = False
    networked: bool = False

    def faults(self) -> list[Fault]:
        """The schedule."""
        faults = schedule(self.seed, self.seconds, self.pace * (2 if self.networked else 1), self.hold)
        if self.networked:
            faults += links.schedule(self.seed, self.seconds, 2 * self.pace)
        return sorted(faults, key=lambda fault: fault.at)


async def storm(plan: Plan, directory: Path, *, loud: bool = False) -> Json:
    """Let it blow, and judge.

    Args:
        plan: what.
        directory: empty; keeps logs, store and history.
        loud: say now and then how it goes.

    Returns:
        Everything that there is to report; ``wrong`` is empty if every promise was kept.
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)
    history = History(directory / "history.jsonl")
    names = [*SIDECARS, STEADY_GATE] if plan.networked else []
    hosts = Hosts(names, plan.seed) if names else None
    world = World(
        directory, history, gateways=plan.gateways, declared=plan.declared, apart=plan.apart, hosts=hosts
    )
    board = Board(world.gates, history, plan.seed, until=plan.seconds, steps=plan.steps)
    wrong: list[str] = []
    try:
        await world.ready()
        history.restart()
        helping = [asyncio.create_task(world.sample())]
        if loud:
            helping.append(asyncio.create_task(_tell(board, world)))
        clients = [StormClient(number, board) for number in range(plan.clients)]
        running = {asyncio.create_task(each.run()): each for each in clients}
        await world.blow(plan.faults())
        await asyncio.sleep(max(0.0, plan.seconds - history.now()))
        history.note("calm")
        done, stuck = await asyncio.wait(running, timeout=BOUND_S)
        for task in stuck:
            wrong.append(f"{running[task].name} still waits: {running[task].doing} {_where(task)}")
            task.cancel()
        wrong += [f"{running[task].name} failed: {task.exception()!r}" for task in done if task.exception()]
        await asyncio.gather(*stuck, return_exceptions=True)
        await _look_at_everything(board)
        for each in helping:
            each.cancel()
        await world.stop()
    finally:
        await world.close()
        history.close()
        if hosts is not None:
            hosts.close()
    for store in world.stores:
        wrong += await _verified(store)
    wrong += world.wrong + world.samples.wrong() + await asyncio.to_thread(disagreements, world.stores)
    return await asyncio.to_thread(_judged, plan, world, history.path, wrong)


def _where(task: asyncio.Task[Any]) -> list[str]:
    """Where a task waits, outermost call first."""
    found: list[str] = []
    at: Any = task.get_coro()
    while at is not None:
        frame = getattr(at, "cr_frame", None) or getattr(at, "ag_frame", None) or getattr(at, "gi_frame", None)
        if frame is not None:
            found.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}")
        at = getattr(at, "cr_await", None) or getattr(at, "ag_await", None) or getattr(at, "gi_yieldfrom", None)
    return found


def _judged(plan: Plan, world: World, path: Path, wrong: list[str]) -> Json:
    lines = read(path)
    broken = judge(lines)
    told = report.figures(lines, world.directory)
    return {
        "plan": asdict(plan), "wrong": wrong, "broken": broken, **told, "faults": world.faults,
        "frames": world.frames, "faults_skipped": world.skipped, "growth": world.samples.figures(),
    }  # fmt: skip


async def _look_at_everything(board: Board) -> None:
    """GetTask of every task and the whole list, at every gateway."""
    for gate, url in board.gates.items():
        wire = Wire(FINAL, gate, url, board.history, streaming=False)
        for task in sorted(board.known):
            await wire.get(task)
        token = ""
        while True:
            seen = await wire.page(token, PAGE_SIZE)
            token = seen.answer.get("nextPageToken", "")
            if not token:
                break
        await wire.close()


async def _verified(store: Path) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sidecar.cli", "verify", "--store", f"sqlite:///{store}",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    return [] if process.returncode == 0 else [f"verify {store.name}: {out.decode()[-1000:]}"]


async def _tell(board: Board, world: World) -> None:
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(TOLD_EVERY_S)
            sys.stdout.write(
                f"{board.history.now():6.0f} s  {len(board.known)} tasks, {len(board.alive)} at work, "
                f"{sum(world.faults.values())} faults\n"
            )
            sys.stdout.flush()
