"""A storm from the command line.

    python -m tests.chaos.storm --minutes 5 --seed 7 [--clients 20] [--gateways 2] [--apart | --net] [--undeclared]

Prints its seed first (the same seed gives the same schedule of faults), then how it went. Exit status 1 if a
promise was broken; its directory with history, logs and store is kept then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.net.hosts import inside
from tests.chaos.storm import report
from tests.chaos.storm.run import Plan, storm


def main() -> int:
    """Run one storm; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None, help="one by chance without it")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--gateways", type=int, default=2, choices=(1, 2))
    parser.add_argument("--apart", action="store_true", help="hosts with a store each, and one gateway: peers")
    parser.add_argument(
        "--net", action="store_true", help="the same in network namespaces, with a network that fails"
    )
    parser.add_argument("--undeclared", action="store_true", help="agents that do not declare durability")
    parser.add_argument("--schedule", action="store_true", help="print the schedule of faults and stop")
    parser.add_argument("--json", type=Path, help="write everything that is reported to this file")
    parser.add_argument("--keep", action="store_true", help="keep the directory in any case")
    args = parser.parse_args()
    if args.net:
        inside(["tests.chaos.storm", *sys.argv[1:]])
    apart = args.apart or args.net
    seed = random.randrange(10**6) if args.seed is None else args.seed
    gateways = 1 if apart else args.gateways  # three voters: each handoff is at every host
    seconds, declared = args.minutes * 60, not args.undeclared
    plan = Plan(seed, seconds, args.clients, gateways, declared, apart=apart, networked=args.net)
    directory = Path(tempfile.mkdtemp(prefix=f"storm-{seed}-"))
    sys.stdout.write(f"storm: seed {seed}, {len(plan.faults())} faults planned; {directory}\n")
    sys.stdout.flush()
    if args.schedule:
        for fault in plan.faults():
            sys.stdout.write(f"{fault.at:8.3f}  {fault.kind:<45} {fault.hold}\n")
        directory.rmdir()
        return 0
    told = asyncio.run(storm(plan, directory, loud=True))
    sys.stdout.write(report.text(told) + "\n")
    if args.json:
        args.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if report.clean(told) and not args.keep:
        shutil.rmtree(directory)
    return 0 if report.clean(told) else 1


if __name__ == "__main__":
    sys.exit(main())
