"""Kill an agent in the middle of its work and watch an ordinary client get the finished task.

    python -m examples.demo                    all six acts, more than a minute
    python -m examples.demo --act 1 --act 2    some of them
    python -m examples.demo --json FILE        leave everything that was measured
    python -m examples.demo --urls FILE        count other pages (one URL a line) than pydoc's

Starts real processes on loopback ports: a page server, agents, and sidecars that share one SQLite store in a
temporary directory; in acts 5 and 6 each has its own. The last line says whether every promise was kept, and so
does the exit status.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path

from examples.demo.display import Lively, Plain, choose
from examples.demo.evidence import Evidence
from examples.demo.programme import NUMBERS, Plan, programme
from examples.demo.stage import NotReady, Stage
from examples.demo.takeover import Scene


async def perform(plans: Sequence[Plan], stage: Stage, display: Lively | Plain, evidence: Evidence) -> None:
    """Play these acts.

    An act's processes start while the act before it is played, after its takeover: an interpreter needs a second
    to load the SDK, on a small machine several; nobody should wait for that, and no measurement suffer.
    """
    playing: asyncio.Task[None] | None = None
    for plan in plans:
        cast = plan.enter(stage)
        if playing is not None:
            await playing
        scene = Scene(stage, display, evidence, evidence.act(plan.title), cast, plan.blow)
        display.act(plan.title, plan.story)
        playing = asyncio.create_task(_guarded(scene, plan.run(scene)))
        moved = asyncio.create_task(scene.moved.wait())
        await asyncio.wait({playing, moved}, return_when=asyncio.FIRST_COMPLETED)
        moved.cancel()
    if playing is not None:
        await playing


async def _guarded(scene: Scene, act: Awaitable[None]) -> None:
    began = time.monotonic()
    try:
        await act
    except NotReady as fault:
        scene.act.check("everything came up", kept=False, seen=str(fault))
    scene.act.seconds = round(time.monotonic() - began, 3)
    scene.display.verdict(scene.act)
    for actor in scene.cast.everybody():
        actor.ask_to_stop()


def _play(args: argparse.Namespace, stage: Stage, evidence: Evidence) -> None:
    urls = args.urls.read_text(encoding="utf-8").split() if args.urls else None

    async def until_told_to_stop(display: Lively | Plain) -> None:
        plans = programme(stage, args.act or NUMBERS, urls, args.pages)
        playing = asyncio.create_task(perform(plans, stage, display, evidence))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
        await playing

    try:
        with choose() as display:
            asyncio.run(until_told_to_stop(display))
    finally:
        # What was started is stopped even if somebody is impatient.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stage.clear()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if it is green."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the evidence there")
    parser.add_argument("--urls", type=Path, metavar="FILE", help="pages to count, one URL a line")
    parser.add_argument("--pages", type=int, metavar="N", help="count only the first N of them")
    parser.add_argument("--act", type=int, choices=NUMBERS, action="append", help="only this act; may be repeated")
    args = parser.parse_args(argv)
    evidence = Evidence()
    stage = Stage(Path(tempfile.mkdtemp(prefix="bridge-demo-")))
    try:
        _play(args, stage, evidence)
    except (KeyboardInterrupt, asyncio.CancelledError):
        shutil.rmtree(stage.directory)
        print("interrupted: everything that was started is stopped")
        return 130
    if evidence.green:
        shutil.rmtree(stage.directory)
    else:
        for line in evidence.broken():
            print(line)
        print(f"logs and journals are left in {stage.directory}; to look closer:")
        print(f"  .venv/bin/dhp-sidecar tasks --store {stage.store}   (then show TASK, verify)")
        print("  (of acts 5 and 6 each host has its own, below host-A, host-B, host-C, pair-A and pair-B)")
    if args.json:
        evidence.write(args.json)
        print(f"evidence: {args.json}")
    print(f"{time.monotonic() - evidence.began:.1f} s, every number above was measured in this run")
    print(f"BRIDGE DEMO: {'GREEN' if evidence.green else 'RED'}")
    return 0 if evidence.green else 1


if __name__ == "__main__":
    sys.exit(main())
