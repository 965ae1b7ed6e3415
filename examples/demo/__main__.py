"""Kill an agent in the middle of its work and watch an ordinary client get the finished task.

    python -m examples.demo                    both acts, about twenty seconds
    python -m examples.demo --act 1            one of them
    python -m examples.demo --json FILE        leave everything that was measured
    python -m examples.demo --urls FILE        count other pages (one URL a line) than pydoc's

Starts real processes on loopback ports: a page server, agents, and sidecars that share one SQLite store in a
temporary directory. The last line says whether every promise was kept, and so does the exit status.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from examples.demo import act_census, act_writer
from examples.demo.display import Lively, Plain, choose
from examples.demo.evidence import Evidence
from examples.demo.stage import NotReady, Stage
from examples.demo.takeover import Scene, cast_pair


async def perform(args: argparse.Namespace, stage: Stage, display: Lively | Plain, evidence: Evidence) -> None:
    """Play the acts that were asked for.

    The second act's processes start while the first act is played, after its takeover: an interpreter needs a
    second to load the SDK, on a small machine several; nobody should wait for that, and no measurement suffer.
    """
    census = None
    if args.act != 2:
        pages = stage.example("page server", "pages", "/urls", "--latency", str(act_census.LATENCY_S))
        pair = cast_pair(stage, "census", "census", "--pace", str(act_census.PACE_S))
        urls = args.urls.read_text(encoding="utf-8").split() if args.urls else None
        scene = Scene(stage, display, evidence, evidence.act(act_census.TITLE), pair)
        display.act(act_census.TITLE, act_census.STORY)
        census = asyncio.create_task(_guarded(scene, act_census.run(scene, *pages, urls)))
        moved = asyncio.create_task(scene.moved.wait())
        await asyncio.wait({census, moved}, return_when=asyncio.FIRST_COMPLETED)
        moved.cancel()
    second = None
    if args.act != 1:
        undisturbed = stage.agent("undisturbed writer", "slow_writer", "--pace", "0")
        writers = cast_pair(stage, "slow_writer", "writers", "--pace", str(act_writer.PACE_S))
        second = (writers, undisturbed)
    if census is not None:
        await census
    if second is not None:
        writers, undisturbed = second
        scene = Scene(stage, display, evidence, evidence.act(act_writer.TITLE), writers)
        display.act(act_writer.TITLE, act_writer.STORY)
        await _guarded(scene, act_writer.run(scene, *undisturbed))


async def _guarded(scene: Scene, act: Coroutine[Any, Any, None]) -> None:
    try:
        await act
    except NotReady as fault:
        scene.act.check("everything came up", kept=False, seen=str(fault))
    scene.display.verdict(scene.act)


def _play(args: argparse.Namespace, stage: Stage, evidence: Evidence) -> None:
    async def until_told_to_stop(display: Lively | Plain) -> None:
        playing = asyncio.create_task(perform(args, stage, display, evidence))
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
    parser.add_argument("--act", type=int, choices=(1, 2), help="only this act")
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
        print(f"logs and journals are left in {stage.directory}")
    if args.json:
        evidence.write(args.json)
        print(f"evidence: {args.json}")
    print(f"{time.monotonic() - evidence.began:.1f} s, every number above was measured in this run")
    print(f"BRIDGE DEMO: {'GREEN' if evidence.green else 'RED'}")
    return 0 if evidence.green else 1


if __name__ == "__main__":
    sys.exit(main())
