"""Measure, and say so in JSON and on a page.

    python -m benchmarks [--quick] [--only NAME …] [--json FILE] [--page FILE] [--seed N]

The full run takes less than ten minutes, ``--quick`` less than one. The page is docs/benchmarks.md for a full run
of everything, and goes to build/ for any other, unless ``--page`` says where.
"""

from __future__ import annotations

import argparse
import inspect
import os
import random
import secrets
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import orjson
import uvloop

from benchmarks import fairness, hosts, idle, machine, page, requests, streams, takeovers, wire
from benchmarks.budgets import BUDGETS
from benchmarks.figures import Figures
from benchmarks.plots import number
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.stand import standing
from tests.integration.processes import ROOT

Part = Callable[..., Coroutine[Any, Any, None]]
PARTS: dict[str, Part] = {
    "ceiling": requests.ceiling,
    "stream": streams.one_stream,
    "streams": streams.many_streams,
    "send": requests.send_message,
    "get": requests.get_task,
    "takeover": takeovers.agent_killed,
    "gateway": takeovers.both_killed,
    "idle": idle.alone,
    "open": idle.open_streams,
    "waiting": idle.waiting_tasks,
    "fairness": fairness.writers,
    "wire": wire.peer,
    "hosts": hosts.agents_killed,
    "dead": hosts.hosts_killed,
    "proven": hosts.hosts_proven_dead,
    "crowd": hosts.crowd,
    "majority": hosts.majority,
}


async def measure(name: str, scale: Scale, figures: Figures, chance: random.Random) -> None:
    """One part, with processes of its own."""
    part = PARTS[name]
    extra = (chance,) if "chance" in inspect.signature(part).parameters else ()
    async with standing() as stand:
        await part(stand, scale, figures, *extra)


async def run(names: list[str], scale: Scale, mode: str, seed: int) -> tuple[Figures, dict[str, Any]]:
    """All parts of a run, and what is said about it."""
    figures, chance, began = Figures(), random.Random(seed), time.monotonic()
    described = machine.described()
    loads: dict[str, float] = {}
    for name in names:
        loads[name], part_began = os.getloadavg()[0], time.monotonic()
        await measure(name, scale, figures, chance)
        _say(f"{name:<10}{time.monotonic() - part_began:6.1f} s")
    return figures, {
        "mode": mode,
        "seed": seed,
        "parts": names,
        "seconds": time.monotonic() - began,
        "machine": described,
        "load_averages": loads,
        "load_average_after": os.getloadavg()[0],
        "figures": figures.as_json(),
        "budgets": [
            {"text": each.text, "budget": each.bound, "value": value, "holds": each.holds(value)}
            for each in BUDGETS
            if (value := each.value(figures)) is not None
        ],
    }


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="less than a minute; fewer and shorter samples")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="every sample, the machine, the verdicts")
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page; pictures go beside it")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(1_000_000), help="of the moments of the kills"
    )
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    args = arguments(given)
    whole = not args.quick and not args.only
    target = args.page or (ROOT / "docs" / "benchmarks.md" if whole else ROOT / "build" / "benchmarks.md")
    mode = "quick" if args.quick else "full"
    figures, said = uvloop.run(run(args.only or list(PARTS), QUICK if args.quick else FULL, mode, args.seed))
    target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    page.write(figures, said, target, target.parent / target.stem)
    if args.json:
        args.json.write_bytes(orjson.dumps(said, option=orjson.OPT_INDENT_2))
    for each in BUDGETS:
        value = each.value(figures)
        if value is not None:
            verdict = "holds " if each.holds(value) else "MISSED"
            _say(f"{verdict}  {each.text}: {number(value)}{each.unit} (budget {each.bound})")
    _say(f"{said['seconds']:.0f} s, seed {args.seed}; the page is {target}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
