"""Measure gossip in clusters of several sizes and print a table.

python -m tests.simulation.gossip                       10, 100 and 1,000 members (minutes)
python -m tests.simulation.gossip --sizes 10 100        some of them
python -m tests.simulation.gossip --loss 0.05 --seed 7  with every twentieth message lost
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.gossip.measure import everything

HEAD = "| members | what | seconds | messages a member and second | bytes a member and second | largest | |"


def main() -> int:
    """Print the table; 1 if something never came about."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.gossip")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loss", type=float, default=0.0, help="of each message")
    parser.add_argument("--apart", type=float, default=60, help="seconds of partition")
    given = parser.parse_args()
    sys.stdout.write(f"{HEAD}\n|{'---|' * 7}\n")
    missed = 0
    for count in given.sizes:
        begin = time.process_time()
        for row in everything(given.seed, count, loss=given.loss, apart_s=given.apart):
            missed += not row.came
            what = row.what if row.came else f"{row.what} (never)"
            numbers = f"{row.seconds:.1f} | {row.messages:.1f} | {row.bytes:,.0f} | {row.largest:,}"
            sys.stdout.write(f"| {count:,} | {what} | {numbers} | {row.besides} |\n")
            sys.stdout.flush()
        sys.stderr.write(f"{count:,} members: {time.process_time() - begin:.0f} s of processor\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
